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
// How many seals they have; nothing: they cannot be read. A log that was lost may have had a round
// that the copy has still.
[[nodiscard]] std::optional<uint64_t> CountSeals(std::string_view rounds);

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
// Whether the copy may have a record by that key: a kind that it keeps, in its full length.
[[nodiscard]] bool IsCatalogKey(std::string_view key);

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
  // The newer of the two files, of those that are of this store. An empty `store_id`, for where
  // nothing else says which store this is: both files must be of the same one.
  //   kNotFound    there are none
  //   kCorruption  none can be read, or they are of another store, which the message names
  // *foreign, if not null, gets a line for each file that is of another store.
  [[nodiscard]] static Result<CatalogContent> Read(rocksdb::FileSystem* fs,
                                                   const std::string& directory,
                                                   const std::string& store_id,
                                                   std::vector<std::string>* foreign = nullptr);

  CatalogCopy(rocksdb::FileSystem* fs, std::string directory, std::string store_id)
      : fs_(fs), directory_(std::move(directory)) {
    content_.store_id = std::move(store_id);
  }
  ~CatalogCopy();

  // What the files said when the store was opened; nothing that is of another store. `foreign` as
  // in Read().
  [[nodiscard]] Status Load(std::vector<std::string>* foreign);
  [[nodiscard]] CatalogContent content() const;
  // Of memory, about, that the content takes.
  [[nodiscard]] uint64_t memory_bytes() const;
  // Brings both files to this; writes nothing where they say it already. An error leaves the files
  // as they were, which may be ahead of what they are to say: the next change writes them anew.
  // kTooLarge: it is more than a file may have.
  [[nodiscard]] Status Replace(std::map<std::string, std::string> records);
  // Appends a change. An error leaves the files behind: the next change writes them anew.
  [[nodiscard]] Status Write(const CatalogChange& change);

 private:
  static constexpr size_t kFileCount = 2;
  [[nodiscard]] Status WriteAnew();                        // REQUIRES: mutex_ held
  [[nodiscard]] Status AppendFrame(std::string_view frame);  // the same
  void CloseFiles();                                       // the same
  [[nodiscard]] uint64_t AppendedBytesMax() const;         // the same

  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  mutable std::mutex mutex_;
  CatalogContent content_;
  std::unique_ptr<rocksdb::FSWritableFile> files_[kFileCount];
  bool is_written_ = false;    // both files say what content_ does
  uint64_t bytes_appended_ = 0;  // since both were written anew
  uint64_t bytes_anew_ = 0;      // that each had then
  uint64_t record_bytes_ = 0;    // of keys and values
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_COPY_H_
