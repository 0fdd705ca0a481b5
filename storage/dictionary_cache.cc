#include "storage/dictionary_cache.h"

#include <algorithm>
#include <utility>

namespace cistern {

std::shared_ptr<const ZstdDictionary> DictionaryCache::Find(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(last_used_first_.begin(), last_used_first_.end(),
                   [number](const NumberedDictionary& d) { return d.number == number; });
  if (found == last_used_first_.end()) return nullptr;
  last_used_first_.splice(last_used_first_.begin(), last_used_first_, found);
  return found->dictionary;
}

void DictionaryCache::Add(NumberedDictionary dictionary) {
  const std::lock_guard lock(mutex_);
  std::erase_if(last_used_first_, [&](const NumberedDictionary& d) {
    const bool is_same = d.number == dictionary.number;  // two readers met
    if (is_same) byte_count_ -= d.dictionary->ReaderBytes();
    return is_same;
  });
  byte_count_ += dictionary.dictionary->ReaderBytes();
  last_used_first_.push_front(std::move(dictionary));
  while (byte_count_ > kBytesMax) {
    byte_count_ -= last_used_first_.back().dictionary->ReaderBytes();
    last_used_first_.pop_back();
  }
}

}  // namespace cistern
