// Every two public calls of an engine at once, each from a thread of its own: all answer, none
// waits for ever, and nothing that was acknowledged is missing afterwards. Meant for TSan.
// The time limit of meson ends a pair that hangs, whose name is the last line that was printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cistern/cistern.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr const char* kTable =
    "CREATE TABLE c.rows (sensor int, hour timestamp, ts timestamp, v bigint,"
    " PRIMARY KEY ((sensor, hour), ts))";
constexpr const char* kAltered =
    "CREATE TABLE c.rows (sensor int, hour timestamp, ts timestamp, v bigint, note text,"
    " PRIMARY KEY ((sensor, hour), ts))";
constexpr const char* kOther =
    "CREATE TABLE c.others (sensor int, hour timestamp, ts timestamp, v bigint,"
    " PRIMARY KEY ((sensor, hour), ts))";
constexpr int64_t kFirstMs = 1'704'067'200'000;
constexpr int64_t kLastMs = 2 * kFirstMs;
constexpr int kDeletedSensor = 90;
constexpr int kSeedRows = 120;  // of sensor 0, over two hours

// What a call of one of the two threads works with. Producers and cursors are of one thread.
struct Caller {
  Engine* engine = nullptr;
  int sensor = 0;
  int64_t next = 0;          // rows that were tried
  int64_t acknowledged = 0;  // without those of which nobody asked
  Cursor* cursor = nullptr;  // begun before, with half of its rows to come
  std::string backups;       // a directory
};

class CallPairs : public ::testing::Test {
 protected:
  using CallFunction = std::function<Status(Caller*)>;
  struct Call {
    const char* name;
    CallFunction run;
    std::set<StatusCode> refusals = {};  // beside kOk, whatever the other thread does
  };

  void Open(bool background_threads) {
    EngineOptions options;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    options.background_threads = background_threads;
    auto opened = Engine::Open(root_.path() + "/store" + std::to_string(++stores_), options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = std::move(opened).value();
    ASSERT_TRUE(engine_->CreateTable(kTable).ok());
    Caller seed;
    seed.engine = engine_.get();
    for (int i = 0; i < kSeedRows; ++i) ASSERT_TRUE(AppendOne(&seed, Durability::kLog).ok());
    ASSERT_TRUE(engine_->Rotate().ok());
  }

  // The schema is asked for each time: the table may just be altered.
  static Result<RowBatch> OneRow(Caller* caller) {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, caller->engine->FindTable("c.rows"));
    RowBatch batch(schema);
    const int64_t n = caller->next++;
    batch.BeginRow();
    CISTERN_RETURN_IF_ERROR(batch.SetInt(0, caller->sensor));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(2, kFirstMs + n * 60'000));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(3, n));
    CISTERN_RETURN_IF_ERROR(batch.EndRow());
    return batch;
  }
  static Status AppendOne(Caller* caller, Durability durability) {
    CISTERN_ASSIGN_OR_RETURN(const RowBatch batch, OneRow(caller));
    CISTERN_RETURN_IF_ERROR(caller->engine->Append(batch, {durability}).status());
    ++caller->acknowledged;
    return Status::Ok();
  }
  static EntityKey Entity(int sensor) {
    const auto schema = ParseCreateTable(kTable);
    return *EntityFromText(**schema, {{std::to_string(sensor)}});
  }
  static ScanRequest Request(int sensor) {
    ScanRequest request;
    request.table = "c.rows";
    request.entity = Entity(sensor);
    request.from = kFirstMs;
    request.to = kLastMs;
    request.columns = {"v"};
    request.batch_rows_max = 20;
    return request;
  }
  static Status Drain(Cursor* cursor, int64_t* rows) {
    ResultBatch batch;
    while (cursor->Next(&batch)) *rows += static_cast<int64_t>(batch.row_count);
    return cursor->status();
  }
  static Status Scan(Caller* caller) {
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, caller->engine->Scan(Request(0)));
    int64_t rows = 0;
    CISTERN_RETURN_IF_ERROR(Drain(cursor.get(), &rows));
    return rows == kSeedRows ? Status::Ok()
                             : Status::Internal("a scan of " + std::to_string(rows) + " rows");
  }
  static Status Aggregate(Caller* caller) {
    AggregateRequest request;
    request.table = "c.rows";
    request.entities = {Entity(0)};
    request.from = kFirstMs;
    request.to = kLastMs;
    request.step = kLastMs;
    request.of = {{"v", AggregateFunction::kCount}};
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, caller->engine->Aggregate(request));
    AggregateBatch batch;
    while (cursor->Next(&batch)) {
    }
    return cursor->status();
  }
  static Status WithProducer(Caller* caller,
                             const std::function<Status(Producer*, RowBatch)>& use) {
    CISTERN_ASSIGN_OR_RETURN(const auto producer, caller->engine->NewProducer());
    CISTERN_ASSIGN_OR_RETURN(RowBatch batch, OneRow(caller));
    return use(producer.get(), std::move(batch));
  }

  static std::vector<Call> Writes();
  static std::vector<Call> Reads();
  static std::vector<Call> Chores();
  static std::vector<Call> AllCalls() {
    std::vector<Call> calls = Writes();
    for (Call& call : Reads()) calls.push_back(std::move(call));
    for (Call& call : Chores()) calls.push_back(std::move(call));
    return calls;
  }
  // Both at once, a few times each. `may_close`: one of them closes the engine.
  void RunPair(const Call& first, const Call& second, bool may_close);

  TempDir root_{"cistern-pairs"};
  int stores_ = 0;
  int sensors_ = 100;
  std::unique_ptr<Engine> engine_;
};

// Batches and deletes of the declaration before are refused while a table is altered.
std::vector<CallPairs::Call> CallPairs::Writes() {
  const std::set<StatusCode> altered = {StatusCode::kInvalidArgument};
  return {
      {"Append", [](Caller* c) { return AppendOne(c, Durability::kSynced); }, altered},
      {"Append kLog", [](Caller* c) { return AppendOne(c, Durability::kLog); }, altered},
      {"Producer::Append",
       [](Caller* c) {
         const Status s = WithProducer(c, [](Producer* producer, RowBatch batch) {
           return producer->Append(batch).status();
         });
         if (s.ok()) ++c->acknowledged;
         return s;
       },
       altered},
      {"Producer::Submit, Wait",
       [](Caller* c) {
         const Status s = WithProducer(c, [](Producer* producer, RowBatch batch) -> Status {
           CISTERN_ASSIGN_OR_RETURN(const Ticket ticket, producer->Submit(std::move(batch)));
           return producer->Wait(ticket).status();
         });
         if (s.ok()) ++c->acknowledged;
         return s;
       },
       altered},
      {"Producer::Submit, destructor",
       [](Caller* c) {
         return WithProducer(c, [](Producer* producer, RowBatch batch) {
           return producer->Submit(std::move(batch)).status();
         });
       },
       altered},
      {"DeleteRange",
       [](Caller* c) {
         return c->engine
             ->DeleteRange("c.rows", Entity(kDeletedSensor), {kFirstMs, kFirstMs + 1000})
             .status();
       },
       altered},
      {"DeleteBucket",
       [](Caller* c) {
         return c->engine->DeleteBucket("c.rows", Entity(kDeletedSensor), kFirstMs).status();
       },
       altered},
      {"CreateTable", [](Caller* c) { return c->engine->CreateTable(kOther); }},
      {"AlterTable",
       [](Caller* c) {
         CISTERN_RETURN_IF_ERROR(c->engine->AlterTable(kAltered));
         return c->engine->AlterTable(kTable);
       }},
  };
}

std::vector<CallPairs::Call> CallPairs::Reads() {
  return {
      {"FindTable", [](Caller* c) { return c->engine->FindTable("c.rows").status(); }},
      {"ListTables",
       [](Caller* c) {
         (void)c->engine->ListTables();
         return Status::Ok();
       }},
      {"Scan", Scan},
      {"Scan, destructor",
       [](Caller* c) -> Status {
         CISTERN_ASSIGN_OR_RETURN(const auto cursor, c->engine->Scan(Request(0)));
         ResultBatch batch;
         (void)cursor->Next(&batch);
         return cursor->status();
       }},
      {"Cursor::Next of one begun before",
       [](Caller* c) {
         ResultBatch batch;
         (void)c->cursor->Next(&batch);
         (void)c->cursor->Token();
         (void)c->cursor->gaps();
         return c->cursor->status();
       }},
      {"Aggregate", Aggregate},
      {"Follow",
       [](Caller* c) -> Status {
         CISTERN_ASSIGN_OR_RETURN(const auto cursor, c->engine->Follow(Request(0), 1000));
         int64_t rows = 0;
         return Drain(cursor.get(), &rows);
       }},
      {"FirstEvent", [](Caller* c) { return c->engine->FirstEvent("c.rows", Entity(0)).status(); }},
      {"LastEvent", [](Caller* c) { return c->engine->LastEvent("c.rows", Entity(0)).status(); }},
      {"ListBuckets",
       [](Caller* c) { return c->engine->ListBuckets([](const BucketInfo&) { return true; }); }},
      {"ListEntities",
       [](Caller* c) {
         return c->engine->ListEntities("c.rows", [](const EntityKey&) { return true; });
       }},
      {"ListWindows", [](Caller* c) { return c->engine->ListWindows().status(); }},
      {"Verify",
       [](Caller* c) -> Status {
         CISTERN_ASSIGN_OR_RETURN(const VerifyReport report, c->engine->Verify());
         return report.problems.empty() ? Status::Ok() : Status::Internal(report.problems.front());
       }},
      {"GetMetrics",
       [](Caller* c) {
         (void)c->engine->GetMetrics();
         return Status::Ok();
       }},
      {"Recovery",
       [](Caller* c) {
         (void)c->engine->Recovery();
         return Status::Ok();
       }},
      {"Health", [](Caller* c) { return c->engine->Health(); }},
      {"GetClock", [](Caller* c) { return c->engine->GetClock().status(); }},
  };
}

std::vector<CallPairs::Call> CallPairs::Chores() {
  return {
      {"Tick", [](Caller* c) { return c->engine->Tick().status(); }},
      {"Sync", [](Caller* c) { return c->engine->Sync(); }},
      {"Rotate", [](Caller* c) { return c->engine->Rotate(); }, {StatusCode::kBusy}},
      {"Seal",
       [](Caller* c) { return c->engine->Seal({.due_only = false}).status(); },
       {StatusCode::kBusy}},
      {"Expire", [](Caller* c) { return c->engine->Expire().status(); }},
      {"ConfirmClock", [](Caller* c) { return c->engine->ConfirmClock().status(); }},
      {"Backup",
       [](Caller* c) {
         return c->engine->Backup(c->backups).status();
       },
       {StatusCode::kBusy, StatusCode::kLocked}},
  };
}

void CallPairs::RunPair(const Call& first, const Call& second, bool may_close) {
  std::printf("%s | %s\n", first.name, second.name);
  std::fflush(stdout);
  constexpr int kTurns = 2;
  const Call* const calls[] = {&first, &second};
  std::vector<std::unique_ptr<Cursor>> cursors;
  std::vector<Caller> callers;
  for (int i = 0; i < 2; ++i) {
    auto cursor = engine_->Scan(Request(0));
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    ResultBatch batch;
    ASSERT_TRUE((*cursor)->Next(&batch));
    cursors.push_back(*std::move(cursor));
    // Sensors of their own, so that each knows its rows.
    callers.push_back({engine_.get(), ++sensors_, 0, 0, cursors.back().get(),
                       root_.path() + "/backups" + std::to_string(stores_)});
  }
  std::latch start(2);
  const auto run = [&](size_t i) {
    start.arrive_and_wait();
    for (int turn = 0; turn < kTurns; ++turn) {
      const Status s = calls[i]->run(&callers[i]);
      const bool is_told = s.ok() || calls[i]->refusals.contains(s.code()) ||
                           (may_close && s.code() == StatusCode::kClosed);
      EXPECT_TRUE(is_told) << calls[i]->name << " beside " << calls[1 - i]->name << ": "
                           << s.ToString();
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  cursors.clear();
  if (may_close) return;
  for (const Caller& caller : callers) {
    int64_t rows = 0;
    const auto cursor = engine_->Scan(Request(caller.sensor));
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    EXPECT_TRUE(Drain(cursor->get(), &rows).ok());
    EXPECT_GE(rows, caller.acknowledged);
    EXPECT_LE(rows, caller.next);
  }
}

TEST_F(CallPairs, EveryTwoCallsAnswer) {
  for (const bool background_threads : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(Open(background_threads));
    const std::vector<Call> calls = AllCalls();
    for (size_t a = 0; a < calls.size(); ++a) {
      for (size_t b = a; b < calls.size(); ++b) {
        ASSERT_NO_FATAL_FAILURE(RunPair(calls[a], calls[b], false));
      }
    }
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    EXPECT_TRUE(engine_->Close().ok());
  }
}

TEST_F(CallPairs, EveryCallAnswersBesideClose) {
  std::vector<Call> calls = AllCalls();
  const Call close{"Close", [](Caller* c) { return c->engine->Close(); }};
  calls.push_back(close);
  for (size_t i = 0; i < calls.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(Open(i % 2 == 0));
    ASSERT_NO_FATAL_FAILURE(RunPair(calls[i], close, true));
    EXPECT_EQ(engine_->Sync().code(), StatusCode::kClosed);
    engine_.reset();
  }
}

TEST_F(CallPairs, CloseFromManyThreadsReturnsWhenAllIsClosed) {
  for (const bool background_threads : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(Open(background_threads));
    constexpr int kThreads = 6;
    std::latch start(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const Status closed = engine_->Close();
        EXPECT_TRUE(closed.ok()) << closed.ToString();
        // Whoever returned may open the store: it is free.
        EXPECT_EQ(engine_->Health().code(), StatusCode::kClosed);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// Cursors may outlive their engine: the last of both closes the store, whoever that is.
TEST_F(CallPairs, AnEngineGoesWhileItsCursorsAreRead) {
  for (int round = 0; round < 8; ++round) {
    ASSERT_NO_FATAL_FAILURE(Open(round % 2 == 0));
    auto scan = engine_->Scan(Request(0));
    ASSERT_TRUE(scan.ok());
    std::latch start(2);
    std::thread reader([&, cursor = *std::move(scan)]() mutable {
      start.arrive_and_wait();
      int64_t rows = 0;
      const Status s = Drain(cursor.get(), &rows);
      EXPECT_TRUE(s.ok()) << s.ToString();
      EXPECT_EQ(rows, kSeedRows);
      cursor.reset();
    });
    start.arrive_and_wait();
    engine_.reset();
    reader.join();
  }
}

}  // namespace
}  // namespace cistern::testing
