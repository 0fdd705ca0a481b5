// Writers that come at once share commit groups and their syncs, by Engine::Append too.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr size_t kThreads = 16;
constexpr auto kPatience = std::chrono::seconds(20);  // for what never comes

// Counts the syncs of logs. A closed gate lets none of them end.
class GatedSyncs : public rocksdb::FileSystemWrapper {
 public:
  GatedSyncs() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "GatedSyncs"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus s = FileSystemWrapper::NewWritableFile(path, options, result, dbg);
    if (s.ok() && path.ends_with(".log")) {
      *result = std::make_unique<File>(std::move(*result), this);
    }
    return s;
  }

  void Gate(bool closed) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = closed;
    }
    changed_.notify_all();
  }
  // Lets the sync that waits end, and closes the gate behind it.
  void LetOnePass() {
    {
      const std::lock_guard lock(mutex_);
      ++passes_;
    }
    changed_.notify_all();
  }
  [[nodiscard]] size_t begun() const { return begun_; }

 private:
  class File : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile>&& file, GatedSyncs* syncs)
        : FSWritableFileOwnerWrapper(std::move(file)), syncs_(syncs) {}
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
      syncs_->Wait();
      return FSWritableFileOwnerWrapper::Sync(options, dbg);
    }

   private:
    GatedSyncs* const syncs_;
  };
  void Wait() {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.wait_for(lock, 3 * kPatience, [this] { return !closed_ || passes_ > 0; });
    if (passes_ > 0) --passes_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  size_t passes_ = 0;
  std::atomic<size_t> begun_{0};
};

// True at once when it becomes so; false if it does not.
bool Becomes(const std::function<bool()>& what) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!what()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

enum class Writers : uint8_t { kProducers, kEngine };

class SharedAppendTest : public EngineFixture, public ::testing::WithParamInterface<Writers> {
 protected:
  void SetUp() override {
    auto opened = OpenEngineOver(directory(), options_, syncs_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
    ASSERT_TRUE(engine_->CreateTable(kPumps).ok());
    schema_ = engine_->ListTables().front();
  }
  void TearDown() override {
    syncs_->Gate(false);
    for (std::thread& thread : threads_) thread.join();
    producers_.clear();
  }

  // A thread that appends one row after the other.
  void StartWriter(size_t number, int rows) {
    threads_.emplace_back([this, number, rows] {
      Producer* own = nullptr;
      if (GetParam() == Writers::kProducers) {
        auto made = engine_->NewProducer();
        const std::lock_guard lock(producers_mutex_);
        // Else the engine is closed already. One that ends would wait for the sync.
        if (made.ok()) own = producers_.emplace_back(*std::move(made)).get();
      }
      for (int row = 0; row < rows; ++row) {
        const RowBatch batch = Row("s" + std::to_string(number), kStartMs + row, row);
        const Status s = (own ? own->Append(batch) : engine_->Append(batch)).status();
        if (!s.ok()) ++failures_;
        ++answered_;
      }
    });
  }
  uint64_t Queued() { return engine_->GetMetrics().queued_batches; }

  const std::shared_ptr<GatedSyncs> syncs_ = std::make_shared<GatedSyncs>();
  std::vector<std::thread> threads_;
  std::mutex producers_mutex_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::atomic<size_t> answered_{0};
  std::atomic<size_t> failures_{0};
};

INSTANTIATE_TEST_SUITE_P(All, SharedAppendTest,
                         ::testing::Values(Writers::kProducers, Writers::kEngine));

TEST_P(SharedAppendTest, WhoComesWhileTheDeviceSyncsSharesTheNextSync) {
  const size_t before = syncs_->begun();
  syncs_->Gate(true);
  StartWriter(0, 1);
  ASSERT_TRUE(Becomes([&] { return syncs_->begun() == before + 1; }));
  for (size_t n = 1; n < kThreads; ++n) StartWriter(n, 1);
  EXPECT_TRUE(Becomes([&] { return Queued() == kThreads - 1; })) << Queued();
  syncs_->Gate(false);
  ASSERT_TRUE(Becomes([&] { return answered_ == kThreads; }));
  EXPECT_EQ(syncs_->begun() - before, 2u) << "of " << kThreads << " writers";
  EXPECT_EQ(failures_, 0u);
  for (size_t n = 0; n < kThreads; ++n) {
    EXPECT_EQ(ScanAll("s" + std::to_string(n)), (Rows{{kStartMs, 0}}));
  }
}

TEST_P(SharedAppendTest, WhoseRowsAreStoredDoesNotWaitForTheNextSync) {
  const size_t before = syncs_->begun();
  syncs_->Gate(true);
  StartWriter(0, 1);
  ASSERT_TRUE(Becomes([&] { return syncs_->begun() == before + 1; }));
  for (size_t n = 1; n < kThreads; ++n) StartWriter(n, 1);
  EXPECT_TRUE(Becomes([&] { return Queued() == kThreads - 1; })) << Queued();
  syncs_->LetOnePass();
  ASSERT_TRUE(Becomes([&] { return syncs_->begun() == before + 2; }));
  StartWriter(kThreads, 1);
  EXPECT_TRUE(Becomes([&] { return Queued() == 1; })) << Queued();
  syncs_->LetOnePass();
  EXPECT_TRUE(Becomes([&] { return syncs_->begun() == before + 3; }));
  EXPECT_TRUE(Becomes([&] { return answered_ == kThreads; })) << answered_;
  syncs_->Gate(false);
  ASSERT_TRUE(Becomes([&] { return answered_ == kThreads + 1; }));
  EXPECT_EQ(syncs_->begun() - before, 3u);
  EXPECT_EQ(failures_, 0u);
}

// Rows and deletes of all threads, while the engine closes: each is answered.
TEST_P(SharedAppendTest, EveryWriterIsAnsweredWhileTheEngineCloses) {
  for (size_t n = 0; n < 4; ++n) StartWriter(n, 200);
  std::thread deletes([this] {
    for (int i = 0; i < 50; ++i) {
      (void)engine_->DeleteRange("pumps", Entity("s0"), {kStartMs, kStartMs + i + 1},
                                 {Durability::kLog});
    }
  });
  ASSERT_TRUE(Becomes([&] { return answered_ > 100; }));
  EXPECT_TRUE(engine_->Close().ok());
  ASSERT_TRUE(Becomes([&] { return answered_ == 800; })) << answered_;
  deletes.join();
}

}  // namespace
}  // namespace cistern::testing
