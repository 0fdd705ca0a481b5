// Internet addresses as text, without asking the system.
#ifndef CISTERN_CQL_INET_TEXT_H_
#define CISTERN_CQL_INET_TEXT_H_

#include <string>
#include <string_view>

namespace cistern {

// Replaces *out by the 4 bytes of "192.168.0.1" or the 16 of "2001:db8::1"; false if the
// text is neither.
[[nodiscard]] bool ParseInetText(std::string_view text, std::string* out);

// Appends the address; IPv6 as RFC 5952 recommends. REQUIRES: 4 or 16 bytes.
void FormatInetText(std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_INET_TEXT_H_
