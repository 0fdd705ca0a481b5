// Prints what the reader of line protocol makes of standard input, one JSON array a record:
//   ["point", line, bytes, [[name, text, is quoted], ...]]
//   ["bad", line, bytes, reason]
// `bytes` is how long the record is in the input.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/line_protocol_reader.h"

int main() {
  using nlohmann::json;
  namespace tool = cistern::tool;
  auto input = tool::Input::Open("-");
  if (!input.ok()) {
    std::cerr << input.status().ToString() << "\n";
    return 1;
  }
  const auto reader = tool::NewLineProtocolReader(input->get());
  tool::Record record;
  for (;;) {
    const tool::ReadOutcome outcome = reader->Next(&record);
    if (outcome == tool::ReadOutcome::kIdle) continue;
    json out;
    if (outcome == tool::ReadOutcome::kBad) {
      out = {"bad", record.line, record.raw.size(), record.reason};
    } else if (outcome == tool::ReadOutcome::kRecord) {
      json cells = json::array();
      for (const tool::Cell& cell : record.cells) {
        cells.push_back(
            json::array({cell.name, cell.text, cell.form == tool::CellForm::kQuoted}));
      }
      out = {"point", record.line, record.raw.size(), cells};
    } else {
      return outcome == tool::ReadOutcome::kEnd ? 0 : 1;
    }
    // A reason may show bytes of the input that are not UTF-8.
    std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  }
}
