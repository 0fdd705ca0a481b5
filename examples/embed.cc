// The whole of embedding: declare a table, append a row, read it back.
//
//   embed DIRECTORY
//
// README.md shows the part between the marks; tests compile and run this file against an
// installed Cistern, shared and static.
#include <cistern/cistern.h>

#include <cstdio>

namespace {

using cistern::Engine, cistern::EntityFromText, cistern::ResultBatch, cistern::RowBatch;
using cistern::Status;

// The cluster's own text; the comment says how the day derives from the event time.
constexpr char kReadings[] =
    "CREATE TABLE readings (sensor text, day date, ts timestamp, celsius double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day' "
    "AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS', "
    "'compaction_window_size': '30'}";
constexpr size_t kSensor = 0, kTime = 2, kCelsius = 3;  // columns by their place

// README begins
Status LogAndReadBack(const std::string& directory, int64_t now_ms) {
  CISTERN_ASSIGN_OR_RETURN(auto engine, Engine::Open(directory));  // makes one if there is none
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(kReadings));  // the cluster's CREATE TABLE text
  CISTERN_ASSIGN_OR_RETURN(auto schema, engine->FindTable("readings"));
  RowBatch rows(schema);
  rows.BeginRow();
  CISTERN_RETURN_IF_ERROR(rows.SetBytes(kSensor, "pump-7"));
  CISTERN_RETURN_IF_ERROR(rows.SetInt(kTime, now_ms));  // the bucket derives from it
  CISTERN_RETURN_IF_ERROR(rows.SetDouble(kCelsius, 61.5));
  CISTERN_RETURN_IF_ERROR(rows.EndRow());
  CISTERN_RETURN_IF_ERROR(engine->Append(rows).status());  // on the device when it answers
  CISTERN_ASSIGN_OR_RETURN(auto pump, EntityFromText(*schema, {{"pump-7"}}));
  CISTERN_ASSIGN_OR_RETURN(auto cursor, engine->Scan({.table = "readings", .entity = pump,
                                                      .from = now_ms, .to = now_ms + 1000}));
  for (ResultBatch batch; cursor->Next(&batch);) {
    std::printf("%.1f degrees\n", batch.columns[kCelsius].AsDouble(0));
  }
  return cursor->status();
}
// README ends

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed DIRECTORY\n");
    return 2;
  }
  const Status s = LogAndReadBack(argv[1], 1'700'000'000'000);
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
