// LineProtocolReader: InfluxDB's line protocol, one point after another.
//
// The rules are those of the grammar line-protocol.ebnf and the corpus in InfluxData's repository
// github.com/influxdata/line-protocol, and of the page "Line protocol reference" in
// docs.influxdata.com. Here they are in short:
//
//   point        measurement {,tag} spaces field {,field} [spaces timestamp] {space}
//   tag          name=value, neither of them empty
//   field        name=VALUE
//
// 1. Spaces may stand before a point. A line of spaces alone is skipped, and so is a comment: a
//    line whose first other character is `#`. A control character in a comment, other than a tab,
//    is an error: a bare CR may hide lines.
// 2. A point ends with LF, with CR LF or with the input. A line end within a quoted string belongs
//    to the string, so one point may have several lines.
// 3. Measurements, names and tag values hold no control character (0x00 to 0x1F, 0x7F), no bare
//    space and no bare comma. Names and tag values hold no bare `=`. A measurement may hold one.
// 4. A backslash takes the character after it where that would end the word: a comma and a space
//    in measurements, and `=` as well in names and tag values. Any other backslash is itself, and
//    two of them are two. A word can therefore not end in a backslash: `drive=C:\,ok=true` is the
//    value `C:,ok` with a bare `=` behind it, which is an error.
// 5. A string is in double quotes. Its escapes are `\"` and `\\` alone. Every other character is
//    itself: `\n` is two characters, as the InfluxDB servers have it.
// 6. A boolean is t, T, true, True, TRUE, f, F, false, False or FALSE.
// 7. An integer is [-]digits with `i` behind, in 64 bits. An unsigned one is digits with `u`.
// 8. A float is [-]digits[.[digits]] or [-].digits, with an exponent or without, not beyond a
//    double. There is no plus sign, NaN or infinity. A word without quotes is no value.
// 9. A timestamp is [-]digits, in 64 bits.
//
// Three more rules are this tool's own. A point, all its lines together, is at most kLineBytesMax
// long. A NUL byte, and bytes that are not UTF-8, are refused anywhere but in a comment. A
// quote that is not closed within a point's length, or before the input ends, spoils the point's
// first line only: reading goes on with the next line.
#ifndef CISTERN_TOOLS_LINE_PROTOCOL_READER_H_
#define CISTERN_TOOLS_LINE_PROTOCOL_READER_H_

#include <memory>

#include "tools/record_reader.h"

namespace cistern::tool {

// Each point is a record. The measurement is the cell "measurement()", tags and fields have their
// names, the timestamp is the cell "timestamp()". Numbers come without their `i` or `u`, booleans
// as true and false, strings as kQuoted. `input` outlives the reader.
[[nodiscard]] std::unique_ptr<RecordReader> NewLineProtocolReader(Input* input);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_LINE_PROTOCOL_READER_H_
