#include "storage/keyspace.h"

#include <algorithm>

#include "lib/base/check.h"
#include "lib/base/coding.h"

namespace cistern {

namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr char kHeaderTag = 'H';
constexpr char kPageTag = 'P';
constexpr char kDictionaryTags[kDictionaryCopies] = {'N', 'T'};  // before and behind the pages
constexpr char kExtentTag = 'Z';
constexpr char kManifestTag = 'M';

std::string Tagged(char tag, uint64_t number, size_t width) {
  std::string key(1, tag);
  for (size_t i = width; i-- > 0;) key.push_back(static_cast<char>(number >> (8 * i)));
  return key;
}

}  // namespace

std::string EncodeBucketKey(const BucketKey& key) {
  std::string out;
  out.reserve(16 + key.entity.size());
  CISTERN_CHECK(key.entity.size() <= UINT16_MAX && key.split <= UINT16_MAX);
  PutBig<uint32_t>(&out, key.table_id);
  PutBig<uint16_t>(&out, static_cast<uint16_t>(key.entity.size()));
  out.append(key.entity);
  PutBig<uint64_t>(&out, static_cast<uint64_t>(key.start_s) ^ kSignBit);
  PutBig<uint16_t>(&out, static_cast<uint16_t>(key.split));
  return out;
}

std::optional<BucketKey> DecodeBucketKey(std::string_view bytes) {
  if (bytes.size() < 16) return std::nullopt;
  BucketKey key;
  key.table_id = GetBig<uint32_t>(bytes.data());
  const size_t entity_bytes = GetBig<uint16_t>(bytes.data() + 4);
  if (bytes.size() != 16 + entity_bytes) return std::nullopt;
  key.entity = bytes.substr(6, entity_bytes);
  const char* rest = bytes.data() + 6 + entity_bytes;
  key.start_s = static_cast<int64_t>(GetBig<uint64_t>(rest) ^ kSignBit);
  key.split = GetBig<uint16_t>(rest + 8);
  return key;
}

std::string TablePrefix(uint32_t table_id) {
  std::string out;
  PutBig<uint32_t>(&out, table_id);
  return out;
}

std::string EntityPrefix(uint32_t table_id, std::string_view entity) {
  std::string out = TablePrefix(table_id);
  PutBig<uint16_t>(&out, static_cast<uint16_t>(entity.size()));
  out.append(entity);
  return out;
}

std::string HeaderKey(uint64_t rotation, const BucketKey& key) {
  return HeaderKeyFrom(rotation, EncodeBucketKey(key));
}

std::string HeaderKeyFrom(uint64_t rotation, std::string_view bucket_key_bytes) {
  std::string out;
  PutBig<uint64_t>(&out, rotation);
  out.push_back(kHeaderTag);
  out.append(bucket_key_bytes);
  return out;
}

std::string HeadersEnd(uint64_t rotation) {
  std::string out;
  PutBig<uint64_t>(&out, rotation);
  out.push_back(kHeaderTag + 1);
  return out;
}

std::string PageKey(uint64_t segment_id, uint32_t page) {
  std::string out;
  out.reserve(8 + 1 + 8 + 4);
  PutBig<uint64_t>(&out, RotationOf(segment_id));
  out.push_back(kPageTag);
  PutBig<uint64_t>(&out, segment_id);
  PutBig<uint32_t>(&out, page);
  return out;
}

std::string DictionaryKey(uint64_t number, uint8_t copy) {
  std::string out;
  out.reserve(8 + 1 + 8);
  PutBig<uint64_t>(&out, RotationOf(number));
  out.push_back(kDictionaryTags[copy]);
  PutBig<uint64_t>(&out, number);
  return out;
}

bool IsDictionaryKey(std::string_view key) {
  return key.size() > sizeof(uint64_t) &&
         std::ranges::count(kDictionaryTags, key[sizeof(uint64_t)]) > 0;
}

std::string ExtentKey(const RotationExtent& extent) {
  std::string out;
  PutBig<uint64_t>(&out, extent.rotation);
  out.push_back(kExtentTag);
  PutBig<uint64_t>(&out, extent.version_count);
  PutBig<uint32_t>(&out, extent.table_first);
  PutBig<uint32_t>(&out, extent.table_last);
  PutBig<uint64_t>(&out, static_cast<uint64_t>(extent.start_first_s) ^ kSignBit);
  PutBig<uint64_t>(&out, static_cast<uint64_t>(extent.start_last_s) ^ kSignBit);
  return out;
}

std::optional<RotationExtent> ParseExtentKey(std::string_view key) {
  constexpr size_t kBytes = 8 + 1 + 8 + 4 + 4 + 8 + 8;
  if (key.size() != kBytes || key[8] != kExtentTag) return std::nullopt;
  RotationExtent extent;
  extent.rotation = GetBig<uint64_t>(key.data());
  extent.version_count = GetBig<uint64_t>(key.data() + 9);
  extent.table_first = GetBig<uint32_t>(key.data() + 17);
  extent.table_last = GetBig<uint32_t>(key.data() + 21);
  extent.start_first_s = static_cast<int64_t>(GetBig<uint64_t>(key.data() + 25) ^ kSignBit);
  extent.start_last_s = static_cast<int64_t>(GetBig<uint64_t>(key.data() + 33) ^ kSignBit);
  return extent;
}

std::optional<BucketKey> ParseHeaderKey(std::string_view key) {
  if (key.size() < 9 || key[8] != kHeaderTag) return std::nullopt;
  return DecodeBucketKey(key.substr(9));
}

std::string JournalKey(uint64_t sequence) {
  std::string out;
  PutBig<uint64_t>(&out, sequence);
  return out;
}

std::optional<uint64_t> ParseJournalKey(std::string_view key) {
  if (key.size() != 8) return std::nullopt;
  return GetBig<uint64_t>(key.data());
}

std::string TableKey(uint32_t table_id, uint32_t schema_version) {
  std::string key = Tagged('T', table_id, 4);
  PutBig<uint32_t>(&key, schema_version);
  return key;
}
std::string BootKey(uint32_t boot) {
  return Tagged('B', boot, 4);
}
std::string SpillKey(uint64_t family_id) {
  return Tagged('S', family_id, 8);
}

std::string WindowKey(uint64_t window_id) {
  return Tagged('W', window_id, 8);
}
std::string OutboxKey(uint64_t window_id, uint64_t seal) {
  std::string key = OutboxKeyFrom(window_id);
  PutBig<uint64_t>(&key, seal);
  return key;
}

std::string OutboxKeyFrom(uint64_t window_id) {
  return Tagged('O', window_id, 8);
}

std::string PushKey(uint64_t seal) {
  return Tagged(kPushKeyPrefix[0], seal, 8);
}

std::optional<uint64_t> ParsePushKey(std::string_view key) {
  if (key.size() != 9 || !key.starts_with(kPushKeyPrefix)) return std::nullopt;
  return GetBig<uint64_t>(key.data() + 1);
}

std::string ManifestKeyFrom(uint64_t window_id, std::string_view bucket_key_bytes) {
  std::string key = Tagged(kManifestTag, window_id, 8);
  key.append(bucket_key_bytes);
  return key;
}

std::string ManifestKey(uint64_t window_id, const BucketKey& bucket, uint64_t seal) {
  std::string key = ManifestKeyFrom(window_id, EncodeBucketKey(bucket));
  PutBig<uint64_t>(&key, seal);
  return key;
}

std::optional<ManifestName> ParseManifestKey(std::string_view key) {
  constexpr size_t kFixedBytes = 1 + 8 + 8;
  if (key.size() < kFixedBytes || key[0] != kManifestTag) return std::nullopt;
  ManifestName name;
  name.window_id = GetBig<uint64_t>(key.data() + 1);
  name.seal = GetBig<uint64_t>(key.data() + key.size() - 8);
  std::optional<BucketKey> bucket = DecodeBucketKey(key.substr(9, key.size() - kFixedBytes));
  if (!bucket) return std::nullopt;
  name.bucket = *std::move(bucket);
  return name;
}

}  // namespace cistern
