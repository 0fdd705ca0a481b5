#include "storage/push_records.h"

#include <optional>
#include <utility>

#include "cistern/limits.h"
#include "storage/record_coding.h"

namespace cistern {

using record_coding::Begin;
using record_coding::Decode;
using record_coding::PutString;
using record_coding::Sealed;

namespace {

constexpr size_t kBucketKeyBytesMax = 16 + limits::kEntityKeyBytesMax;
constexpr size_t kCharacterBytesMax = 4;  // of UTF-8

std::string_view ReadString(ByteReader* in, const char* field, size_t bytes_max) {
  return in->ReadBytes(field, in->ReadCount(field, bytes_max));
}

}  // namespace

std::string EncodePush(const PushRecord& r) {
  std::string out = Begin();
  out.push_back(static_cast<char>(r.state));
  PutVarint(&out, r.window_id);
  PutString(&out, EncodeBucketKey(r.bucket));
  PutVarint(&out, r.version_count);
  if (r.state == PushState::kPushing) {
    PutString(&out, r.position);
    return Sealed(std::move(out));
  }
  PutSigned(&out, r.parked_us);
  PutVarint(&out, r.attempts);
  PutSigned(&out, r.error_code);
  PutString(&out, r.words);
  return Sealed(std::move(out));
}

Result<PushRecord> DecodePush(std::string_view bytes) {
  return Decode<PushRecord>(bytes, "push record", [](ByteReader* in, PushRecord* r) {
    r->state = static_cast<PushState>(in->ReadU8("state"));
    if (r->state != PushState::kPushing && r->state != PushState::kParked) {
      in->Fail("state", "is not known");
    }
    r->window_id = in->ReadVarint("window");
    std::optional<BucketKey> bucket = DecodeBucketKey(ReadString(in, "bucket", kBucketKeyBytesMax));
    if (in->ok() && !bucket) in->Fail("bucket", "is not a bucket key");
    if (bucket) r->bucket = *std::move(bucket);
    r->version_count = in->ReadVarint("versions");
    if (r->state == PushState::kPushing) {
      r->position = ReadString(in, "position", limits::kPushPositionBytesMax);
      return;
    }
    r->parked_us = in->ReadSigned("parked since");
    r->attempts = static_cast<uint32_t>(in->ReadCount("attempts", UINT32_MAX));
    const int64_t error_code = in->ReadSigned("error code");
    r->error_code = static_cast<int32_t>(error_code);
    if (r->error_code != error_code) in->Fail("error code", "is beyond its limit");
    r->words = ReadString(in, "words", limits::kParkedWordsBytesMax);
  });
}

// What is not UTF-8 is cut at the limit.
std::string_view KeptWords(std::string_view words) {
  if (words.size() <= limits::kParkedWordsBytesMax) return words;
  size_t end = limits::kParkedWordsBytesMax;
  const auto continues = [&](size_t at) {
    return (static_cast<uint8_t>(words[at]) & 0xc0) == 0x80;
  };
  while (continues(end) && limits::kParkedWordsBytesMax - end < kCharacterBytesMax - 1) --end;
  return words.substr(0, continues(end) ? limits::kParkedWordsBytesMax : end);
}

}  // namespace cistern
