// Replication from inside the program that has the store: a row is written, its bucket sealed and
// sent to a Cassandra cluster. It ends once nothing waits, or with what stands in the way.
//
//   replicate DIRECTORY HOST[:PORT]
//
// The cluster needs the table. Without it the program says so, and that
//   MAP="{'class': 'SimpleStrategy', 'replication_factor': 1}"
//   cistern schema apply --store DIRECTORY --contact HOST[:PORT] --keyspace-replication "$MAP"
// makes it. README.md shows the part between the marks; tests compile and run this file against an
// installed Cistern, shared and static.
#include <cistern/cistern.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

namespace {

using cistern::ClusterAccess, cistern::Engine, cistern::Replication, cistern::ReplicationOptions;
using cistern::ReplicationPhase, cistern::Result, cistern::RowBatch, cistern::Status;

constexpr char kReadings[] =
    "CREATE TABLE plant.readings (sensor text, day date, ts timestamp, celsius double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day' "
    "AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS', "
    "'compaction_window_size': '30'}";
constexpr size_t kSensor = 0, kTime = 2, kCelsius = 3;  // columns by their place
// A seal is confirmed 15 s after its last acknowledgement; then the next one of its bucket goes.
constexpr int kPatienceS = 120;

// README begins
Result<std::unique_ptr<Replication>> StartReplication(Engine* engine, const std::string& host) {
  ClusterAccess access;
  access.contacts = {host};  // more than one, where there are
  // access.tls = true;      // without it a password goes only where that is allowed by name
  // access.user = "edge";
  // access.password = [] { return ReadSecureElement(); };  // asked at each connect, then wiped
  ReplicationOptions options;
  options.bytes_per_s_max = 512 << 10;  // the link has other users
  return Replication::Start(engine, access, options);  // goes on by itself, through outages too
}
// README ends

Status WriteAndSeal(Engine* engine) {
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(kReadings));
  CISTERN_ASSIGN_OR_RETURN(auto schema, engine->FindTable("plant.readings"));
  RowBatch rows(schema);
  rows.BeginRow();
  CISTERN_RETURN_IF_ERROR(rows.SetBytes(kSensor, "pump-7"));
  CISTERN_RETURN_IF_ERROR(rows.SetInt(kTime, 1'700'000'000'000));
  CISTERN_RETURN_IF_ERROR(rows.SetDouble(kCelsius, 61.5));
  CISTERN_RETURN_IF_ERROR(rows.EndRow());
  CISTERN_RETURN_IF_ERROR(engine->Append(rows).status());
  CISTERN_ASSIGN_OR_RETURN(const cistern::SealReport report,
                           engine->Seal({.due_only = false}));  // by itself: what is due
  return report.stopped;
}

// How it is; OK once nothing waits.
Status Tell(const Replication& replication) {
  const cistern::ReplicationStatus status = replication.GetStatus();
  const bool is_sent = status.phase == ReplicationPhase::kIdle ||
                       status.phase == ReplicationPhase::kCollecting;  // of what is sealed
  if (is_sent) return Status::Ok();
  if (status.phase == ReplicationPhase::kAway) return status.away;  // firmware waits for it
  if (!status.held.empty()) return status.held.front().why;
  return Status::Busy("seals are on their way");
}

Status Run(const std::string& directory, const std::string& host) {
  CISTERN_ASSIGN_OR_RETURN(auto engine, Engine::Open(directory));
  CISTERN_RETURN_IF_ERROR(WriteAndSeal(engine.get()));
  CISTERN_ASSIGN_OR_RETURN(auto replication, StartReplication(engine.get(), host));
  Status last;
  for (int second = 0; second < kPatienceS; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    last = Tell(*replication);
    if (last.code() != cistern::StatusCode::kBusy) break;  // firmware would go on
  }
  CISTERN_ASSIGN_OR_RETURN(const auto outbox, replication->GetOutbox());
  std::printf("%llu row versions confirmed, %llu wait\n",
              static_cast<unsigned long long>(outbox.versions_confirmed),
              static_cast<unsigned long long>(outbox.versions_waiting));
  replication->Stop();  // before its engine
  CISTERN_RETURN_IF_ERROR(engine->Close());
  return last;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: replicate DIRECTORY HOST[:PORT]\n");
    return 2;
  }
  const Status s = Run(argv[1], argv[2]);
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
