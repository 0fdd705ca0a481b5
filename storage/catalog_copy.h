// CatalogCopy: what a store needs to understand its files of rows, kept a second time beside the
// database.
#ifndef CISTERN_STORAGE_CATALOG_COPY_H_
#define CISTERN_STORAGE_CATALOG_COPY_H_

#include <rocksdb/file_system.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/status.h"
#include "storage/sequence_intervals.h"

namespace cistern {

// One seal round in a window: which of its segments count.
struct SealRound {
  uint64_t round = 0;
  SequenceIntervals indexes;  // of segments, as in their numbers
  // Manifest::rotations of those seals that name them, by index.
  std::map<uint64_t, SequenceIntervals> named{};
  friend bool operator==(const SealRound&, const SealRound&) = default;
};
// The value of a key of rounds is any number of these, one behind the other.
void PutSealRound(std::string* out, const SealRound& round);
[[nodiscard]] Result<std::vector<SealRound>> DecodeSealRounds(std::string_view bytes);

// What one change of the catalog does to the copy.
class CatalogChange {
 public:
  // The key gets a value, loses it, or has more bytes at its end.
  void Put(std::string key, std::string value) { Add('P', std::move(key), std::move(value)); }
  void Delete(std::string key) { Add('D', std::move(key), ""); }
  void Append(std::string key, std::string value) { Add('A', std::move(key), std::move(value)); }
  // The changes of a batch to records that the copy keeps: state, tables, boots, spill families and
  // windows.
  void AddBatch(const rocksdb::WriteBatch& batch);

 private:
  friend class CatalogCopy;
  struct Step {
    char kind = 'P';
    std::string key;
    std::string value;
  };
  void Add(char kind, std::string key, std::string value) {
    steps_.push_back({kind, std::move(key), std::move(value)});
  }
  std::vector<Step> steps_;
};

// What the copy says.
struct CatalogContent {
  std::string store_id;  // 32 hexadecimal digits
  uint64_t change = 0;   // changes since the store was made; the higher one is the newer
  // Records by their keys in `meta` (KEYSPACE.md), and by CatalogRoundsKey().
  std::map<std::string, std::string> records;
};

[[nodiscard]] std::string CatalogRoundsKey(uint64_t window_id);

// Two files, CATALOG-1 and CATALOG-2, with the same content. Each begins with a header and what
// there was then, and every change is appended to both. So one damaged file costs nothing, and two
// cost nothing while the database is whole. Bytes: KEYSPACE.md.
//
// A change is written before the batch of the database that makes it true: all that it tells is on
// the device by then, so that it holds whether or not the batch does. The first file is synced. The
// second is not: it matters when the first is damaged. An opening writes both anew where they do
// not say what the database says.
//
// Thread-safe. `fs` must outlive it.
class CatalogCopy {
 public:
  // The newer of the two files. kNotFound: there are none. kCorruption: none can be read.
  [[nodiscard]] static Result<CatalogContent> Read(rocksdb::FileSystem* fs,
                                                   const std::string& directory);

  CatalogCopy(rocksdb::FileSystem* fs, std::string directory, std::string store_id)
      : fs_(fs), directory_(std::move(directory)) {
    content_.store_id = std::move(store_id);
  }
  ~CatalogCopy();

  // What the files said when the store was opened; nothing that is of another store.
  [[nodiscard]] Status Load();
  [[nodiscard]] CatalogContent content() const;
  // Brings both files to this; writes nothing where they say it already.
  [[nodiscard]] Status Replace(std::map<std::string, std::string> records);
  // Appends a change. An error leaves the files behind: the next change writes them anew.
  [[nodiscard]] Status Write(const CatalogChange& change);

 private:
  static constexpr size_t kFileCount = 2;
  [[nodiscard]] Status WriteAnew();                        // REQUIRES: mutex_ held
  [[nodiscard]] Status AppendFrame(std::string_view frame);  // the same
  void CloseFiles();                                       // the same

  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  mutable std::mutex mutex_;
  CatalogContent content_;
  std::unique_ptr<rocksdb::FSWritableFile> files_[kFileCount];
  bool is_written_ = false;    // both files say what content_ does
  uint64_t bytes_appended_ = 0;  // since both were written anew
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_COPY_H_
