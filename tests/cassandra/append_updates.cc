// append_updates STORE: rows of table `marks` that were never inserted, only updated, beside
// inserted ones; the tool's input has no updates. markerless_test.py says what they come to.
#include <cistern/cistern.h>

#include <cstdio>
#include <string>

namespace {

using cistern::Engine, cistern::RowBatch, cistern::RowKind, cistern::Status;

constexpr size_t kSensor = 0, kTime = 2, kA = 3, kB = 4;  // columns by their place
constexpr int64_t kFirstMs = 1'705'276'800'000;           // 2024-01-15
constexpr int64_t kRows = 60;
constexpr uint32_t kShortTtlS = 1, kLongTtlS = 86'400;

// Row n is an update unless n is a multiple of 3; has `a` alone unless a multiple of 2; `a` lives
// for a second where n is a multiple of 5 and for a day where it is one of 7.
Status AddRow(int64_t n, RowBatch* rows) {
  rows->BeginRow(n % 3 == 0 ? RowKind::kInsert : RowKind::kUpdate);
  CISTERN_RETURN_IF_ERROR(rows->SetBytes(kSensor, "s"));
  CISTERN_RETURN_IF_ERROR(rows->SetInt(kTime, kFirstMs + n * 1000));
  CISTERN_RETURN_IF_ERROR(rows->SetInt(kA, n));
  if (n % 2 == 0) CISTERN_RETURN_IF_ERROR(rows->SetBytes(kB, "b" + std::to_string(n)));
  if (n % 5 == 0) {
    CISTERN_RETURN_IF_ERROR(rows->SetTtl(kShortTtlS));
  } else if (n % 7 == 0) {
    CISTERN_RETURN_IF_ERROR(rows->SetTtl(kLongTtlS));
  }
  return rows->EndRow();
}

// Of rows that are there for a second: `b` of every tenth, which stays.
Status AddLasting(int64_t n, RowBatch* rows) {
  rows->BeginRow(RowKind::kUpdate);
  CISTERN_RETURN_IF_ERROR(rows->SetBytes(kSensor, "s"));
  CISTERN_RETURN_IF_ERROR(rows->SetInt(kTime, kFirstMs + n * 1000));
  CISTERN_RETURN_IF_ERROR(rows->SetBytes(kB, "stays"));
  return rows->EndRow();
}

Status Append(const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(auto engine, Engine::Open(directory));
  CISTERN_ASSIGN_OR_RETURN(auto schema, engine->FindTable("marks"));
  RowBatch rows(schema);
  for (int64_t n = 0; n < kRows; ++n) CISTERN_RETURN_IF_ERROR(AddRow(n, &rows));
  CISTERN_RETURN_IF_ERROR(engine->Append(rows).status());
  RowBatch lasting(schema);
  for (int64_t n = 5; n < kRows; n += 10) CISTERN_RETURN_IF_ERROR(AddLasting(n, &lasting));
  CISTERN_RETURN_IF_ERROR(engine->Append(lasting).status());
  return engine->Close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: append_updates STORE\n");
    return 2;
  }
  const Status s = Append(argv[1]);
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
