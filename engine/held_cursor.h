// Cursors that keep the core they read from, and count as open until they go.
#ifndef CISTERN_ENGINE_HELD_CURSOR_H_
#define CISTERN_ENGINE_HELD_CURSOR_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/cursor.h"
#include "cistern/result.h"
#include "engine/engine_core.h"

namespace cistern {

// Holds a core and one of its places for open cursors.
class CursorHold {
 public:
  // kTooLarge: limits::kCursorCountMax are open.
  [[nodiscard]] static Result<CursorHold> Take(std::shared_ptr<EngineCore> core) {
    if (++core->cursor_count() > limits::kCursorCountMax) {
      --core->cursor_count();
      return Status::TooLarge("at most " + std::to_string(limits::kCursorCountMax) +
                              " cursors may be open: destroy those that are read");
    }
    return CursorHold(std::move(core));
  }
  CursorHold(CursorHold&&) = default;
  CursorHold& operator=(CursorHold&&) = delete;
  ~CursorHold() {
    if (core_ != nullptr) --core_->cursor_count();
  }

 private:
  explicit CursorHold(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}
  std::shared_ptr<EngineCore> core_;
};

class HeldCursor final : public Cursor {
 public:
  HeldCursor(CursorHold hold, std::unique_ptr<Cursor> cursor)
      : hold_(std::move(hold)), cursor_(std::move(cursor)) {}
  bool Next(ResultBatch* batch) override { return cursor_->Next(batch); }
  const Status& status() const override { return cursor_->status(); }
  const std::vector<ScanGap>& gaps() const override { return cursor_->gaps(); }
  const std::shared_ptr<const TableSchema>& schema() const override { return cursor_->schema(); }
  const std::vector<size_t>& columns() const override { return cursor_->columns(); }
  std::string Token() const override { return cursor_->Token(); }

 private:
  const CursorHold hold_;
  const std::unique_ptr<Cursor> cursor_;
};

class HeldAggregate final : public AggregateCursor {
 public:
  HeldAggregate(CursorHold hold, std::unique_ptr<AggregateCursor> cursor)
      : hold_(std::move(hold)), cursor_(std::move(cursor)) {}
  bool Next(AggregateBatch* batch) override { return cursor_->Next(batch); }
  const Status& status() const override { return cursor_->status(); }
  const std::vector<ScanGap>& gaps() const override { return cursor_->gaps(); }
  const std::vector<ColumnType>& types() const override { return cursor_->types(); }
  AggregateWork work() const override { return cursor_->work(); }

 private:
  const CursorHold hold_;
  const std::unique_ptr<AggregateCursor> cursor_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_HELD_CURSOR_H_
