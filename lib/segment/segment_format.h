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

// First byte of each value: what it is in the high half, its format in the low half. Both formats
// are frozen: nothing is added to them. 0 was written before that, and is not read.
inline constexpr uint8_t kPageTag = 0xA0;
inline constexpr uint8_t kHeaderTag = 0xB0;
inline constexpr uint8_t kDictionaryTag = 0xC0;
inline constexpr uint8_t kFormat = 1;
inline constexpr uint8_t kFormatOfDictionaries = 2;  // of these, and of pages that name one
inline constexpr uint8_t kFormatMax = 2;
[[nodiscard]] inline uint8_t FormatOf(std::string_view bytes) {
  return static_cast<uint8_t>(bytes[0]) & 0x0F;
}

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

// Statistics flags; the other bits are zero.
inline constexpr uint8_t kStatisticsExpires = 1;
inline constexpr uint8_t kStatisticsUnmarked = 2;  // a row exists by its values alone
inline constexpr uint8_t kStatisticsFlagsKnown = 3;

// Descriptor of a column's statistics: form in bits 0..1, the other known bits as named.
enum class StatisticsForm : uint8_t { kCount = 0, kIntegers = 1, kDecimals = 2, kBits = 3 };
inline constexpr uint8_t kStatisticsFormMask = 3;
inline constexpr uint8_t kStatisticsSomeMissing = 4;  // the count of values follows
inline constexpr uint8_t kStatisticsAllEqual = 8;     // min is max, first and last too
inline constexpr uint8_t kStatisticsHasSum = 16;
inline constexpr uint8_t kStatisticsSpecialSum = 32;  // NaN or infinite; with kStatisticsHasSum
inline constexpr uint8_t kStatisticsKnown = 63;

// Pages of fewer rows have none: what they tell of a column takes about 15 bytes.
inline constexpr size_t kStatisticsRowsMin = 128;
// Of all pages of a header together; pages beyond it have none. A header is read as a whole.
inline constexpr size_t kStatisticsBytesMax = 1024 * 1024;

inline constexpr size_t kChecksumBytes = 8;

// Cell bytes and 8 bytes for each number that one page may hold, so that an encoded page
// stays below kPageBytesMax whatever its values.
inline constexpr size_t kPageRawBytesMax = limits::kPageBytesMax - 1024 * 1024;

// Appends the XXH3 of everything in *bytes.
void AppendChecksum(std::string* bytes);

// Checks size, checksum, tag and format of a whole value, in this order; gives the bytes
// between the first one and the checksum. kTooNew: a later format; kCorruption: anything else.
// `what` names the value in errors.
[[nodiscard]] Result<std::string_view> CheckEnvelope(std::string_view bytes, uint8_t tag,
                                                     const char* what);

}  // namespace cistern::segment_format

#endif  // CISTERN_SEGMENT_SEGMENT_FORMAT_H_
