// PushRecord: what is remembered of a seal in the outbox beside that it waits. Bytes: KEYSPACE.md.
#ifndef CISTERN_STORAGE_PUSH_RECORDS_H_
#define CISTERN_STORAGE_PUSH_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "storage/keyspace.h"

namespace cistern {

enum class PushState : uint8_t {
  kPushing = 1,  // a part of it was sent
  kParked = 2,   // upstream refused it: it waits for somebody to look
};

struct PushRecord {
  PushState state = PushState::kPushing;
  uint64_t window_id = 0;  // whose outbox has the seal
  BucketKey bucket;
  uint64_t version_count = 0;  // of its manifest
  // Of kPushing: where to go on, in the replicator's own bytes.
  std::string position;  // at most limits::kPushPositionBytesMax
  // Of kParked:
  int64_t parked_us = 0;  // since when, by the trusted clock
  uint32_t attempts = 0;
  int32_t error_code = 0;  // the server's; 0: none
  std::string words;       // why, as KeptWords() leaves them
  friend bool operator==(const PushRecord&, const PushRecord&) = default;
};

// Fields of the other state are not stored. REQUIRES: position and words are within their limits.
[[nodiscard]] std::string EncodePush(const PushRecord& r);
[[nodiscard]] Result<PushRecord> DecodePush(std::string_view bytes);

// The beginning of what a server said, at most limits::kParkedWordsBytesMax; no character of UTF-8
// is cut in two.
[[nodiscard]] std::string_view KeptWords(std::string_view words);

}  // namespace cistern

#endif  // CISTERN_STORAGE_PUSH_RECORDS_H_
