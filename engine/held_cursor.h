// Cursors that keep the core they read from, and count as open until they are destroyed or ended.
#ifndef CISTERN_ENGINE_HELD_CURSOR_H_
#define CISTERN_ENGINE_HELD_CURSOR_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/cursor.h"
#include "cistern/result.h"
#include "engine/engine_core.h"
#include "engine/query/scan_token.h"
#include "lib/base/entered.h"
#include "lib/base/guard.h"
#include "lib/base/home_process.h"
#include "lib/base/unwind_guard.h"

namespace cistern {

// What cursors of rows and of aggregates have in common. One thread reads; another one may end it
// between two calls (OpenCursors::EndAll). What is given by reference is therefore kept here, and
// changes in Next alone.
template <typename CursorType, typename BatchType>
class HeldReader : public CursorType, protected OpenCursors::Entry {
 public:
  HeldReader(std::shared_ptr<EngineCore> core, std::unique_ptr<CursorType> cursor)
      : gaps_(cursor->gaps()), core_(std::move(core)), cursor_(std::move(cursor)) {}
  HeldReader(const HeldReader&) = delete;
  HeldReader& operator=(const HeldReader&) = delete;
  ~HeldReader() override {
    if (home_.is_here()) Unregister();
    else Abandon();
  }
  // kTooLarge: limits::kCursorCountMax are open. Once, before it is used.
  [[nodiscard]] Status Register() { return core_->cursors().Add(this); }

  bool Next(BatchType* batch) final {
    if (!home_.is_here()) {
      status_ = home_.Check();
      return false;
    }
    const std::lock_guard lock(mutex_);
    if (!cursor_) {
      status_ = why_ended_;
      return false;
    }
    status_ = why_broken_;
    bool more = false;
    if (status_.ok()) {
      status_ = Entered([&] {
        const UnwindGuard half_read([this] { why_broken_ = Status::OutOfMemory(); });
        more = cursor_->Next(batch);
        return cursor_->status();
      });
    }
    // Rows that were read are given, whose place Token() has passed: gaps may come with later ones.
    if (!KeepGaps() && !more) status_ = Status::OutOfMemory();
    return status_.ok() && more;
  }
  const Status& status() const final { return status_; }
  const std::vector<ScanGap>& gaps() const final { return gaps_; }

 protected:
  // REQUIRES: it was not registered yet.
  [[nodiscard]] const CursorType& held() const { return *cursor_; }
  // What `ask` answers of the cursor as it is, or the answer that was kept as it was ended.
  template <typename Answer, typename Ask>
  [[nodiscard]] Answer Asked(const Answer& kept, Ask ask) const {
    if (!home_.is_here()) return {};
    const std::lock_guard lock(mutex_);
    return cursor_ ? ask(*cursor_) : kept;
  }
  // Before the cursor goes: what is asked for by value afterwards.
  virtual void KeepAnswers(const CursorType& cursor) = 0;

 private:
  bool TryEnd(const Status& why) final {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    KeepAnswers(*cursor_);
    why_ended_ = why;
    cursor_.reset();
    core_.reset();
    return true;
  }
  // As they are so far: they only become more. False: there is no memory for them now.
  [[nodiscard]] bool KeepGaps() {
    if (cursor_->gaps().size() == gaps_.size()) return true;
    return GuardedOr(false, [&] {
      std::vector<ScanGap> gaps = cursor_->gaps();
      gaps_ = std::move(gaps);
      return true;
    });
  }
  void Unregister() {
    std::shared_ptr<EngineCore> core;
    {
      const std::lock_guard lock(mutex_);
      core = core_;
    }
    // Without the lock, which who ends cursors takes behind that of the list.
    if (core) core->cursors().Remove(this);
  }
  // In a child of fork: the store is the parent's, and its locks may be held there.
  void Abandon() {
    (void)cursor_.release();
    (void)new std::shared_ptr<EngineCore>(std::move(core_));
  }

  const HomeProcess home_;
  Status status_;
  std::vector<ScanGap> gaps_;
  mutable std::mutex mutex_;
  std::shared_ptr<EngineCore> core_;    // null, with the cursor, once it was ended
  std::unique_ptr<CursorType> cursor_;  // goes before the core
  Status why_ended_;
  Status why_broken_;  // an exception left the cursor half way: Token() is all that can be asked
};

class HeldCursor final : public HeldReader<Cursor, ResultBatch> {
 public:
  HeldCursor(std::shared_ptr<EngineCore> core, std::unique_ptr<Cursor> cursor)
      : HeldReader(std::move(core), std::move(cursor)),
        schema_(held().schema()),
        columns_(held().columns()) {}
  const std::shared_ptr<const TableSchema>& schema() const override { return schema_; }
  const std::vector<size_t>& columns() const override { return columns_; }
  std::string Token() const override {
    return GuardedOr(std::string(kNoScanToken), [this] {
      return Asked(token_, [](const Cursor& cursor) { return cursor.Token(); });
    });
  }

 private:
  void KeepAnswers(const Cursor& cursor) override { token_ = cursor.Token(); }
  const std::shared_ptr<const TableSchema> schema_;
  const std::vector<size_t> columns_;
  std::string token_;
};

class HeldAggregate final : public HeldReader<AggregateCursor, AggregateBatch> {
 public:
  HeldAggregate(std::shared_ptr<EngineCore> core, std::unique_ptr<AggregateCursor> cursor)
      : HeldReader(std::move(core), std::move(cursor)), types_(held().types()) {}
  const std::vector<ColumnType>& types() const override { return types_; }
  AggregateWork work() const override {
    return Asked(work_, [](const AggregateCursor& cursor) { return cursor.work(); });
  }

 private:
  void KeepAnswers(const AggregateCursor& cursor) override { work_ = cursor.work(); }
  const std::vector<ColumnType> types_;
  AggregateWork work_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_HELD_CURSOR_H_
