// In whose thread buckets are opened: in the caller's, and where that takes long in others too.
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// A device whose reads take a while by a clock that stands still otherwise; it knows who reads.
class SlowFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit SlowFileSystem(std::shared_ptr<FakeClock> clock)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), clock_(std::move(clock)) {}

  const char* Name() const override { return "SlowFileSystem"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* dbg) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    rocksdb::IOStatus s = target()->NewRandomAccessFile(path, options, &file, dbg);
    if (s.ok()) *result = std::make_unique<File>(std::move(file), this);
    return s;
  }
  // From here on: who reads, and how long it takes.
  void Begin(int64_t read_us) {
    caller_ = std::this_thread::get_id();
    own_reads_ = 0;
    other_reads_ = 0;
    read_us_ = read_us;
  }
  [[nodiscard]] int own_reads() const { return own_reads_; }
  [[nodiscard]] int other_reads() const { return other_reads_; }

 private:
  class File : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSRandomAccessFile> file, SlowFileSystem* fs)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                           rocksdb::Slice* result, char* scratch,
                           rocksdb::IODebugContext* dbg) const override {
      const bool is_own = std::this_thread::get_id() == fs_->caller_;
      ++(is_own ? fs_->own_reads_ : fs_->other_reads_);
      if (fs_->read_us_ != 0) fs_->clock_->AdvanceMicros(fs_->read_us_);
      return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
    }

   private:
    SlowFileSystem* const fs_;
  };

  const std::shared_ptr<FakeClock> clock_;
  std::thread::id caller_;
  std::atomic<int> own_reads_{0};
  std::atomic<int> other_reads_{0};
  std::atomic<int64_t> read_us_{0};
};

class ReadAheadTest : public EngineFixture {
 protected:
  static constexpr int kDays = 12;

  // A round and a window for each day, so that none has its pages with another one's.
  void SetUp() override {
    slow_ = std::make_shared<SlowFileSystem>(clock_);
    fs_ = slow_;
    options_.seal_when_due = false;
    OpenWithTable(kPumps);
    for (int day = 0; day < kDays; ++day) {
      clock_->PassTo((kStartMs + (day + 1) * kDayMs) * 1000);
      MustAppend("a", kStartMs + day * kDayMs, day);
      Rotate();
      SealAll();
    }
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    options_.background_threads = true;
  }
  // Opens the store, with nothing in its cache, and reads every row.
  void Scan(int64_t read_us, size_t buckets_ahead) {
    Open();
    // A merge of the catalog, which an opening allows, would count as a reader.
    ASSERT_TRUE(Core()->store().db().db()->PauseBackgroundWork().ok());
    slow_->Begin(read_us);
    ScanRequest request = Request("a", kStartMs, kStartMs + kDays * kDayMs);
    request.buckets_ahead = buckets_ahead;
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    size_t rows = 0;
    for (ResultBatch batch; (*cursor)->Next(&batch);) rows += batch.row_count;
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    EXPECT_EQ(rows, size_t{kDays});
    ASSERT_TRUE(Core()->store().db().db()->ContinueBackgroundWork().ok());
  }

  std::shared_ptr<SlowFileSystem> slow_;
};

TEST_F(ReadAheadTest, WhatOpensFastIsOpenedByWhoAsks) {
  Scan(0, 0);
  EXPECT_GE(slow_->own_reads(), kDays);
  EXPECT_EQ(slow_->other_reads(), 0);
}

TEST_F(ReadAheadTest, WhatOpensSlowlyIsOpenedAhead) {
  Scan(1000, 0);
  EXPECT_GE(slow_->own_reads(), 1) << "the first";
  EXPECT_GE(slow_->other_reads(), kDays / 2);
}

TEST_F(ReadAheadTest, WhoAsksForANumberGetsIt) {
  Scan(1000, 1);
  EXPECT_EQ(slow_->other_reads(), 0);
  ASSERT_TRUE(engine_->Close().ok());
  Scan(0, 4);
  EXPECT_GE(slow_->other_reads(), kDays / 2);
}

}  // namespace
}  // namespace cistern::testing
