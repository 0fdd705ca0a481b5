#include "storage/window_dictionaries.h"

#include <algorithm>
#include <string>

#include "lib/base/concat.h"
#include "lib/segment/dictionary_value.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"

namespace cistern {

Result<std::shared_ptr<const ZstdDictionary>> ReadDictionaryCopy(const SegmentFamily& window,
                                                                 uint64_t number, uint8_t copy) {
  const std::string name = Concat({"copy ", copy, " of dictionary ", number, " in ",
      window.Name()});
  std::string value;
  const rocksdb::Status s =
      window.family->db()->Get(rocksdb::ReadOptions(), window.family->handle(),
                               DictionaryKey(number, copy), &value);
  if (s.IsNotFound()) return Status::Corruption(Concat({name, " is missing"}));
  if (!s.ok()) return ToReadStatus(s, name);
  auto dictionary = DecodeDictionary(number, value);
  if (dictionary.ok()) return dictionary;
  return Status(dictionary.status().code(), Concat({name, ": ", dictionary.status().message()}));
}

Result<std::shared_ptr<const ZstdDictionary>> ReadDictionary(const SegmentFamily& window,
                                                             uint64_t number) {
  static_assert(kDictionaryCopies == 2);
  auto first = ReadDictionaryCopy(window, number, 0);
  if (first.ok()) return first;
  auto second = ReadDictionaryCopy(window, number, 1);
  if (second.ok()) return second;
  // What may pass is not damage.
  const bool may_pass = first.status().code() == StatusCode::kCorruption;
  return Status(may_pass ? second.status().code() : first.status().code(), Concat({
      first.status().message(), "; ", second.status().message()}));
}

Result<std::shared_ptr<const ZstdDictionary>> WindowDictionaries::Find(uint64_t number) const {
  const auto is_it = [number](const WindowDictionary& d) { return d.number == number; };
  if (known_ != nullptr && std::none_of(known_->begin(), known_->end(), is_it)) {
    return Status::Corruption(Concat({"dictionary ", number, " is not one of ", window_.Name()}));
  }
  DictionaryCache& cache = window_.family->dictionaries();
  if (auto cached = cache.Find(number)) return cached;
  CISTERN_ASSIGN_OR_RETURN(auto dictionary, ReadDictionary(window_, number));
  cache.Add({number, dictionary});
  return dictionary;
}

}  // namespace cistern
