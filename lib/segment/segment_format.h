// Constants of the segment format. The bytes are specified in FORMAT.md; both change
// together.
#ifndef CISTERN_SEGMENT_SEGMENT_FORMAT_H_
#define CISTERN_SEGMENT_SEGMENT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/limits.h"
#include "cistern/result.h"

namespace cistern::segment_format {

// First byte of each value: what it is in the high half, its format in the low half.
inline constexpr uint8_t kPageTag = 0xA0;
inline constexpr uint8_t kHeaderTag = 0xB0;
inline constexpr uint8_t kFormat = 0;

// Page flags; the other bits are zero.
inline constexpr uint8_t kPageHasBoot = 1;
inline constexpr uint8_t kPageHasExpiry = 2;
inline constexpr uint8_t kPageExpiryFromWrite = 4;   // expiry less the second of the write
inline constexpr uint8_t kPageWriteFromEvent = 8;    // write_us less the event time
inline constexpr uint8_t kPageVersionFlagsVary = 16;
inline constexpr uint8_t kPageFlagsKnown = 31;

// Column descriptor: encoding in bits 0..4, cell states in bits 5..6, bit 7 zero.
inline constexpr uint8_t kEncodingMask = 31;
inline constexpr unsigned kStatesShift = 5;
enum class PageStates : uint8_t { kAllValues = 0, kMixed = 1, kAllAbsent = 2, kAllNull = 3 };

inline constexpr size_t kChecksumBytes = 8;

// Cell bytes and 8 bytes for each number that one page may hold, so that an encoded page
// stays below kPageBytesMax whatever its values.
inline constexpr size_t kPageRawBytesMax = limits::kPageBytesMax - 1024 * 1024;

// Appends the XXH3 of everything in *bytes.
void AppendChecksum(std::string* bytes);

// Checks size, checksum, tag and format of a whole value, in this order; gives the bytes
// between the first one and the checksum. `what` names the value in errors.
[[nodiscard]] Result<std::string_view> CheckEnvelope(std::string_view bytes, uint8_t tag,
                                                     const char* what);

}  // namespace cistern::segment_format

#endif  // CISTERN_SEGMENT_SEGMENT_FORMAT_H_
