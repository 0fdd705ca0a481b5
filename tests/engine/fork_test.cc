// A child of fork that has inherited an open engine: every call returns at once, and so does every
// destructor, and the parent's store is as it was.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "lib/base/home_process.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// What `body` returned in a child; -1: it hung, and was ended, or it ended otherwise.
int InChild(const std::function<int()>& body) {
  constexpr unsigned kPatienceSeconds = 60;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatienceSeconds);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkTest : public EngineFixture {
 protected:
  void SetUp() override {
    options_.background_threads = true;
    options_.clock = nullptr;
    options_.event_future_s_max = limits::kFutureSecondsMax;
    EngineFixture::SetUp();
    for (int i = 0; i < 100; ++i) MustAppend("a", kStartMs + i, i, {Durability::kLog});
  }
  // The calls that were not refused as they should be, by their place in the list; 0: none.
  int CallAll(Producer* producer, Cursor* cursor, Cursor* follower) {
    int number = 0;
    int wrong = 0;
    const auto refused = [&](const Status& s) {
      ++number;
      if (s.code() != StatusCode::kClosed && wrong == 0) wrong = number;
    };
    refused(engine_->CreateTable(kPumps));
    refused(engine_->AlterTable(kPumps));
    refused(engine_->FindTable("plant.pumps").status());
    refused(engine_->NewProducer().status());
    refused(Append("a", kStartMs, 1));
    refused(producer->Append(Row("a", kStartMs, 1)).status());
    refused(producer->Submit(Row("a", kStartMs, 1)).status());
    refused(producer->Wait(Ticket{1}).status());
    refused(engine_->DeleteRange("plant.pumps", Entity("a"), {0, 1}).status());
    refused(engine_->DeleteBucket("plant.pumps", Entity("a"), kStartMs).status());
    refused(engine_->Scan(Request("a", kStartMs, kStartMs + 1)).status());
    refused(engine_->Follow(Request("a", kStartMs, kStartMs + 1), 0).status());
    refused(engine_->FirstEvent("plant.pumps", Entity("a")).status());
    refused(engine_->ListBuckets([](const BucketInfo&) { return true; }));
    refused(engine_->ListWindows().status());
    refused(engine_->Tick().status());
    refused(engine_->Sync());
    refused(engine_->Rotate());
    refused(engine_->Seal({}).status());
    refused(engine_->Expire().status());
    refused(engine_->Verify().status());
    refused(engine_->Health());
    (void)engine_->ListTables();
    (void)engine_->GetMetrics();
    (void)engine_->Recovery();
    ResultBatch batch;
    for (Cursor* one : {cursor, follower}) {
      refused(one->Next(&batch) ? Status::Ok() : one->status());
      (void)one->Token();
      (void)one->gaps();
    }
    refused(engine_->Close());
    return wrong;
  }
};

TEST_F(ForkTest, AChildIsRefusedAndLeavesTheParentsStoreAlone) {
  auto producer = *engine_->NewProducer();
  const auto ticket = producer->Submit(Row("b", kStartMs, 1));
  ASSERT_TRUE(ticket.ok());
  ScanRequest request = Request("a", kStartMs, kStartMs + 100);
  request.batch_rows_max = 10;
  auto cursor = *engine_->Scan(request);
  ResultBatch batch;
  ASSERT_TRUE(cursor->Next(&batch));
  request.to = INT64_MAX;
  auto follower = *engine_->Follow(request, 0);
  ASSERT_TRUE(follower->Next(&batch));
  EXPECT_EQ(InChild([&] {
    const int wrong = CallAll(producer.get(), cursor.get(), follower.get());
    producer.reset();
    cursor.reset();
    follower.reset();
    engine_.reset();
    return wrong;
  }), 0);
  EXPECT_TRUE(producer->Wait(*ticket).ok());
  Rows rows;
  Drain(cursor.get(), &rows);
  EXPECT_EQ(rows.size(), 90u);
  MustAppend("a", kStartMs + 100, 100);
  EXPECT_EQ(ScanAll("a").size(), 101u);
  producer.reset();
  cursor.reset();
  follower.reset();
  EXPECT_TRUE(engine_->Close().ok());
}

// The fork may come while other threads hold every lock that there is.
TEST_F(ForkTest, AChildOfABusyEngineEndsToo) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t n = 0; !stop; ++n) {
        (void)Append("t" + std::to_string(t), kStartMs + n, 1, {Durability::kLog});
        (void)engine_->Health();
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(InChild([&] {
      engine_.reset();
      return 0;
    }), 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// RocksDB's threads are the parent's: a store that the child opened would wait for them for ever.
TEST_F(ForkTest, AChildOfAProcessThatHadAnEngineOpensNone) {
  const std::string other = temp_.path() + "/other";
  EXPECT_EQ(InChild([&] {
    const auto opened = OpenEngineOver(other, options_, nullptr);
    return opened.status().code() == StatusCode::kNotSupported ? 0 : 1;
  }), 0);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(HomeProcess, IsHereInTheProcessThatMadeItAlone) {
  const HomeProcess here;
  EXPECT_TRUE(here.is_here());
  EXPECT_TRUE(here.Check().ok());
  EXPECT_EQ(InChild([&] {
    const HomeProcess child;
    if (here.is_here() || !child.is_here()) return 1;
    const Status s = here.Check();
    const bool names_both =
        s.message().find(std::to_string(::getppid())) != std::string::npos &&
        s.message().find(std::to_string(::getpid())) != std::string::npos;
    if (s.code() != StatusCode::kClosed || !names_both) return 2;
    return InChild([&] { return here.is_here() || child.is_here() ? 3 : 0; });
  }), 0);
  EXPECT_TRUE(here.is_here());
}

}  // namespace
}  // namespace cistern::testing
