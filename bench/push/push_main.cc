// The push path beside other ways to bring the same rows to the same warm server: interleaved,
// medians, and what it costs. docs/performance.md tells how to run it and what it gave.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/push/cistern_push.h"
#include "bench/push/cluster_client.h"
#include "bench/push/dsbulk_load.h"
#include "bench/push/frame_recorder.h"
#include "bench/push/frame_replay.h"
#include "bench/push/push_report.h"
#include "bench/push/push_workload.h"
#include "bench/push/single_row_push.h"

namespace cistern::bench {
namespace {

constexpr const char* kCistern = "cistern";
constexpr const char* kCisternTtl = "cistern, with TTL";
constexpr const char* kSingleRow = "single rows";
constexpr const char* kReplay = "replay";
constexpr const char* kReplayTtl = "replay, with TTL";
constexpr const char* kDsbulk = "dsbulk";
constexpr const char* kCounted = "cistern, proof count";
constexpr const char* kReadBack = "cistern, proof rows";
const std::vector<std::string> kParts = {"cistern", "replay", "single", "dsbulk", "proofs"};
// Batches of one seal that the replicator has in flight at most.
constexpr size_t kFlightsOfSeal = 16;

struct PushOptions {
  std::string contact = "127.0.0.1:9042";
  std::string dsbulk;  // jars; empty: left out
  uint32_t sensors = 300;
  int warm_ups = 6;
  int repetitions = 5;
  size_t single_in_flight = 512;
  pid_t server_pid = 0;
  std::vector<std::string> only;  // of kParts; empty: all

  [[nodiscard]] bool Has(const std::string& part) const {
    return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
  }
};

class PushBench {
 public:
  PushBench(PushOptions options, PushServer server)
      : options_(std::move(options)),
        server_(std::move(server)),
        rows_(uint64_t{options_.sensors} * kBucketRows) {}

  Status Run() {
    CISTERN_RETURN_IF_ERROR(Prepare());
    fmt::print("{} rows in {} buckets of {}\n{} pushes of each table and a round that warm up\n",
               rows_, options_.sensors, kBucketRows, options_.warm_ups);
    for (int i = 0; i < options_.warm_ups; ++i) CISTERN_RETURN_IF_ERROR(WarmUp());
    for (int repetition = 0; repetition <= options_.repetitions; ++repetition) {
      if (repetition == 1) fmt::print("{} rounds that count\n", options_.repetitions);
      PushReport* const report = repetition == 0 ? &warm_up_ : &report_;
      CISTERN_RETURN_IF_ERROR(RunRound(repetition, report));
    }
    PrintAll();
    return engine_->Close();
  }

 private:
  Status Prepare() {
    directory_ = FreshDirectory("push");
    std::filesystem::create_directories(directory_);
    CISTERN_RETURN_IF_ERROR(FillStore(directory_ + "/store", options_.sensors));
    CISTERN_ASSIGN_OR_RETURN(engine_, OpenStore(directory_ + "/store"));
    row_list_ = RowsByBucket(options_.sensors);
    CISTERN_RETURN_IF_ERROR(WriteCsv(row_list_, csv()));
    CISTERN_ASSIGN_OR_RETURN(client_, ClusterClient::Connect(server_.endpoint));
    CISTERN_RETURN_IF_ERROR(client_->Run("DROP KEYSPACE IF EXISTS gateway"));
    CISTERN_RETURN_IF_ERROR(
        client_->Run("CREATE KEYSPACE gateway WITH replication = {'class': 'SimpleStrategy',"
                     " 'replication_factor': 1}"));
    for (const char* table : {kPlainTable, kTtlTable}) {
      CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable(table));
      CISTERN_RETURN_IF_ERROR(client_->Run(schema->ToCql()));
    }
    return Record();
  }

  // All of the store once through the recorder: the frames to replay, and the bytes of each row.
  Status Record() {
    FrameRecorder recorder(server_.endpoint);
    const PushServer relay{recorder.endpoint(), 0};
    CISTERN_RETURN_IF_ERROR(
        PushByCistern(engine_.get(), relay, ProofLevel::kAck, 2 * rows_).status());
    (void)recorder.TakeFrames();
    for (const bool has_ttl : {false, true}) {
      CISTERN_RETURN_IF_ERROR(SendAgain(engine_.get(), TableOf(has_ttl)));
      const uint64_t sent = recorder.bytes_sent();
      const uint64_t received = recorder.bytes_received();
      CISTERN_ASSIGN_OR_RETURN(
          const CisternPush push,
          PushByCistern(engine_.get(), relay, ProofLevel::kAck, rows_));
      frames_[has_ttl] = EncodeFrames(recorder.TakeFrames());
      const auto rows = static_cast<double>(rows_);
      fmt::print("{}: {:.2f} B/row sent and {:.2f} received, {:.1f} rows a batch, {:.2f} batches"
                 " a frame\n",
                 TableOf(has_ttl), static_cast<double>(recorder.bytes_sent() - sent) / rows,
                 static_cast<double>(recorder.bytes_received() - received) / rows,
                 rows / static_cast<double>(push.batches_sent),
                 static_cast<double>(push.batches_sent) /
                     static_cast<double>(frames_[has_ttl].size()));
    }
    return Status::Ok();
  }

  // Until the server's JIT has compiled its write path well, a push costs it less each time. Rounds
  // that fall into that compare which method came first.
  Status WarmUp() {
    CISTERN_RETURN_IF_ERROR(Push(&warm_up_, kCistern, false, ProofLevel::kAck));
    return Push(&warm_up_, kCisternTtl, true, ProofLevel::kAck);
  }

  // What one method leaves the server to flush and to collect is done in the time of the next: so
  // each round has an order of its own.
  Status RunRound(int round, PushReport* report) {
    std::vector<std::function<Status()>> methods = MethodsOf(report);
    std::shuffle(methods.begin(), methods.end(), std::mt19937(static_cast<unsigned>(round)));
    for (const auto& method : methods) CISTERN_RETURN_IF_ERROR(method());
    return Status::Ok();
  }

  std::vector<std::function<Status()>> MethodsOf(PushReport* report) {
    std::vector<std::function<Status()>> methods;
    const auto push = [this, report](const char* method, bool has_ttl, ProofLevel proof) {
      return [=, this] { return Push(report, method, has_ttl, proof); };
    };
    if (options_.Has("cistern")) {
      methods.emplace_back(push(kCistern, false, ProofLevel::kAck));
      methods.emplace_back(push(kCisternTtl, true, ProofLevel::kAck));
    }
    if (options_.Has("replay")) {
      methods.emplace_back([=, this] { return Replay(report, kReplay, false); });
      methods.emplace_back([=, this] { return Replay(report, kReplayTtl, true); });
    }
    if (options_.Has("single")) methods.emplace_back([=, this] { return Single(report); });
    const bool has_dsbulk = options_.Has("dsbulk") && !options_.dsbulk.empty();
    if (has_dsbulk) methods.emplace_back([=, this] { return Dsbulk(report); });
    if (options_.Has("proofs")) {
      methods.emplace_back(push(kCounted, false, ProofLevel::kCount));
      methods.emplace_back(push(kReadBack, false, ProofLevel::kRows));
    }
    return methods;
  }

  Status Push(PushReport* report, const std::string& method, bool has_ttl, ProofLevel proof) {
    CISTERN_RETURN_IF_ERROR(EmptyTables());
    CISTERN_RETURN_IF_ERROR(SendAgain(engine_.get(), TableOf(has_ttl)));
    CISTERN_ASSIGN_OR_RETURN(const CisternPush push,
                             PushByCistern(engine_.get(), server_, proof, rows_));
    report->Add(method, push.cost.wall_s, push.cost, rows_);
    if (proof != ProofLevel::kAck) {
      report->AddFigure(method + ": s until acknowledged", push.acknowledged_s);
      report->AddFigure(method + ": s until confirmed", push.cost.wall_s);
      report->AddFigure(method + ": B/row read back, before LZ4",
                        static_cast<double>(push.bytes_read_back) / static_cast<double>(rows_));
    }
    return CheckCount(has_ttl);
  }

  Status Replay(PushReport* report, const std::string& method, bool has_ttl) {
    CISTERN_RETURN_IF_ERROR(EmptyTables());
    const replicate::ReplicatorOptions same = PushOptionsOf(ProofLevel::kAck);
    CISTERN_ASSIGN_OR_RETURN(
        const PushCost cost,
        ReplayFrames(frames_[has_ttl], server_, same.pushing_count_max * kFlightsOfSeal));
    report->Add(method, cost.wall_s, cost, rows_);
    return CheckCount(has_ttl);
  }

  Status Single(PushReport* report) {
    CISTERN_RETURN_IF_ERROR(EmptyTables());
    CISTERN_ASSIGN_OR_RETURN(const PushCost cost, PushSingleRows(client_.get(), server_, row_list_,
                                                                 options_.single_in_flight));
    report->Add(kSingleRow, cost.wall_s, cost, rows_);
    return CheckCount(false);
  }

  Status Dsbulk(PushReport* report) {
    CISTERN_RETURN_IF_ERROR(EmptyTables());
    CISTERN_ASSIGN_OR_RETURN(const DsbulkLoad load,
                             LoadByDsbulk(options_.dsbulk, csv(), directory_, server_));
    report->Add(kDsbulk, static_cast<double>(rows_) / load.reported_per_s, load.cost, rows_);
    report->AddFigure("dsbulk: s with the start of Java", load.cost.wall_s);
    return CheckCount(false);
  }

  // Both: what the one still has in memory would be flushed in the time of the other.
  Status EmptyTables() {
    CISTERN_RETURN_IF_ERROR(client_->Run(std::string("TRUNCATE ") + kPlainTable));
    return client_->Run(std::string("TRUNCATE ") + kTtlTable);
  }

  Status CheckCount(bool has_ttl) {
    CISTERN_ASSIGN_OR_RETURN(const uint64_t found,
                             client_->CountRows(TableOf(has_ttl), options_.sensors));
    if (found == rows_) return Status::Ok();
    return Status::Internal(fmt::format("{} holds {} rows instead of {}", TableOf(has_ttl), found,
                                        rows_));
  }

  void PrintAll() const {
    report_.Print();
    fmt::print("\n");
    report_.PrintRatio(kCistern, kDsbulk, 3);
    report_.PrintRatio(kCistern, kSingleRow, 5);
    report_.PrintRatio(kCistern, kReplay, 0.8);
    report_.PrintRatio(kCisternTtl, kReplayTtl, 0.8);
  }

  static const char* TableOf(bool has_ttl) { return has_ttl ? kTtlTable : kPlainTable; }
  [[nodiscard]] std::string csv() const { return directory_ + "/rows.csv"; }

  const PushOptions options_;
  const PushServer server_;
  const uint64_t rows_;
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ClusterClient> client_;
  std::vector<GatewayRow> row_list_;
  std::vector<ReplayFrame> frames_[2];  // without TTL and with it
  PushReport warm_up_;
  PushReport report_;
};

bool ParseEndpoint(const std::string& text, cql::Endpoint* endpoint) {
  const size_t colon = text.find(':');
  endpoint->host = text.substr(0, colon);
  if (colon == std::string::npos) return true;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, endpoint->port);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

int Main(int argc, char** argv) {
  PushOptions options;
  CLI::App app("Measures the push path against a warm Apache Cassandra");
  app.add_option("--contact", options.contact, "HOST[:PORT] of the server")
      ->envname("CISTERN_CASSANDRA_CONTACT")
      ->required();
  app.add_option("--sensors", options.sensors, "Buckets of 3,600 rows")->capture_default_str();
  app.add_option("--warm-ups", options.warm_ups, "Pushes of each table before the first round")
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "Rounds that count")
      ->capture_default_str();
  app.add_option("--single-in-flight", options.single_in_flight, "Requests of single rows")
      ->capture_default_str();
  app.add_option("--dsbulk", options.dsbulk,
                 "Directory of DSBulk's jars, as bench/push/dsbulk/assemble prints it");
  app.add_option("--server-pid", options.server_pid, "Its process here, to count its CPU")
      ->envname("CISTERN_CASSANDRA_PID");
  app.add_option("--only", options.only, "Parts of it, with commas between")
      ->delimiter(',')
      ->check(CLI::IsMember(kParts));
  CLI11_PARSE(app, argc, argv);
  PushServer server;
  server.pid = options.server_pid;
  if (!ParseEndpoint(options.contact, &server.endpoint)) {
    std::fprintf(stderr, "--contact is not HOST[:PORT]\n");
    return 2;
  }
  if (options.Has("dsbulk") && options.dsbulk.empty()) {
    std::fprintf(stderr, "NOT MEASURED: DSBulk. --dsbulk \"$(bench/push/dsbulk/assemble)\""
                         " brings it.\n");
  }
  const Status status = PushBench(std::move(options), std::move(server)).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) { return cistern::bench::Main(argc, argv); }
