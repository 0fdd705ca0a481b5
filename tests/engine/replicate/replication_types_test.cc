// Values of types that are made of others: they arrive as they are. Of sets and maps that are not
// frozen the cluster keeps elements: a value replaces them, whatever is repeated, expires or was
// put there by others.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/cql/value_text.h"
#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

constexpr char kTagged[] = R"(
CREATE TABLE plant.tagged (
  sensor text, day date, ts timestamp, flow double, labels map<text, text>, codes set<int>,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";

constexpr char kTyped[] = R"(
CREATE TYPE plant.spot (x double, y double);
CREATE TYPE plant.visit (at frozen<spot>, "Note" text);
CREATE TABLE plant.typed (
  sensor text, day date, ts timestamp, pause duration, point tuple<int, text, frozen<set<int>>>,
  wave vector<float, 3>, words vector<text, 2>, late map<text, frozen<tuple<int, int>>>,
  visit frozen<visit>, spots set<frozen<spot>>,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";

// A table whose columns but the key are set by their literals.
class ReplicationTypesFixture : public ReplicationFixture {
 protected:
  using Cells = std::map<std::string, std::string>;  // column to literal; "null" deletes

  void StartAll(ProofLevel level = ProofLevel::kAck,
                std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    ASSERT_NO_FATAL_FAILURE(StartCluster({}, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    replicator_.proof = level;
    replicator_.hold_us = 2'000'000;
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  void WriteCells(int64_t ts, const Cells& cells, uint32_t ttl_s = 0,
                  RowKind kind = RowKind::kInsert) {
    RowBatch batch(schema_);
    batch.BeginRow(kind);
    ASSERT_TRUE(batch.SetBytes(0, "p0").ok());
    ASSERT_TRUE(batch.SetInt(2, ts).ok());
    for (const auto& [name, literal] : cells) {
      const size_t column = *schema_->FindColumn(name);
      const ColumnType& type = schema_->columns[column].type;
      if (literal == "null") {
        ASSERT_TRUE(batch.SetNull(column).ok());
        continue;
      }
      CellValue value;
      ASSERT_TRUE(ParseValueText(type, literal, &value).ok()) << literal;
      ASSERT_TRUE(batch.SetBytes(column, value.bytes).ok());
    }
    if (ttl_s != 0) {
      ASSERT_TRUE(batch.SetTtl(ttl_s).ok());
    }
    ASSERT_TRUE(batch.EndRow().ok());
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
  void SealAndSend() {
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  }
  // What a client reads, but for the partition: "ts=... | codes={1} labels={'a': 'b'}".
  std::string Shown() {
    const int64_t now_s = clock_->WallMicros() / 1'000'000;
    std::string text =
        cluster_->Dump("plant", schema_->name, fake_cassandra::DumpKind::kVisible, now_s);
    const std::string partition = "plant." + schema_->name + " sensor='p0', day=2027-01-15 | ";
    for (size_t at; (at = text.find(partition)) != std::string::npos;) {
      text.erase(at, partition.size());
    }
    return text;
  }
};

class ReplicationCollectionsTest : public ReplicationTypesFixture {
 protected:
  void SetUp() override { OpenWithTable(kTagged); }

  static std::string Upsert(std::string_view set, int64_t write_us) {
    return "UPDATE plant.tagged USING TIMESTAMP " + std::to_string(write_us) + " SET " +
           std::string(set) + " WHERE sensor = 'p0' AND day = '2027-01-15' AND ts = " +
           std::to_string(kStartMs);
  }
};

TEST_F(ReplicationCollectionsTest, AValueReplacesTheOneBefore) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  WriteCells(kStartMs, {{"labels", "{'a': 'x', 'b': 'y'}"}, {"codes", "{3, 1, 3}"}});
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | codes={1, 3} labels={'a': 'x', 'b': 'y'}\n");
  WriteCells(kStartMs, {{"labels", "{'c': 'z'}"}}, 0, RowKind::kUpdate);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | codes={1, 3} labels={'c': 'z'}\n");
  WriteCells(kStartMs, {{"labels", "null"}, {"codes", "{}"}}, 0, RowKind::kUpdate);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z |\n");
}

TEST_F(ReplicationCollectionsTest, VersionsOfOneMillisecondAreNotMixed) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  WriteCells(kStartMs, {{"labels", "{'a': 'x'}"}});
  WriteCells(kStartMs, {{"labels", "{'b': 'y'}"}});
  WriteCells(kStartMs, {{"labels", "{'c': 'z'}"}}, 0, RowKind::kUpdate);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | labels={'c': 'z'}\n");
}

TEST_F(ReplicationCollectionsTest, ARepeatChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  WriteCells(kStartMs, {{"labels", "{'a': 'x'}"}, {"codes", "{1, 2}"}});
  WriteCells(kStartMs + 1, {{"labels", "{'b': 'y'}"}}, 3600);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  const std::string before = Shown();
  ASSERT_TRUE(service_->ResendRange("tagged", {kStartMs, kStartMs + kDayMs}).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_GT(status_.counters.versions_sent, 2u);
  EXPECT_EQ(Shown(), before);
}

// The row expires at a time long before which it is sent: the deletion of what was there must not
// be so old that the cluster forgets it at once.
TEST_F(ReplicationCollectionsTest, WhatALateValueReplacedStaysReplaced) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  const int64_t write_us = clock_->WallMicros();
  ASSERT_NO_FATAL_FAILURE(MustRun(Upsert("labels = {'old': 'x'}", write_us - 1'000'000)));
  WriteCells(kStartMs, {{"labels", "{'new': 'y'}"}}, 40 * 86'400);
  clock_->AdvanceMicros(int64_t{20} * 86'400 * 1'000'000);  // beyond gc_grace_seconds
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | labels={'new': 'y'}\n");
  cluster_->Compact();
  // A replica that had missed it all hands over what it has.
  ASSERT_NO_FATAL_FAILURE(MustRun(Upsert("labels = {'old': 'x'}", write_us - 1'000'000)));
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | labels={'new': 'y'}\n");
}

class ReplicationCollectionsProofTest : public ReplicationCollectionsTest,
                                        public ::testing::WithParamInterface<ProofLevel> {};

TEST_P(ReplicationCollectionsProofTest, TheyAreProvedWithTheirRows) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  WriteCells(kStartMs, {{"labels", "{'b': 'y', 'a': 'x'}"}, {"codes", "{9, 7, 9}"}});
  WriteCells(kStartMs + 1, {{"codes", "{}"}});
  WriteCells(kStartMs + 2, {{"labels", "{'c': 'z'}"}}, 3600, RowKind::kUpdate);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(status_.counters.seals_mended, 0u);
  EXPECT_EQ(status_.counters.seals_not_proven, 0u);
  EXPECT_EQ(status_.counters.seals_counted, GetParam() == ProofLevel::kCount ? 1u : 0u);
  EXPECT_EQ(status_.counters.seals_read_back, GetParam() == ProofLevel::kRows ? 1u : 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 3u);
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationCollectionsProofTest,
                         ::testing::Values(ProofLevel::kCount, ProofLevel::kRows));

// An element that somebody took out with an older time is sent once more; one that was put in with
// a newer time stays, and what is sent twice then differs as it should.
TEST_F(ReplicationCollectionsTest, WhatDiffersIsSentOnceMoreAndIsNewerThen) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  const int64_t write_us = clock_->WallMicros();
  WriteCells(kStartMs, {{"labels", "{'a': 'x'}"}, {"codes", "{1}"}});
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(MustRun(Upsert("labels = {'theirs': 'z'}", write_us + 1'000'000)));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_mended, 1u);
  EXPECT_EQ(status_.counters.seals_not_proven, 0u);
  EXPECT_EQ(Shown(), "ts=2027-01-15T00:00:00.000Z | codes={1} labels={'theirs': 'z'}\n");
  EXPECT_EQ(status_.counters.rows_overwritten, 1u);
  EXPECT_TRUE(std::any_of(
      status_.warnings.begin(), status_.warnings.end(), [](const std::string& warning) {
        return warning.find("column 'labels' shows other elements over ours") != std::string::npos;
      }));
}

class ReplicationTypesTest : public ReplicationTypesFixture,
                             public ::testing::WithParamInterface<ProofLevel> {
 protected:
  void SetUp() override { OpenWithTable(kTyped); }
};

TEST_P(ReplicationTypesTest, ValuesArriveAsTheyAre) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  WriteCells(kStartMs, {{"pause", "1mo2d3h"},
                        {"point", "(1, 'it''s', {3, 1})"},
                        {"wave", "[0.5, -1, 2.25]"},
                        {"words", "['', 'ab']"},
                        {"late", "{'a': (1, null)}"},
                        {"visit", "{at: {x: 0.5}, \"Note\": 'it''s'}"},
                        {"spots", "{{x: 1, y: 2}}"}});
  WriteCells(kStartMs + 1, {{"point", "(null, null, null)"}, {"pause", "-2ns"}}, 3600);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  std::string shown = Shown();
  // Without write times and expiries, which other tests look at.
  for (size_t at; (at = shown.find('@')) != std::string::npos;) {
    const size_t end = shown.find_first_not_of("0123456789", at + 1);
    shown.erase(at, end - at);
  }
  for (size_t at; (at = shown.find(" until ")) != std::string::npos;) {
    const size_t end = shown.find_first_not_of("0123456789", at + 7);
    shown.erase(at, end - at);
  }
  EXPECT_EQ(shown,
            "ts=2027-01-15T00:00:00.000Z | pause=1mo2d3h point=(1, 'it''s', {3, 1}) "
            "visit={at: {x: 0.5, y: null}, \"Note\": 'it''s'} wave=[0.5, -1, 2.25] "
            "words=['', 'ab'] late={'a': (1, null)} spots={{x: 1, y: 2}}\n"
            "ts=2027-01-15T00:00:00.001Z | pause=-2ns point=(null, null, null)\n");
  EXPECT_EQ(status_.counters.seals_mended, 0u);
  EXPECT_EQ(status_.counters.seals_not_proven, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 2u);
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationTypesTest,
                         ::testing::Values(ProofLevel::kCount, ProofLevel::kRows));

constexpr char kStaticTable[] = R"(
CREATE TABLE plant.gates (
  sensor text, day date, ts timestamp, firmware text static, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day; timestamps = event';
)";

class ReplicationStaticTest : public ReplicationTypesFixture,
                              public ::testing::WithParamInterface<ProofLevel> {
 protected:
  void SetUp() override { OpenWithTable(kStaticTable); }
};

// Whatever the order in which they were written, and in however many seals they are sent.
TEST_P(ReplicationStaticTest, TheClusterHasTheValueOfTheNewestEvent) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  WriteCells(kStartMs + 2, {{"firmware", "1.10"}, {"state", "open"}});
  WriteCells(kStartMs + 3, {{"state", "shut"}});  // says nothing of it
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  WriteCells(kStartMs, {{"firmware", "1.8"}, {"state", "late"}});
  WriteCells(kStartMs + 1, {{"firmware", "1.9"}}, 0, RowKind::kUpdate);
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  const std::string newest_us = std::to_string((kStartMs + 2) * 1000);
  EXPECT_NE(Shown().find("static firmware='1.10'@" + newest_us), std::string::npos) << Shown();
  EXPECT_EQ(status_.counters.seals_not_proven, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 4u);
  // Here each row keeps what it was written with.
  ScanRequest request = Request("p0", kStartMs, kStartMs + kDayMs);
  request.columns = {"firmware"};
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  std::vector<std::string> kept;
  for (ResultBatch batch; (*cursor)->Next(&batch);) {
    for (size_t i = 0; i < batch.columns[0].size(); ++i) {
      const bool is_value = batch.columns[0].state(i) == CellState::kValue;
      kept.push_back(is_value ? std::string(batch.columns[0].bytes(i)) : "null");
    }
  }
  EXPECT_EQ(kept, (std::vector<std::string>{"1.8", "1.9", "1.10", "null"}));
}

TEST_P(ReplicationStaticTest, RowsOfOneBucketDoNotOverwriteOneAnother) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  WriteCells(kStartMs, {{"firmware", "1.8"}, {"state", "open"}});
  WriteCells(kStartMs + 1, {{"firmware", "1.9"}, {"state", "shut"}});
  WriteCells(kStartMs + 2, {{"firmware", "1.10"}}, 0, RowKind::kUpdate);  // no row upstream
  ASSERT_NO_FATAL_FAILURE(SealAndSend());
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 3u);
  EXPECT_EQ(status_.counters.seals_mended, 0u);
  EXPECT_EQ(status_.counters.rows_overwritten, 0u);
  EXPECT_EQ(status_.counters.rows_shadowed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationStaticTest,
                         ::testing::Values(ProofLevel::kCount, ProofLevel::kRows));

}  // namespace
}  // namespace cistern::testing
