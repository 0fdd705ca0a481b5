// Every two public calls of a replication at once, and each beside those of its engine: all answer,
// none waits for ever. Meant for the TSan build; the time limit of meson ends a pair that hangs,
// whose name is the last line that was printed.
#include <atomic>
#include <cstdio>
#include <functional>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "tests/engine/replication_api_fixture.h"

namespace cistern::testing {
namespace {

class ReplicationPairs : public ReplicationApiFixture {
 protected:
  struct Call {
    const char* name;
    std::function<Status()> run;
  };

  std::vector<Call> Calls() {
    return {
        {"Run", [this] { return replication_->Run(100).status(); }},
        {"GetStatus",
         [this] {
           (void)replication_->GetStatus();
           return Status::Ok();
         }},
        {"Health", [this] { return replication_->Health(); }},
        {"ListParked", [this] { return replication_->ListParked().status(); }},
        {"RetryParked", [this] { return replication_->RetryParked().status(); }},
        {"Resend",
         [this] {
           return replication_->Resend("plant.readings", {day_ms_, day_ms_ + kDayMs}).status();
         }},
        {"GetOutbox", [this] { return replication_->GetOutbox().status(); }},
    };
  }
  // A second one is refused while this one is there.
  Call Start() {
    return {"Start", [this] { return Refusal(); }};
  }
  Call Stop() {
    return {"Stop", [this] {
              replication_->Stop();
              return Status::Ok();
            }};
  }
  std::vector<Call> EngineCalls() {
    return {
        {"Engine::Append, Seal",
         [this] {
           Write("s9", day_ms_ + ++written_);
           SealAll();
           return Status::Ok();
         }},
        {"Engine::Tick", [this] { return engine_->Tick().status(); }},
        {"Engine::Expire", [this] { return engine_->Expire().status(); }},
        {"Engine::GetMetrics",
         [this] {
           (void)engine_->GetMetrics();
           return Status::Ok();
         }},
    };
  }

  static void RunPair(const Call& first, const Call& second, const std::set<StatusCode>& refusals) {
    std::printf("%s | %s\n", first.name, second.name);
    std::fflush(stdout);
    constexpr int kTurns = 2;
    std::latch start(2);
    const auto run = [&](const Call& call, const Call& beside) {
      start.arrive_and_wait();
      for (int turn = 0; turn < kTurns; ++turn) {
        const Status s = call.run();
        EXPECT_TRUE(s.ok() || refusals.contains(s.code()))
            << call.name << " beside " << beside.name << ": " << s.ToString();
      }
    };
    std::thread other([&] { run(second, first); });
    run(first, second);
    other.join();
  }

  void Begin(bool background_thread) {
    options_.background_thread = background_thread;
    auto started = Replication::Start(engine_.get(), access_, options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    replication_ = *std::move(started);
  }

  std::atomic<int64_t> written_{0};
};

// kInvalidArgument: Run, of one that has a thread.
TEST_F(ReplicationPairs, EveryTwoCallsAnswer) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(2);
  for (const bool background_thread : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(Begin(background_thread));
    const std::set<StatusCode> refusals = {StatusCode::kInvalidArgument,
                                           StatusCode::kAlreadyExists, StatusCode::kBusy};
    std::vector<Call> calls = Calls();
    calls.push_back(Start());
    for (size_t a = 0; a < calls.size(); ++a) {
      for (size_t b = a; b < calls.size(); ++b) RunPair(calls[a], calls[b], refusals);
      for (const Call& call : EngineCalls()) RunPair(calls[a], call, refusals);
    }
    replication_.reset();
  }
}

TEST_F(ReplicationPairs, EveryCallAnswersBesideStop) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(2);
  std::vector<Call> calls = Calls();
  calls.push_back(Stop());
  for (Call& call : EngineCalls()) calls.push_back(call);
  for (const bool background_thread : {true, false}) {
    for (const Call& call : calls) {
      ASSERT_NO_FATAL_FAILURE(Begin(background_thread));
      RunPair(call, Stop(), {StatusCode::kInvalidArgument, StatusCode::kClosed, StatusCode::kBusy});
      EXPECT_EQ(replication_->GetOutbox().status().code(), StatusCode::kClosed);
      replication_.reset();
    }
  }
}

}  // namespace
}  // namespace cistern::testing
