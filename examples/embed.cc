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

// README begins
Status LogAndReadBack(const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(auto engine, Engine::Open(directory));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(
      "CREATE TABLE readings (sensor text, day date, ts timestamp, celsius double, "
      "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day'"));
  RowBatch rows(engine->FindTable("readings").value());
  rows.BeginRow();  // columns by their place in the table; the bucket column is derived
  CISTERN_RETURN_IF_ERROR(rows.SetBytes(0, "pump-7"));
  CISTERN_RETURN_IF_ERROR(rows.SetInt(2, 1'700'000'000'000));
  CISTERN_RETURN_IF_ERROR(rows.SetDouble(3, 61.5));
  CISTERN_RETURN_IF_ERROR(rows.EndRow());
  CISTERN_RETURN_IF_ERROR(engine->Append(rows).status());  // on the device when it answers

  const std::string_view pump[] = {"pump-7"};
  CISTERN_ASSIGN_OR_RETURN(auto entity, EntityFromText(*rows.schema(), pump));
  CISTERN_ASSIGN_OR_RETURN(auto cursor, engine->Scan({.table = "readings",
                                                      .entity = entity,
                                                      .from = 1'700'000'000'000,
                                                      .to = 1'700'000'060'000}));
  ResultBatch batch;
  while (cursor->Next(&batch)) std::printf("%.1f degrees\n", batch.columns[3].AsDouble(0));
  return cursor->status();
}
// README ends

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed DIRECTORY\n");
    return 2;
  }
  const Status s = LogAndReadBack(argv[1]);
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
