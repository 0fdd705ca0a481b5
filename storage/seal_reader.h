// Reading sealed buckets: manifests in meta, segments in windows.
#ifndef CISTERN_STORAGE_SEAL_READER_H_
#define CISTERN_STORAGE_SEAL_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/seal_cover.h"
#include "storage/spill_reader.h"

namespace cistern {

// An iterator over `meta` as it is now: manifests of rounds that the view does not have are
// to be passed over.
[[nodiscard]] std::unique_ptr<rocksdb::Iterator> NewManifestIterator(const SpillView& view);

// One seal of a bucket.
struct SealOfBucket {
  std::shared_ptr<const WindowFamily> window;
  Result<Manifest> manifest;  // kCorruption, kTooNew: it cannot be read
};
// The seals of the bucket in live windows, by their numbers.
[[nodiscard]] Result<std::map<uint64_t, SealOfBucket>> ListSeals(const SpillView& view,
                                                                 const BucketKey& bucket);

// The segments of the bucket's seals, oldest first. kCorruption names what is missing, unless
// there is a place for it. `cover`, where wanted: with those seals added.
[[nodiscard]] Result<std::vector<SegmentRef>> ListSealed(
    const SpillView& view, const BucketKey& bucket, std::vector<DamagedSegment>* damaged = nullptr,
    SealCover* cover = nullptr);

// Answers what of buckets is sealed. Holds one iterator over the manifests, made for the first
// question. One thread.
class SealCovers {
 public:
  explicit SealCovers(std::shared_ptr<const SpillView> view);
  ~SealCovers();
  // By all seals of the bucket, in windows that have ended too.
  [[nodiscard]] Result<SealCover> Of(const BucketKey& bucket);

 private:
  const std::shared_ptr<const SpillView> view_;
  std::unique_ptr<rocksdb::Iterator> manifests_;
};

// The manifest of a seal in the window. kNotFound: there is none. kCorruption, kTooNew: it cannot
// be read.
[[nodiscard]] Result<Manifest> ReadManifest(const FamilyPtr& meta, uint64_t window_id,
                                            const BucketKey& bucket, uint64_t seal);

// Whether a seal of the bucket is in the window.
[[nodiscard]] Result<bool> IsSealedIn(const SpillView& view, uint64_t window_id,
                                      const BucketKey& bucket);

// Adds the bucket's seals in windows that have ended.
[[nodiscard]] Status AddEndedSeals(const SpillView& view, const BucketKey& bucket,
                                   SealCover* cover);

// "seal 17 in window 3", for messages.
[[nodiscard]] std::string NameOfSeal(const SegmentFamily& window, uint64_t seal);
// The segment of a seal from what its header key has; nothing: it is not there.
[[nodiscard]] Result<SegmentRef> MakeSealedRef(const std::shared_ptr<const SegmentFamily>& window,
                                               uint64_t seal,
                                               std::optional<std::string_view> value);
// A bucket's segment that a seal wrote, whether or not its manifest counts yet.
[[nodiscard]] Result<SegmentRef> ReadSealedSegment(
    const std::shared_ptr<const SegmentFamily>& window, const BucketKey& bucket, uint64_t seal);

// Walks over every manifest in the order of bucket keys, then seals, over all windows. Holds
// an iterator for each window. One thread.
class ManifestWalker {
 public:
  // Begins at the first bucket whose key bytes are >= `from`.
  ManifestWalker(std::shared_ptr<const SpillView> view, std::string_view from);
  ~ManifestWalker();
  struct Item {
    std::shared_ptr<const WindowFamily> window;
    BucketKey bucket;
    uint64_t seal = 0;
    Manifest manifest;
  };
  // The next manifest; nothing at the end. kCorruption names the damaged one.
  [[nodiscard]] Result<std::optional<Item>> Next();

 private:
  struct Lane {
    std::shared_ptr<const WindowFamily> window;
    std::string prefix;
    std::unique_ptr<rocksdb::Iterator> iterator;
  };
  [[nodiscard]] static bool Later(const Lane* a, const Lane* b);
  [[nodiscard]] Result<bool> IsOver(const Lane& lane) const;
  [[nodiscard]] Result<std::optional<Item>> NextOfAll();

  const std::shared_ptr<const SpillView> view_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> heap_;  // least bucket key and seal first
  Status status_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEAL_READER_H_
