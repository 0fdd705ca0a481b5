// Refusals that come in rounds while a seal gets on.
#include <memory>
#include <string_view>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

constexpr int kRowsOfBatch = 10;

// Batches of a seal go one after another: each is refused for a while with all that are behind it.
class OneByOne final : public fake_cassandra::FaultScript {
 public:
  explicit OneByOne(int batch_count) : batch_count_(batch_count) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    constexpr int kRefusals = 5;  // what a session tries by itself
    if (!request.is_write) return {};
    int batch = open_;
    while (batch < batch_count_ && !Begins(request.body, batch)) ++batch;
    if (batch == batch_count_) return {};
    if (batch == open_ && ++refused_ == kRefusals) {
      refused_ = 0;
      ++open_;
    }
    return {.fault = fake_cassandra::Fault::kWriteFailure};
  }

 private:
  static bool Begins(std::string_view body, int batch) {
    return body.find(BigBytes(kStartMs + batch * kRowsOfBatch)) != std::string_view::npos;
  }
  const int batch_count_;
  int open_ = 0;  // those before it go
  int refused_ = 0;
};

using ReplicationRefusalTest = ReplicationFixture;

// Those that are refused behind the first of a round are no trouble of their own: the seal gets on.
TEST_F(ReplicationRefusalTest, ASealThatGetsOnBatchByBatchIsNotParked) {
  constexpr int kBatches = 40;
  replicator_.statement_count_max = kRowsOfBatch;
  for (int i = 0; i < kBatches * kRowsOfBatch; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartCluster({}, std::make_shared<OneByOne>(kBatches)));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] {
    return status_.counters.seals_parked > 0 || status_.phase == ReplicationPhase::kIdle;
  })) << Explain();
  EXPECT_EQ(status_.counters.seals_parked, 0u) << Explain();
  EXPECT_GT(status_.counters.batches_refused, 2u * kBatches);
  ExpectEqual();
}

}  // namespace
}  // namespace cistern::testing
