// Keys of the store, byte by byte. See KEYSPACE.md, which says what each holds.
#ifndef CISTERN_STORAGE_KEYSPACE_H_
#define CISTERN_STORAGE_KEYSPACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cistern {

// Names one bucket: a Cassandra partition. Orders by table, entity, time, split.
struct BucketKey {
  uint32_t table_id = 0;
  std::string entity;
  int64_t start_s = 0;  // start of the bucket, seconds since 1970
  uint32_t split = 0;
  friend bool operator==(const BucketKey&, const BucketKey&) = default;
};

// Segments are numbered rotation sequence << kSegmentIndexBits | index.
inline constexpr int kSegmentIndexBits = 24;
inline constexpr uint64_t kSegmentIndexMask = (uint64_t{1} << kSegmentIndexBits) - 1;
inline constexpr uint64_t RotationOf(uint64_t segment_id) {
  return segment_id >> kSegmentIndexBits;
}

[[nodiscard]] std::string EncodeBucketKey(const BucketKey& key);
[[nodiscard]] std::optional<BucketKey> DecodeBucketKey(std::string_view bytes);

// Spill families. Every key begins with its rotation, so each rotation's SST has a key
// range of its own.
[[nodiscard]] std::string HeaderKey(uint64_t rotation, const BucketKey& key);
[[nodiscard]] std::string HeaderKeyFrom(uint64_t rotation, std::string_view bucket_key_bytes);
[[nodiscard]] std::string HeadersEnd(uint64_t rotation);  // behind every header of it
[[nodiscard]] std::string PageKey(uint64_t segment_id, uint32_t page);
// A window's trained dictionaries, numbered as segments are and none of them. Each stands there
// twice, as copies 0 and 1: before the pages of its round, and behind them, so that what a device
// loses of a file is seldom both.
inline constexpr uint8_t kDictionaryCopies = 2;
[[nodiscard]] std::string DictionaryKey(uint64_t number, uint8_t copy);
// Whether the key, or what begins with it, is such a one.
[[nodiscard]] bool IsDictionaryKey(std::string_view key);
// What a rotation or seal round has written, as the last key of its file: RocksDB keeps the
// first and last key of every file in its MANIFEST, so this is known of a file that is gone.
struct RotationExtent {
  uint64_t rotation = 0;
  uint64_t version_count = 0;  // deletes included
  uint32_t table_first = UINT32_MAX;
  uint32_t table_last = 0;
  int64_t start_first_s = INT64_MAX;  // of its buckets
  int64_t start_last_s = INT64_MIN;
};
[[nodiscard]] std::string ExtentKey(const RotationExtent& extent);
// Nothing for other keys.
[[nodiscard]] std::optional<RotationExtent> ParseExtentKey(std::string_view key);
// The bucket of a header key; nothing for other keys.
[[nodiscard]] std::optional<BucketKey> ParseHeaderKey(std::string_view key);
// What all bucket keys of a table begin with.
[[nodiscard]] std::string TablePrefix(uint32_t table_id);
// What all bucket keys of an entity begin with.
[[nodiscard]] std::string EntityPrefix(uint32_t table_id, std::string_view entity);

// Journal families.
[[nodiscard]] std::string JournalKey(uint64_t sequence);
[[nodiscard]] std::optional<uint64_t> ParseJournalKey(std::string_view key);

// The meta family.
inline constexpr std::string_view kStateKey = "A";
// The versions of a table, oldest first.
[[nodiscard]] std::string TableKey(uint32_t table_id, uint32_t schema_version = 0);
[[nodiscard]] std::string BootKey(uint32_t boot);
[[nodiscard]] std::string SpillKey(uint64_t family_id);
[[nodiscard]] std::string WindowKey(uint64_t window_id);
// Manifests: by window, then bucket, then seal. `bucket_key_bytes` may be a prefix.
[[nodiscard]] std::string ManifestKeyFrom(uint64_t window_id, std::string_view bucket_key_bytes);
[[nodiscard]] std::string ManifestKey(uint64_t window_id, const BucketKey& bucket, uint64_t seal);
// The outbox: by window, then seal.
[[nodiscard]] std::string OutboxKey(uint64_t window_id, uint64_t seal);
[[nodiscard]] std::string OutboxKeyFrom(uint64_t window_id);
// What is remembered of pushes: by seal.
inline constexpr std::string_view kPushKeyPrefix = "P";
[[nodiscard]] std::string PushKey(uint64_t seal);
// The seal of such a key; nothing for other keys.
[[nodiscard]] std::optional<uint64_t> ParsePushKey(std::string_view key);
// What a manifest key names; nothing for other keys.
struct ManifestName {
  uint64_t window_id = 0;
  BucketKey bucket;
  uint64_t seal = 0;
};
[[nodiscard]] std::optional<ManifestName> ParseManifestKey(std::string_view key);

}  // namespace cistern

#endif  // CISTERN_STORAGE_KEYSPACE_H_
