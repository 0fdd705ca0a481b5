// Trained dictionaries: what the texts of a column have in common, told once instead of in each
// page. RFC 8878, section 5: tables of entropy and up to 64 KiB of content.
#ifndef CISTERN_CODEC_ZSTD_DICTIONARY_H_
#define CISTERN_CODEC_ZSTD_DICTIONARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "lib/base/coding.h"

namespace cistern {

// A dictionary, ready for use. Immutable; any number of threads at a time.
class ZstdDictionary {
 public:
  // kCorruption: the bytes are not a dictionary of zstd, or more than limits::kDictionaryBytesMax.
  // kOutOfMemory.
  [[nodiscard]] static Result<std::shared_ptr<const ZstdDictionary>> Make(std::string bytes);
  ~ZstdDictionary();
  ZstdDictionary(const ZstdDictionary&) = delete;
  ZstdDictionary& operator=(const ZstdDictionary&) = delete;

  [[nodiscard]] const std::string& bytes() const;
  // Heap that it holds; with what compressing adds to it.
  [[nodiscard]] size_t ReaderBytes() const;
  [[nodiscard]] size_t WriterBytes() const;

  // As ZstdCompress and ZstdDecompress (zstd_codec.h), with the dictionary; its number is nowhere
  // in the frame.
  [[nodiscard]] std::string Compress(std::string_view raw, size_t byte_count_max) const;
  void Decompress(std::string_view frame, size_t raw_byte_count, const char* field, ByteReader* in,
                  std::string* out) const;

 private:
  struct Tables;
  explicit ZstdDictionary(std::unique_ptr<Tables> tables);
  const std::unique_ptr<Tables> tables_;
};

// One under the number by which pages name it.
struct NumberedDictionary {
  uint64_t number = 0;
  std::shared_ptr<const ZstdDictionary> dictionary;  // null: none
};

// Where a reader of pages finds the dictionaries that they name. Thread rules are those of who
// implements it.
class DictionarySource {
 public:
  virtual ~DictionarySource() = default;
  // kCorruption: it is damaged, or not there.
  [[nodiscard]] virtual Result<std::shared_ptr<const ZstdDictionary>> Find(
      uint64_t number) const = 0;
};

// Heap of a dictionary that Train made, with what compressing adds to it, about.
inline constexpr size_t kDictionaryMemoryBytes = 272 * 1024;

// Transient heap of Train.
inline constexpr size_t kTrainingBytes = 12 << 20;

// A dictionary for what is like the samples: sizes.size() texts, one behind another. Empty if
// there are too few, or nothing in common. 20 to 50 ms of a desktop's CPU for 128 KiB.
[[nodiscard]] std::string TrainDictionary(std::string_view samples, std::span<const size_t> sizes);

}  // namespace cistern

#endif  // CISTERN_CODEC_ZSTD_DICTIONARY_H_
