// Reads a whole text with a reader, for tests.
#ifndef CISTERN_TESTS_TOOLS_READER_TEST_UTIL_H_
#define CISTERN_TESTS_TOOLS_READER_TEST_UTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "tools/record_reader.h"

namespace cistern::tool {

// A record with everything copied out of the reader.
struct ReadRecord {
  bool bad = false;
  bool raw_continues = false;
  uint64_t line = 0;
  std::string raw;
  std::string reason;
  std::vector<std::string> names;
  std::vector<std::string> texts;
  std::vector<CellForm> forms;
};

inline std::vector<ReadRecord> ReadAll(RecordReader* reader) {
  std::vector<ReadRecord> records;
  Record record;
  for (;;) {
    const ReadOutcome outcome = reader->Next(&record);
    if (outcome != ReadOutcome::kRecord && outcome != ReadOutcome::kBad) return records;
    ReadRecord copy;
    copy.bad = outcome == ReadOutcome::kBad;
    copy.raw_continues = record.raw_continues;
    copy.line = record.line;
    copy.raw = record.raw;
    if (copy.bad) copy.reason = record.reason;
    for (const Cell& cell : record.cells) {
      copy.names.emplace_back(cell.name);
      copy.texts.emplace_back(cell.text);
      copy.forms.push_back(cell.form);
    }
    records.push_back(std::move(copy));
  }
}

}  // namespace cistern::tool

#endif  // CISTERN_TESTS_TOOLS_READER_TEST_UTIL_H_
