// An outage of three days: upstream is away while a million rows are written and sealed, then it
// comes back. The newest sealed buckets arrive first, then everything does, cell by cell; no append
// waits for the replicator; and nothing that was deleted or is over rises from the dead, though the
// cluster forgets tombstones as soon as it may.
//
// CISTERN_DRILL_ROWS says how many rows are written while upstream is away.
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/limits/memory_fixture.h"
#include "tests/limits/outage_drill.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

using fake_cassandra::ClusterProcess;
using fake_cassandra::FakeCluster;

constexpr uint64_t kAllowedBytes = kDrillBudgetBytes + 8 * 1024 * 1024;
constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kTwentyYearsS = 20ll * 365 * 86'400;
constexpr uint32_t kShortTtlS = 600;
constexpr int64_t kParkedHour = 3;
constexpr int64_t kSpecialHours = 10;  // in which rows are deleted and overwritten
constexpr uint32_t kParkedSensor = 5;

// A sensor's row of that sample.
int64_t TimeOf(int64_t hour, int64_t sample, uint32_t sensor) {
  return kDrillStartMs + hour * kHourMs + sample * kDrillSampleS * 1000 + sensor;
}

DrillWrite WriteOf(int64_t ts_ms, uint32_t sensor, RowKind kind, uint32_t ttl_s = 0) {
  DrillWrite write;
  write.kind = kind;
  write.entity = sensor;
  write.ts_ms = ts_ms;
  write.ttl_s = ttl_s;
  write.value = -1;
  write.load = -2;
  write.state = -3;
  return write;
}

// Of a whole hour: samples 20 to 39.
DrillWrite RangeOf(int64_t hour, uint32_t sensor) {
  DrillWrite write = WriteOf(TimeOf(hour, 20, 0), sensor, RowKind::kDeleteRow);
  write.range_end_ms = TimeOf(hour, 40, 0);
  return write;
}

// What the cluster's process does beside being one.
class DrillCluster {
 public:
  explicit DrillCluster(const DrillLog* log) : log_(log) {}

  fake_cassandra::ClusterOptions Options(std::shared_ptr<Clock> clock) {
    fake_cassandra::ClusterOptions options;
    options.clock = std::move(clock);
    options.on_write = [this](const fake_cassandra::Mutation& mutation) {
      const bool is_new =
          arrived_.insert({mutation.table->name, mutation.partition_key}).second;
      if (!is_new || mutation.partition_key[1].size() != sizeof(int64_t)) return;
      uint64_t bucket_ms = 0;
      for (const char c : mutation.partition_key[1]) {
        bucket_ms = bucket_ms << 8 | static_cast<uint8_t>(c);
      }
      arrivals_ += mutation.table->name + " " + std::to_string(bucket_ms) + "\n";
    };
    return options;
  }

  std::string Obey(FakeCluster& cluster, const std::string& command) {
    if (command == "down") {
      cluster.TakeDown(0);
      return "ok";
    }
    if (command == "up") return Told(cluster.BringUp(0));
    if (command == "compact") {
      cluster.Compact();
      return "ok";
    }
    if (command == "forget arrivals") {
      arrived_.clear();
      arrivals_.clear();
      return "ok";
    }
    // Buckets of readings and meters in the order in which they came.
    if (command == "arrivals") return arrivals_;
    if (command == "take expiries up to 2106") {
      cluster.WithState([](auto& state) {
        state.SetCompatibility(fake_cassandra::StorageCompatibility::kNone);
      });
      return "ok";
    }
    if (command == "compare") return Compare(cluster, {});
    if (command == "compare the first hours") {
      return Compare(cluster, {.bucket_below_ms = TimeOf(kSpecialHours, 0, 0)});
    }
    if (command == "compare but for the parked bucket") {
      const DrillBucket bucket{DrillTable::kReadings, kParkedSensor, TimeOf(kParkedHour, 0, 0)};
      return Compare(cluster, {.parked = {{bucket, TimeOf(kParkedHour + 1, 0, 0) * 1000}}});
    }
    return Told(cluster.Run(command));
  }

 private:
  static std::string Told(const Status& status) { return status.ok() ? "ok" : status.message(); }
  std::string Compare(FakeCluster& cluster, const DrillScope& scope) {
    std::string difference;
    cluster.WithState([&](auto& state) {
      const int64_t now_s = state.options().clock->WallMicros() / 1'000'000;
      difference = CompareWithLog(*log_, scope, state, now_s);
    });
    return difference.empty() ? "ok" : difference;
  }

  const DrillLog* const log_;
  std::set<std::pair<std::string, std::vector<std::string>>> arrived_;
  std::string arrivals_;
};

class OutageDrillTest : public MemoryFixture {
 protected:
  static constexpr size_t kLogRowsMax = 4'000'000;

  // A gateway's life, in phases. Each returns what went wrong.
  Status LiveBefore(OutageDrill* drill);
  Status LiveThroughOutage(OutageDrill* drill, uint64_t rows);
  Status WriteSpecials(OutageDrill* drill, int64_t hour);
  Status ComeBack(OutageDrill* drill);
  Status RetryTheParked(OutageDrill* drill);
  Status SendAllAgain(OutageDrill* drill);

  std::shared_ptr<SharedClock> clock_ = std::make_shared<SharedClock>(kDrillStartMs * 1000);
  TempDir root_{"cistern-drill"};
  DrillLog log_{kLogRowsMax};
};

// Two hours arrive as they are sealed: the share of what is live is used up by them alone.
Status OutageDrillTest::LiveBefore(OutageDrill* drill) {
  for (const uint64_t hours : {1u, 2u}) {
    const int64_t end_ms = TimeOf(static_cast<int64_t>(hours), 40, 0);
    while (drill->now_ms() < end_ms) {
      CISTERN_RETURN_IF_ERROR(drill->Sample());
      CISTERN_RETURN_IF_ERROR(drill->CheckCounters());
      clock_->AdvanceSeconds(kDrillSampleS);
    }
    CISTERN_RETURN_IF_ERROR(drill->RunUntil("an hour", [&] {
      const ReplicationPhase phase = drill->status().phase;
      return (phase == ReplicationPhase::kIdle || phase == ReplicationPhase::kCollecting) &&
             drill->status().counters.seals_confirmed >= 100 * hours;
    }));
  }
  return drill->Tell("down");
}

Status OutageDrillTest::WriteSpecials(OutageDrill* drill, int64_t hour) {
  std::vector<DrillWrite> writes;
  if (hour == 3) {
    // Of rows that upstream has: overwritten for ten minutes, and deleted.
    writes = {WriteOf(TimeOf(0, 10, 1), 1, RowKind::kUpdate, kShortTtlS),
              WriteOf(TimeOf(0, 10, 2), 2, RowKind::kInsert, kShortTtlS),
              WriteOf(TimeOf(0, 10, 3), 3, RowKind::kDeleteRow),
              // What upstream refuses, in a bucket that is open.
              WriteOf(TimeOf(kParkedHour, 0, kParkedSensor) + 500, kParkedSensor, RowKind::kInsert,
                      kTwentyYearsS)};
    CISTERN_RETURN_IF_ERROR(drill->Write({RangeOf(0, 4)}));
  } else if (hour == 6) {
    // The same of rows that are sealed and were never sent; amendments of what will be parked.
    writes = {WriteOf(TimeOf(4, 10, 6), 6, RowKind::kUpdate, kShortTtlS),
              WriteOf(TimeOf(4, 10, 7), 7, RowKind::kDeleteRow),
              WriteOf(TimeOf(4, 11, 7), 7, RowKind::kInsert, kShortTtlS),
              WriteOf(TimeOf(kParkedHour, 5, kParkedSensor), kParkedSensor, RowKind::kUpdate),
              WriteOf(TimeOf(kParkedHour, 6, kParkedSensor), kParkedSensor, RowKind::kDeleteRow),
              WriteOf(TimeOf(kParkedHour, 7, kParkedSensor) + 500, kParkedSensor,
                      RowKind::kInsert)};
    CISTERN_RETURN_IF_ERROR(drill->Write({RangeOf(4, 8)}));
  } else if (hour == 9) {
    writes = {WriteOf(TimeOf(kParkedHour, 0, kParkedSensor) + 500, kParkedSensor,
                      RowKind::kUpdate),
              WriteOf(TimeOf(kParkedHour, 7, kParkedSensor) + 500, kParkedSensor,
                      RowKind::kDeleteRow),
              // Over before its bucket is sealed.
              WriteOf(TimeOf(9, 0, 9), 9, RowKind::kUpdate, 60)};
    writes[0].has_values = false;
  }
  return writes.empty() ? Status::Ok() : drill->Write(std::move(writes));
}

// Whole hours, until so many rows are written; then some minutes more, in which the last hour is
// sealed.
Status OutageDrillTest::LiveThroughOutage(OutageDrill* drill, uint64_t rows) {
  const auto hour_now = [&] { return (drill->now_ms() - kDrillStartMs) / kHourMs; };
  const size_t before = log_.size();
  int64_t hour = hour_now();
  for (int64_t samples_left = INT64_MAX; samples_left > 0; --samples_left) {
    if (hour_now() != hour) {
      hour = hour_now();
      if (samples_left > kDrillSamplesOfHour && log_.size() - before >= rows) samples_left = 45;
      CISTERN_RETURN_IF_ERROR(WriteSpecials(drill, hour));
    }
    CISTERN_RETURN_IF_ERROR(drill->Sample());
    // A host that forgets its replicator for a while is no trouble either.
    if (hour % 24 != 5) CISTERN_RETURN_IF_ERROR(drill->RunAway());
    if (samples_left % 40 == 0) CISTERN_RETURN_IF_ERROR(drill->CheckCounters());
    clock_->AdvanceSeconds(kDrillSampleS);
  }
  std::printf("%zu row versions while upstream was away for %lld hours, %s\n",
              log_.size() - before, static_cast<long long>(hour - 2), drill->Explain().c_str());
  std::fflush(stdout);
  return Status::Ok();
}

// The first seal is of the newest sealed bucket, and of the first ones most are.
Status CheckArrivals(const std::string& arrivals, int64_t newest_ms) {
  constexpr int kLooked = 50;
  std::istringstream lines(arrivals);
  std::string table;
  int64_t bucket_ms = 0;
  int newest = 0;
  for (int i = 0; i < kLooked && lines >> table >> bucket_ms; ++i) {
    if (bucket_ms == newest_ms) ++newest;
    if (i == 0 && newest == 0) {
      return Status::Internal("bucket " + std::to_string(bucket_ms) + " of " + table +
                              " arrived first, and " + std::to_string(newest_ms) +
                              " is the newest");
    }
  }
  std::printf("of the first %d buckets that arrived %d were the newest\n", kLooked, newest);
  std::fflush(stdout);
  return newest > kLooked / 2 ? Status::Ok() : Status::Internal("the newest buckets wait");
}

// All arrives but what is refused, newest first, while rows go on to come.
Status OutageDrillTest::ComeBack(OutageDrill* drill) {
  int64_t newest_ms = 0;
  CISTERN_RETURN_IF_ERROR(drill->engine()->ListBuckets([&](const BucketInfo& bucket) {
    if (bucket.state == "sealed") newest_ms = std::max(newest_ms, bucket.bucket_start);
    return true;
  }));
  CISTERN_RETURN_IF_ERROR(drill->Tell("forget arrivals"));
  CISTERN_RETURN_IF_ERROR(drill->Tell("up"));
  drill->samples_meanwhile = true;
  const uint64_t backlog = drill->engine()->GetMetrics().versions_waiting;
  for (const uint64_t eighths_left : {7u, 4u}) {
    CISTERN_RETURN_IF_ERROR(drill->RunUntil("the backlog", [&] {
      return drill->engine()->GetMetrics().versions_waiting <= backlog / 8 * eighths_left;
    }));
    // What the cluster may forget it does.
    CISTERN_RETURN_IF_ERROR(drill->Tell("compact"));
  }
  const auto is_stuck = [&] { return drill->status().phase == ReplicationPhase::kStuck; };
  CISTERN_RETURN_IF_ERROR(drill->RunUntil("the backlog", is_stuck));
  CISTERN_RETURN_IF_ERROR(CheckArrivals(drill->Ask("arrivals"), newest_ms));
  drill->samples_meanwhile = false;
  CISTERN_RETURN_IF_ERROR(drill->SealAll());
  CISTERN_RETURN_IF_ERROR(drill->RunUntil("the rest", is_stuck));
  return drill->Tell("compare but for the parked bucket");
}

Status OutageDrillTest::RetryTheParked(OutageDrill* drill) {
  CISTERN_ASSIGN_OR_RETURN(const auto parked, ListParked(drill->engine()));
  if (parked.size() != 1 || parked[0].words.find("2038") == std::string::npos) {
    return Status::Internal(std::to_string(parked.size()) + " seals are parked");
  }
  const Metrics before = drill->engine()->GetMetrics();
  if (before.versions_parked != parked[0].versions || before.versions_waiting != 5) {
    return Status::Internal("the amendments of what is parked do not wait: " + drill->Explain());
  }
  CISTERN_RETURN_IF_ERROR(drill->Tell("take expiries up to 2106"));
  CISTERN_RETURN_IF_ERROR(RetryParked(drill->engine(), std::nullopt).status());
  drill->service()->LookAgain();
  CISTERN_RETURN_IF_ERROR(drill->RunUntil("what was parked", [&] {
    return drill->engine()->GetMetrics().versions_waiting == 0;
  }));
  const Metrics after = drill->engine()->GetMetrics();
  if (after.versions_confirmed != after.versions_sealed || after.versions_open != 0) {
    return Status::Internal("not all is confirmed: " + drill->Explain());
  }
  return drill->Tell("compare the first hours");
}

// Once the cluster has forgotten its tombstones.
Status OutageDrillTest::SendAllAgain(OutageDrill* drill) {
  clock_->AdvanceSeconds(2 * kDrillGcGraceS);
  CISTERN_RETURN_IF_ERROR(drill->Tick());
  CISTERN_RETURN_IF_ERROR(drill->Tell("compact"));
  CISTERN_RETURN_IF_ERROR(drill->Tell("compare the first hours"));
  CISTERN_ASSIGN_OR_RETURN(const uint64_t seals,
                           Resend(drill->engine(), DrillTableName(DrillTable::kReadings),
                                  {kDrillStartMs, kDrillStartMs + kSpecialHours * kHourMs}));
  if (seals < 1'000) return Status::Internal("too few seals are sent again");
  drill->service()->LookAgain();
  CISTERN_RETURN_IF_ERROR(drill->RunUntil("what is sent again", [&] {
    return drill->engine()->GetMetrics().versions_waiting == 0;
  }));
  CISTERN_RETURN_IF_ERROR(drill->Tell("compare the first hours"));
  CISTERN_RETURN_IF_ERROR(drill->Tell("compact"));
  return drill->Tell("compare");
}

TEST_F(OutageDrillTest, AMillionRowsOfAnOutageArriveTheNewestFirst) {
  const uint64_t rows = EnvNumber("CISTERN_DRILL_ROWS", 1'000'000);
  DrillCluster upstream(&log_);
  ClusterProcess cluster(upstream.Options(clock_), [&](FakeCluster& at, const std::string& told) {
    return upstream.Obey(at, told);
  });
  ASSERT_NE(cluster.port(), 0);
  const uint64_t peak = PeakOf([&]() -> Status {
    OutageDrill drill(root_.path() + "/store", clock_, &log_, &cluster);
    CISTERN_RETURN_IF_ERROR(drill.Open());
    CISTERN_RETURN_IF_ERROR(drill.CreateTablesUpstream());
    CISTERN_RETURN_IF_ERROR(drill.StartService());
    CISTERN_RETURN_IF_ERROR(LiveBefore(&drill));
    CISTERN_RETURN_IF_ERROR(LiveThroughOutage(&drill, rows));
    CISTERN_RETURN_IF_ERROR(ComeBack(&drill));
    CISTERN_RETURN_IF_ERROR(RetryTheParked(&drill));
    CISTERN_RETURN_IF_ERROR(SendAllAgain(&drill));
    return drill.Close();
  });
  ExpectPeakWithin("an outage of a million rows", peak, kAllowedBytes);
}

// The same rows with a service that looks for its cluster all the time, and without one.
TEST_F(OutageDrillTest, NoAppendWaitsForTheReplicator) {
  constexpr int64_t kSamples = 10 * kDrillSamplesOfHour;
  std::vector<std::vector<DrillTrace>> traces;
  DrillCluster upstream(&log_);
  ClusterProcess cluster(upstream.Options(clock_), [&](FakeCluster& at, const std::string& told) {
    return upstream.Obey(at, told);
  });
  for (const bool has_service : {false, true}) {
    const auto clock = std::make_shared<SharedClock>(kDrillStartMs * 1000);
    DrillLog log(kLogRowsMax);
    OutageDrill drill(root_.path() + (has_service ? "/with" : "/without"), clock, &log, &cluster);
    ASSERT_TRUE(drill.Open().ok());
    ASSERT_EQ(drill.Ask("down"), "ok");
    ASSERT_TRUE(!has_service || drill.StartService().ok());
    std::vector<DrillTrace>& trace = traces.emplace_back();
    for (int64_t sample = 0; sample < kSamples; ++sample) {
      const Status sampled = drill.Sample();
      ASSERT_TRUE(sampled.ok()) << sampled.ToString();
      trace.push_back(drill.trace());
      const Status ran = has_service ? drill.RunAway() : Status::Ok();
      ASSERT_TRUE(ran.ok()) << ran.ToString();
      clock->AdvanceSeconds(kDrillSampleS);
    }
    ASSERT_TRUE(drill.Close().ok());
  }
  EXPECT_EQ(traces[0], traces[1]);
  EXPECT_GT(traces[0].back().sealed, 0u);
}

}  // namespace
}  // namespace cistern::testing
