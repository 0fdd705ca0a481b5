// Reads pages and headers from its input with the library's reader, for readers_agree_test.py. A
// line is "page" or "header", the CREATE TABLE text and the bytes in hexadecimal, with tabs
// between. It prints a line for each: "refused", the content hash of a page, or what a header says.
#include <algorithm>
#include <iostream>
#include <string>

#include "cistern/schema.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/segment_header.h"
#include "tests/golden/golden_dictionary.h"
#include "tests/golden/segment_file.h"
#include "tests/support/hex.h"

namespace cistern::testing {
namespace {

Result<std::string> Read(const std::string& kind, const std::string& cql,
                         const std::string& bytes) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, ParseCreateTable(cql));
  if (kind == "page") {
    const GoldenDictionaries dictionaries;
    CISTERN_ASSIGN_OR_RETURN(const VersionColumns rows,
                             DecodePage(*schema, bytes, nullptr, &dictionaries));
    return std::to_string(HashVersions(*schema, rows));
  }
  CISTERN_ASSIGN_OR_RETURN(const SegmentHeader header, DecodeSegmentHeader(bytes));
  CISTERN_ASSIGN_OR_RETURN(std::string text, HeaderText(*schema, header));
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

}  // namespace
}  // namespace cistern::testing

int main() {
  std::string kind;
  std::string cql;
  std::string hex;
  while (std::getline(std::cin, kind, '\t') && std::getline(std::cin, cql, '\t') &&
         std::getline(std::cin, hex)) {
    const cistern::Result<std::string> read =
        cistern::testing::Read(kind, cql, cistern::testing::FromHex(hex));
    std::cout << (read.ok() ? *read : std::string("refused")) << '\n';
  }
  return 0;
}
