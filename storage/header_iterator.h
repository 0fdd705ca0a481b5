// Reading segment headers: bounded, so that no page is touched beside them; and what writes
// them apart from pages.
#ifndef CISTERN_STORAGE_HEADER_ITERATOR_H_
#define CISTERN_STORAGE_HEADER_ITERATOR_H_

#include <rocksdb/flush_block_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "storage/spill_set.h"

namespace cistern {

// What every key of a family of segments begins with; 0 for shorter ones.
[[nodiscard]] uint64_t RotationOfKey(std::string_view key);

// An iterator over the headers of one rotation, that of the header key that was sought last: it
// is not Valid() beside them. One without bounds is led by RocksDB behind the last header to the
// first page, or before the first one to the last page of the rotation before, and fails where
// that is damaged. May be sought any number of times.
[[nodiscard]] std::unique_ptr<rocksdb::Iterator> NewHeaderIterator(const SegmentFamily& family,
                                                                   bool fill_cache);
// The same over what else makes iterators.
using IteratorSource = std::function<rocksdb::Iterator*(const rocksdb::ReadOptions&)>;
[[nodiscard]] std::unique_ptr<rocksdb::Iterator> NewHeaderIterator(const IteratorSource& source,
                                                                   bool fill_cache);

// Headers and pages are in blocks of their own, as a damaged block is lost as a whole: a page
// does not take along the headers of its rotation, without which the file is nothing. So is each
// copy of a dictionary: they would be lost together, and compress to one.
[[nodiscard]] std::shared_ptr<rocksdb::FlushBlockPolicyFactory> HeadersApart();

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEADER_ITERATOR_H_
