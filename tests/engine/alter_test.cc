// AlterTable: what rows of every layer show before and after, and what is refused.
#include <bit>
#include <map>

#include "cistern/salvage.h"
#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// What plant.pumps becomes: the columns between its key and the end, and options.
std::string Pumps(const std::string& columns, const std::string& options = "") {
  return "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, " + columns +
         " PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day'" +
         options + ";";
}

class AlterTest : public EngineFixture {
 protected:
  AlterTest() { options_.event_future_s_max = 40 * 86400; }
  void Alter(const std::string& cql) {
    const Status s = engine_->AlterTable(cql);
    ASSERT_TRUE(s.ok()) << s.ToString();
    schema_ = *engine_->FindTable("pumps");
  }
  std::string WhyNot(const std::string& cql) {
    const std::string before = (*engine_->FindTable("pumps"))->ToCql();
    const Status s = engine_->AlterTable(cql);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    EXPECT_EQ((*engine_->FindTable("pumps"))->ToCql(), before);
    return s.message();
  }
  // Writes a row with the columns that are named.
  void Put(int64_t ts, const std::map<std::string, std::string>& values,
           RowKind kind = RowKind::kInsert) {
    RowBatch batch(schema_);
    Fill(&batch, ts, values, kind);
    const auto put = engine_->Append(batch);
    ASSERT_TRUE(put.ok()) << put.status().ToString();
  }
  static void Fill(RowBatch* batch, int64_t ts, const std::map<std::string, std::string>& values,
                   RowKind kind = RowKind::kInsert) {
    const TableSchema& schema = *batch->schema();
    batch->BeginRow(kind);
    ASSERT_TRUE(batch->SetBytes(*schema.FindColumn("sensor"), "p1").ok());
    ASSERT_TRUE(batch->SetInt(*schema.FindColumn("ts"), kStartMs + ts).ok());
    for (const auto& [name, value] : values) {
      const size_t c = *schema.FindColumn(name);
      const bool is_text = schema.columns[c].type.kind == CqlType::kText;
      const Status set = is_text ? batch->SetBytes(c, value)
                         : schema.columns[c].type.kind == CqlType::kDouble
                             ? batch->SetDouble(c, std::stod(value))
                             : batch->SetInt(c, std::stoll(value));
      ASSERT_TRUE(set.ok()) << set.ToString();
    }
    ASSERT_TRUE(batch->EndRow().ok());
  }
  // A row as text by column: "ts=5 flow=1 state=null", times from the start on.
  static void AddText(const TableSchema& schema, const Cursor& cursor, const ResultBatch& batch,
                      std::vector<std::string>* out) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      std::string row;
      for (size_t k = 0; k < batch.columns.size(); ++k) {
        const ColumnSpec& spec = schema.columns[cursor.columns()[k]];
        const ColumnData& data = batch.columns[k];
        if (spec.name == "sensor" || spec.name == "day") continue;
        row += (row.empty() ? "" : " ") + spec.name + "=";
        if (data.state(i) != CellState::kValue) {
          row += "null";
        } else if (spec.name == "ts") {
          row += std::to_string(data.fixed[i] - kStartMs);
        } else if (data.lane == Lane::kBytes) {
          row += data.bytes(i);
        } else if (spec.type.kind == CqlType::kDouble) {
          row += std::to_string(static_cast<int64_t>(data.AsDouble(i)));
        } else {
          row += std::to_string(data.fixed[i]);
        }
      }
      out->push_back(row);
    }
  }
  ScanRequest All(bool descending = false) {
    ScanRequest request = Request("p1", kStartMs, kStartMs + 30 * kDayMs);
    request.columns.clear();
    if (descending) std::swap(request.from, request.to);
    return request;
  }
  std::vector<std::string> Texts(bool descending = false) {
    std::vector<std::string> out;
    auto cursor = engine_->Scan(All(descending));
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    ResultBatch batch;
    while (cursor.ok() && (*cursor)->Next(&batch)) AddText(*schema_, **cursor, batch, &out);
    EXPECT_TRUE(!cursor.ok() || (*cursor)->status().ok()) << (*cursor)->status().ToString();
    return out;
  }
  // The scan gives these rows, both ways, in every layer that the rows come through, and what is
  // stored is sound.
  void ExpectEverywhere(const std::vector<std::string>& rows) {
    std::vector<std::string> backwards(rows.rbegin(), rows.rend());
    const auto expect = [&](const char* where) {
      EXPECT_EQ(Texts(), rows) << where;
      EXPECT_EQ(Texts(true), backwards) << where;
      ExpectSound();
    };
    expect("as written");
    Crash();
    expect("after a crash");
    Rotate();
    expect("rotated");
    SealAll();
    expect("sealed");
    Reopen();
    expect("reopened");
  }
};

using Lines = std::vector<std::string>;

TEST_F(AlterTest, AnAddedColumnIsNullInOlderRows) {
  Put(1, {{"flow", "1"}, {"state", "on"}});
  SealAll();
  Put(2, {{"flow", "2"}, {"state", "on"}});
  Rotate();
  Put(3, {{"flow", "3"}, {"state", "on"}});
  // In the middle: later columns move, the key does not.
  Alter(Pumps("level int, flow double, state text, note text,"));
  Put(4, {{"flow", "4"}, {"level", "40"}, {"note", "new"}});
  Put(2, {{"level", "20"}}, RowKind::kUpdate);
  ExpectEverywhere({"ts=1 level=null flow=1 state=on note=null",
                    "ts=2 level=20 flow=2 state=on note=null",
                    "ts=3 level=null flow=3 state=on note=null",
                    "ts=4 level=40 flow=4 state=null note=new"});
}

TEST_F(AlterTest, ADroppedColumnIsNotSeenAgain) {
  Put(1, {{"flow", "1"}, {"state", "a"}});
  SealAll();
  Put(2, {{"flow", "2"}, {"state", "b"}});
  Put(3, {{"state", "c"}}, RowKind::kUpdate);  // is nothing without that cell
  Rotate();
  Put(4, {{"flow", "4"}, {"state", "d"}});
  Put(5, {{"state", "e"}}, RowKind::kUpdate);
  Alter(Pumps("flow double,"));
  EXPECT_EQ(Texts(), (Lines{"ts=1 flow=1", "ts=2 flow=2", "ts=4 flow=4"}));
  // Nor when a column of its name is added.
  Alter(Pumps("flow double, state text,"));
  Put(6, {{"flow", "6"}, {"state", "f"}});
  Put(1, {{"state", "new"}}, RowKind::kUpdate);
  ExpectEverywhere({"ts=1 flow=1 state=new", "ts=2 flow=2 state=null", "ts=4 flow=4 state=null",
                    "ts=6 flow=6 state=f"});
}

TEST_F(AlterTest, OneSealMergesSegmentsOfManyVersions) {
  Lines rows;
  for (int i = 0; i < 6; ++i) {
    Put(i, {{"flow", std::to_string(i)}});
    Rotate();
    Alter(Pumps(i % 2 == 0 ? "flow double, level int," : "flow double,"));
    rows.push_back("ts=" + std::to_string(i) + " flow=" + std::to_string(i));
  }
  ExpectEverywhere(rows);
  uint64_t segments = 0;
  ASSERT_TRUE(engine_->ListBuckets([&](const BucketInfo& b) {
                       segments += b.segments;
                       return true;
                     }).ok());
  EXPECT_EQ(segments, 1u);
  // An amendment of a later version beside the seal.
  Alter(Pumps("flow double, level int,"));
  Put(3, {{"level", "30"}}, RowKind::kUpdate);
  for (std::string& row : rows) row += row.starts_with("ts=3") ? " level=30" : " level=null";
  ExpectEverywhere(rows);
}

TEST_F(AlterTest, ASealRoundMayBeUnderWay) {
  Put(1, {{"flow", "1"}, {"state", "a"}});
  Rotate();
  clock_->AdvanceSeconds(3 * 86400);
  // Step by step through the round: the table changes between any two of its steps.
  for (int steps = 0; steps < 30; ++steps) {
    clock_->AdvanceSeconds(61);
    const auto ticked = engine_->Tick({1});
    ASSERT_TRUE(ticked.ok()) << ticked.status().ToString();
    constexpr const char* kColumns[] = {"flow double, note int, state text,",
                                        "state text, flow double,", "flow double, state text,"};
    Alter(Pumps(kColumns[steps % 3]));
  }
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 1u);
  EXPECT_EQ(Texts(), (Lines{"ts=1 flow=1 state=a"}));
  Put(2, {{"flow", "2"}});
  SealAll();
  EXPECT_EQ(Texts().front(), "ts=1 flow=1 state=a");
  ExpectSound();
}

TEST_F(AlterTest, AChangedTtlIsThatOfLaterWrites) {
  Put(1, {{"flow", "1"}});
  Alter(Pumps("flow double, state text,", " AND default_time_to_live = 60"));
  Put(2, {{"flow", "2"}});
  EXPECT_EQ(schema_->default_ttl_s, 60u);
  Crash();
  clock_->AdvanceSeconds(61);
  EXPECT_EQ(Texts(), (Lines{"ts=1 flow=1 state=null"}));
  Alter(Pumps("flow double, state text,", " AND gc_grace_seconds = 7"));
  Put(3, {{"flow", "3"}});
  clock_->AdvanceSeconds(100);
  EXPECT_EQ(Texts(), (Lines{"ts=1 flow=1 state=null", "ts=3 flow=3 state=null"}));
  Reopen();
  EXPECT_EQ(schema_->default_ttl_s, 0u);
  EXPECT_EQ(schema_->gc_grace_s, 7u);
}

TEST_F(AlterTest, BatchesOfTheDeclarationBeforeAreRefused) {
  RowBatch old_batch = Row("p1", kStartMs, 1);
  Alter(Pumps("flow double, state text, level int,"));
  const Status s = engine_->Append(old_batch).status();
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("may have been altered"), std::string::npos) << s.ToString();
  EXPECT_TRUE(Texts().empty());
}

TEST_F(AlterTest, WhatWasSubmittedBeforeIsStored) {
  auto producer = *engine_->NewProducer();
  RowBatch batch(schema_);
  Fill(&batch, 1, {{"flow", "1"}});
  const auto ticket = producer->Submit(std::move(batch));
  ASSERT_TRUE(ticket.ok());
  Alter(Pumps("level int, flow double,"));
  EXPECT_TRUE(producer->Wait(*ticket).ok());
  EXPECT_EQ(Texts(), (Lines{"ts=1 level=null flow=1"}));
}

// Queued between the look for its table and the commit.
TEST_F(AlterTest, AUnitOfAnOldDeclarationIsNotCommitted) {
  const TablePtr before = Core()->tables().FindById(1);
  const RowBatch old_batch = Row("p1", kStartMs, 1);
  Alter(Pumps("level int, flow double,"));
  auto queue = std::make_shared<IngestQueue>();
  Committer& committer = Core()->committer();
  committer.AddQueue(queue);
  WriteOutcome rows_outcome;
  WriteOutcome deletes_outcome;
  WriteUnit rows;
  rows.outcome = &rows_outcome;
  rows.table = before;
  rows.batch = &old_batch;
  WriteUnit deletes;
  deletes.outcome = &deletes_outcome;
  deletes.table = before;
  deletes.delete_entity = Entity("p1").bytes;
  deletes.deletes.push_back({kStartMs / 1000, 0, RangeDelete{}});
  ASSERT_TRUE(queue->Push(&rows));
  ASSERT_TRUE(queue->Push(&deletes));
  EXPECT_TRUE(committer.CommitQueued());
  const Status refused = rows_outcome.Take().status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("was altered before"), std::string::npos);
  const Status deleted = deletes_outcome.Take().status();
  EXPECT_TRUE(deleted.ok()) << deleted.ToString();
  committer.RemoveQueue(queue);
  Put(1, {{"flow", "1"}, {"level", "2"}});
  ExpectEverywhere({"ts=1 level=2 flow=1"});
}

// A cursor shows the declaration that it began with, whatever rows come meanwhile.
TEST_F(AlterTest, ACursorGoesOnWithItsDeclaration) {
  for (const bool spilled : {false, true}) {
    for (const bool descending : {false, true}) {
      Alter(Pumps("flow double, state text,"));
      const TableSchema before = *schema_;
      for (int64_t day = 0; day < 6; ++day) {
        Put(day * kDayMs, {{"flow", std::to_string(day)}, {"state", "a"}});
      }
      ScanRequest request = All(descending);
      request.batch_rows_max = 1;
      auto cursor = *engine_->Scan(request);
      Lines rows;
      ResultBatch batch;
      ASSERT_TRUE(cursor->Next(&batch));
      AddText(before, *cursor, batch, &rows);
      Alter(Pumps("level int, flow double,"));
      for (int64_t day = 0; day < 6; ++day) {
        Put(day * kDayMs, {{"flow", std::to_string(10 + day)}, {"level", "7"}});
        Put(day * kDayMs + 1, {{"flow", std::to_string(20 + day)}, {"level", "8"}});
      }
      if (spilled) Rotate();
      while (cursor->Next(&batch)) AddText(before, *cursor, batch, &rows);
      ASSERT_TRUE(cursor->status().ok()) << cursor->status().ToString();
      EXPECT_EQ(cursor->schema()->ToCql(), before.ToCql());
      Lines expected;
      for (int64_t day = 0; day < 6; ++day) {
        const std::string at = "ts=" + std::to_string(day * kDayMs);
        const bool first = day == (descending ? 5 : 0);  // was read before
        expected.push_back(at + " flow=" + std::to_string(first ? day : 10 + day) + " state=a");
        if (first) continue;
        expected.push_back("ts=" + std::to_string(day * kDayMs + 1) +
                           " flow=" + std::to_string(20 + day) + " state=null");
      }
      if (descending) std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(rows, expected) << spilled << descending;
      ASSERT_TRUE(
          engine_->DeleteRange("pumps", Entity("p1"), {kStartMs, kStartMs + 30 * kDayMs}).ok());
    }
  }
}

TEST_F(AlterTest, AFollowingCursorGoesOnWithItsDeclarationToo) {
  const TableSchema before = *schema_;
  Put(1, {{"flow", "1"}, {"state", "a"}});
  auto cursor = *engine_->Follow(All(), 0);
  Lines rows;
  ResultBatch batch;
  while (cursor->Next(&batch)) AddText(before, *cursor, batch, &rows);
  Alter(Pumps("level int, flow double,"));
  Put(2, {{"flow", "2"}, {"level", "7"}});
  while (cursor->Next(&batch)) AddText(before, *cursor, batch, &rows);
  EXPECT_TRUE(cursor->status().ok()) << cursor->status().ToString();
  EXPECT_EQ(cursor->schema()->ToCql(), before.ToCql());
  EXPECT_EQ(rows, (Lines{"ts=1 flow=1 state=a", "ts=2 flow=2 state=null"}));
}

// The same inside of one bucket, whose rows are copied from the head by chunks.
TEST_F(AlterTest, ACursorGoesOnInsideOfABucket) {
  constexpr int kRows = 1500;
  for (const bool descending : {false, true}) {
    Alter(Pumps("flow double, state text,"));
    const TableSchema before = *schema_;
    for (int i = 0; i < kRows; ++i) Put(i, {{"flow", "1"}, {"state", "a"}});
    ScanRequest request = All(descending);
    request.batch_rows_max = 7;
    auto cursor = *engine_->Scan(request);
    Lines rows;
    ResultBatch batch;
    ASSERT_TRUE(cursor->Next(&batch));
    AddText(before, *cursor, batch, &rows);
    Alter(Pumps("level int, flow double, note text,"));
    for (int i = 0; i < kRows; ++i) Put(i, {{"flow", "2"}, {"level", "7"}});
    while (cursor->Next(&batch)) AddText(before, *cursor, batch, &rows);
    ASSERT_TRUE(cursor->status().ok()) << cursor->status().ToString();
    ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
    if (descending) std::reverse(rows.begin(), rows.end());
    int changed = 0;
    for (int i = 0; i < kRows; ++i) {
      const std::string at = "ts=" + std::to_string(i);
      if (rows[static_cast<size_t>(i)] == at + " flow=2 state=a") ++changed;
      else ASSERT_EQ(rows[static_cast<size_t>(i)], at + " flow=1 state=a");
    }
    EXPECT_GT(changed, kRows / 2);
  }
}

TEST_F(AlterTest, ATokenLeadsOnAcrossAnAlteration) {
  for (int64_t i = 0; i < 10; ++i) Put(i * kDayMs / 2, {{"flow", std::to_string(i)}});
  for (const bool descending : {false, true}) {
    ScanRequest request = All(descending);
    request.columns = {"flow"};
    Lines rows;
    for (int page = 0;; ++page) {
      request.limit += 3;
      auto cursor = engine_->Scan(request);
      ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) AddText(*schema_, **cursor, batch, &rows);
      request.token = (*cursor)->Token();
      cursor->reset();
      if (request.token.empty()) break;
      Alter(Pumps(page % 2 == 0 ? "level int, flow double," : "flow double,"));
      if (page == 1) Reopen();
    }
    ASSERT_EQ(rows.size(), 10u);
    EXPECT_EQ(rows.front(), descending ? "flow=9" : "flow=0");
  }
}

TEST_F(AlterTest, WhatCannotBeIsRefusedWithTheReason) {
  Put(1, {{"flow", "1"}});
  const auto pumps = [](const std::string& rest) {
    return "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, flow double, " + rest;
  };
  const std::string rule = " WITH comment = 'cistern: bucket day = 1 day'";
  const std::pair<std::string, std::string> impossible[] = {
      {Pumps("flow float, state text,"), "the column 'flow' is double, not float"},
      {Pumps("flow double, state blob,"), "the column 'state' is text, not blob"},
      {"CREATE TABLE plant.pumps (device text, day date, ts timestamp, flow double,"
       " PRIMARY KEY ((device, day), ts))" + rule, "(sensor, day), not (device, day)"},
      {"CREATE TABLE plant.pumps (sensor ascii, day date, ts timestamp, flow double,"
       " PRIMARY KEY ((sensor, day), ts))" + rule, "'sensor' is text, not ascii"},
      {pumps("state text, PRIMARY KEY ((day, sensor), ts))") + rule, "(day, sensor)"},
      {pumps("state text, PRIMARY KEY ((sensor, day), ts, state))") + rule, "(ts, state)"},
      {pumps("state text, PRIMARY KEY ((sensor, day), ts))") +
           " WITH CLUSTERING ORDER BY (ts DESC) AND comment = 'cistern: bucket day = 1 day'",
       "stays ASC"},
      {pumps("state text, PRIMARY KEY ((sensor, day), ts))") +
           " WITH comment = 'cistern: bucket day = 1 week'",
       "the bucket rule"},
  };
  for (const auto& [cql, why] : impossible) {
    EXPECT_NE(WhyNot(cql).find(why), std::string::npos) << WhyNot(cql);
  }
  Alter(Pumps("flow double,"));
  EXPECT_NE(WhyNot(Pumps("flow double, state int,")).find("'state' was dropped, and it was text"),
            std::string::npos);
  EXPECT_EQ(engine_->AlterTable("CREATE TABLE plant.valves (a text, day date, ts timestamp, v int,"
                                " PRIMARY KEY ((a, day), ts))").code(),
            StatusCode::kNotFound);
  EXPECT_EQ(engine_->AlterTable("ALTER TABLE plant.pumps ADD x int").code(),
            StatusCode::kInvalidArgument);
  // Nothing to do is nothing done.
  EXPECT_TRUE(engine_->AlterTable(Pumps("flow double,")).ok());
  EXPECT_EQ(Core()->tables().FindById(1)->schema_version, 1u);
  const Status created = engine_->CreateTable(Pumps("flow double, x int,"));
  EXPECT_EQ(created.code(), StatusCode::kAlreadyExists);
  EXPECT_NE(created.message().find("AlterTable"), std::string::npos) << created.ToString();
}

// Records of one table's versions tell by their sequence which of them they are coded by.
TEST_F(AlterTest, AJournalRecordIsReadAsItWasWritten) {
  Put(1, {{"flow", "1"}});
  const uint64_t last = Core()->committer().last_sequence();
  Alter(Pumps("flow double,"));
  const TableSet& tables = Core()->tables();
  EXPECT_EQ(tables.SchemaAt(1, last)->columns.size(), 5u);
  EXPECT_EQ(tables.SchemaAt(1, last + 1)->columns.size(), 4u);
  EXPECT_EQ(tables.SchemaAt(2, last), nullptr);
}

// The store as it is at a crash point.
AlterTest* g_test = nullptr;
const char* g_point = nullptr;
std::string g_copy;

class AlterCrashTest : public AlterTest {
 protected:
  void TearDown() override { g_crash_hook = nullptr; }
  // Alters, and goes on with what a crash at the point would have left.
  void AlterAndCrash(const std::string& cql, const char* point) {
    g_test = this;
    g_point = point;
    g_copy.clear();
    g_crash_hook = [](const char* name) {
      if (std::string_view(name) == g_point && g_copy.empty()) {
        g_copy = static_cast<AlterCrashTest*>(g_test)->CopyStore();
      }
    };
    Alter(cql);
    g_crash_hook = nullptr;
    ASSERT_FALSE(g_copy.empty()) << point << " was not met";
    GoOnWith(g_copy);
  }
};

TEST_F(AlterCrashTest, BeforeAndAfterTheRecord) {
  for (const char* point : {"alter:before_record", "alter:after_record", "spill:before_commit",
                            "spill:after_commit", "journal:before_drop"}) {
    const std::string before = schema_->ToCql();
    Put(1, {{"flow", "1"}, {"state", "a"}});
    AlterAndCrash(Pumps("flow double, state text, level int,"), point);
    const bool is_altered = std::string_view(point) == "alter:after_record";
    EXPECT_EQ(schema_->columns.size(), is_altered ? 6u : 5u) << point;
    EXPECT_EQ(Texts(), (Lines{is_altered ? "ts=1 flow=1 state=a level=null"
                                         : "ts=1 flow=1 state=a"}))
        << point;
    ExpectSound();
    Put(2, {{"flow", "2"}, {"state", "b"}});
    Alter(Pumps("state text, flow double,"));
    ExpectEverywhere({"ts=1 state=a flow=1", "ts=2 state=b flow=2"});
    Alter(Pumps("flow double, state text,"));
    ASSERT_TRUE(
        engine_->DeleteRange("pumps", Entity("p1"), {kStartMs, kStartMs + 30 * kDayMs}).ok());
  }
}

TEST_F(AlterTest, SalvageHidesDroppedColumnsToo) {
  Put(1, {{"flow", "1"}, {"state", "a"}});
  Rotate();
  Alter(Pumps("flow double,"));
  Alter(Pumps("flow double, state text,"));
  Put(2, {{"flow", "2"}, {"state", "b"}});
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  const std::string to = temp_.path() + "/saved";
  SalvageOptions options;
  options.clock = clock_;
  const auto report = Salvage(directory(), to, options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->problems.empty());
  GoOnWith(to);
  ExpectEverywhere({"ts=1 flow=1 state=null", "ts=2 flow=2 state=b"});
}

}  // namespace
}  // namespace cistern::testing
