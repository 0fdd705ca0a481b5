// Sealing one bucket: its segments written as one, and read back. In steps, as a bucket may
// have millions of rows.
#ifndef CISTERN_ENGINE_SEAL_BUCKET_SEAL_H_
#define CISTERN_ENGINE_SEAL_BUCKET_SEAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/seal/seal_dictionaries.h"
#include "storage/bucket_merge.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/table_set.h"
#include "storage/window_dictionaries.h"

namespace cistern {

// Merges the open segments of a bucket into one of the writer. One thread.
class BucketSeal {
 public:
  // The segment begins here; `writer` is used for nothing else until Step() has ended it. Without
  // `dictionaries` no page names one. `on_damage` is BucketMerge's.
  BucketSeal(TablePtr table, BucketKey key, std::vector<SegmentRef> segments,
             std::shared_ptr<const BootBases> bases, SealDictionaries* dictionaries,
             SpillWriter* writer, OnDamagedPage on_damage = {});
  // For the manifest, before the segment ends: storage/seal_records.h.
  void NameRotations(std::optional<SequenceIntervals> rotations) {
    bucket_.manifest.rotations = std::move(rotations);
  }
  // The bucket's earlier seals, before the first Step(): BucketMerge::CompareWith.
  void CompareWith(std::vector<SegmentRef> sealed) { merge_.CompareWith(std::move(sealed)); }
  // Writes about a page; false: the segment has ended. Where all that it would have is damaged and
  // passed over there is none, and the manifest counts no version. Damage is that of what is read.
  [[nodiscard]] Result<bool> Step();

  [[nodiscard]] const SealCommit::Bucket& bucket() const { return bucket_; }
  // Rows that it holds decoded.
  [[nodiscard]] size_t MemoryBytes() const { return merge_.MemoryBytes() + rows_.MemoryBytes(); }
  // Versions that were read, deletes included, by spill family.
  [[nodiscard]] const std::map<uint64_t, uint64_t>& versions_read() const {
    return merge_.versions_read();
  }
  [[nodiscard]] uint64_t repeats() const { return merge_.repeats(); }

 private:
  [[nodiscard]] Status End();

  const TablePtr table_;
  BucketMerge merge_;
  SealDictionaries* const dictionaries_;
  SpillWriter* const writer_;
  VersionColumns rows_;
  SealCommit::Bucket bucket_;
};

// Compares what the device gives back with what was meant. One thread.
class SealCheck {
 public:
  // No page may name a dictionary that is none of `known`, which outlives this.
  SealCheck(TablePtr table, SegmentRef segment, const Manifest& manifest,
            const std::vector<WindowDictionary>* known)
      : table_(std::move(table)),
        segment_(std::move(segment)),
        manifest_(manifest),
        dictionaries_(*segment_.family, known) {}
  // Reads a page; false: that was the last, and all is as it should be. kCorruption otherwise.
  [[nodiscard]] Result<bool> Step();

 private:
  const TablePtr table_;
  const SegmentRef segment_;
  const Manifest manifest_;
  const WindowDictionaries dictionaries_;
  uint32_t next_page_ = 0;
  uint64_t rows_found_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_BUCKET_SEAL_H_
