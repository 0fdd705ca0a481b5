// Readable: words of a server, made safe for a terminal and a log.
#ifndef CISTERN_CQL_READABLE_H_
#define CISTERN_CQL_READABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cistern::cql {

// `words` with '?' for each control character that a terminal might obey, those of two bytes
// (U+0080 to U+009F) among them, and for each byte from 0x80 on where they are no UTF-8. Longer
// than `bytes_max`: cut there, with "..." behind.
[[nodiscard]] std::string Readable(std::string_view words, size_t bytes_max = 1024);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_READABLE_H_
