// DictionaryCache: the trained dictionaries that were read last, ready for use.
#ifndef CISTERN_STORAGE_DICTIONARY_CACHE_H_
#define CISTERN_STORAGE_DICTIONARY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "lib/codec/zstd_dictionary.h"

namespace cistern {

// By number: one is never used twice in a store, and copies under one number are the same. Making
// one ready takes about as long as decoding a page of 60 rows. Thread-safe.
class DictionaryCache {
 public:
  // Null: it is not there.
  [[nodiscard]] std::shared_ptr<const ZstdDictionary> Find(uint64_t number);
  // Those that were asked for longest ago make room.
  void Add(NumberedDictionary dictionary);

  // Heap that it holds at most.
  static constexpr size_t kBytesMax = 512 * 1024;

 private:
  std::mutex mutex_;
  std::list<NumberedDictionary> last_used_first_;
  size_t byte_count_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_DICTIONARY_CACHE_H_
