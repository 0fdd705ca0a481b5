// The records of windows and of the sealed buckets in them. Bytes: KEYSPACE.md.
#ifndef CISTERN_STORAGE_SEAL_RECORDS_H_
#define CISTERN_STORAGE_SEAL_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "storage/sequence_intervals.h"

namespace cistern {

// A span of event time [start_s, end_s), seconds since 1970, of one class of tables: those
// whose windows are equally wide. The lowest and highest int64 mean no end: the family of
// what lies outside of the regular windows.
struct WindowSpan {
  uint64_t class_width_s = 0;
  int64_t start_s = INT64_MIN;
  int64_t end_s = INT64_MAX;
  [[nodiscard]] bool Holds(int64_t s) const { return s >= start_s && s < end_s; }
  friend bool operator==(const WindowSpan&, const WindowSpan&) = default;
};

// A trained dictionary that pages of a window may name.
struct WindowDictionary {
  uint32_t table_id = 0;
  std::string column;  // whose texts it was made of
  uint64_t number = 0;
  friend bool operator==(const WindowDictionary&, const WindowDictionary&) = default;
};

struct WindowRecord {
  WindowSpan span;
  uint64_t version_count = 0;  // in sealed segments, deletes included
  uint64_t byte_count = 0;     // of their pages
  uint64_t seal_count = 0;     // manifests
  // Manifests with something that never expires: with rows, and with deletes.
  uint64_t endless_row_seals = 0;
  uint64_t delete_seals = 0;
  uint32_t expiry_s_last = 0;  // newest second of expiry in them; 0: none expires
  uint64_t confirmed_count = 0;    // manifests whose rows upstream has confirmed
  uint64_t confirmed_versions = 0;  // of version_count, in those
  int64_t confirmed_us_last = 0;   // when it did so last, by the trusted clock
  // Its buckets are gone and what they held is counted elsewhere: the family is to be
  // dropped. The record stands for all of them while their manifests are still needed.
  bool ended = false;
  // Spill families that may still hold rows which were sealed here: only the manifests tell
  // that those are not open. Ascending.
  std::vector<uint64_t> sources{};
  // Spill families with files that could not be read when buckets were sealed here which may have
  // rows in them. What these seals shadow may come back with the files, so the window does not
  // end before they do. Ascending.
  std::vector<uint64_t> awaited{};
  // Of confirmed_versions, those of seals whose arrival was proved so; the rest was acknowledged.
  uint64_t counted_versions = 0;    // ProofLevel::kCount
  uint64_t read_back_versions = 0;  // ProofLevel::kRows
  std::vector<WindowDictionary> dictionaries{};  // by number
};

// What one seal of one bucket contains.
struct Manifest {
  uint64_t row_count = 0;     // row versions
  uint64_t delete_count = 0;  // range deletes
  uint64_t byte_count = 0;    // of the pages
  int64_t first_time = 0;     // event times in the table's ticks, inclusive; 0 without rows
  int64_t last_time = 0;
  int64_t write_us_first = 0;  // write timestamps of rows and deletes, inclusive
  int64_t write_us_last = 0;
  uint32_t expiry_s_last = 0;  // newest second of expiry; 0: none expires
  bool has_endless_rows = false;  // a row version in it never expires
  bool has_deletes = false;       // of rows or of ranges: these never expire either
  uint64_t content_hash = 0;   // sum over the row versions (lib/row/version_hash.h)
  // The rotations whose segments the seal has; nothing: all of before its round. They are named of
  // a piece of the bucket, and where files could not be read that may have more of its rows.
  std::optional<SequenceIntervals> rotations{};
  ProofLevel proof = ProofLevel::kAck;  // of a confirmed seal; one that waits has kAck
  // Of all its rows (lib/segment/page_statistics.h), written under that version of the table;
  // empty: they have none.
  uint32_t schema_version = 0;
  std::string statistics{};

  [[nodiscard]] uint64_t version_count() const { return row_count + delete_count; }
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Counts one more seal.
void AddSeal(const Manifest& manifest, WindowRecord* window);
// Counts the row versions of a seal that is confirmed as its manifest says, and takes back those of
// one that is not any more. The count of seals is the caller's.
void AddConfirmed(const Manifest& manifest, WindowRecord* window);
void TakeConfirmed(const Manifest& manifest, WindowRecord* window);

[[nodiscard]] std::string EncodeWindow(const WindowRecord& r);
[[nodiscard]] Result<WindowRecord> DecodeWindow(std::string_view bytes);
[[nodiscard]] std::string EncodeManifest(const Manifest& m);
[[nodiscard]] Result<Manifest> DecodeManifest(std::string_view bytes);
// The same into *m, whose memory is used again: for who goes through many. After an error *m says
// nothing.
[[nodiscard]] Status DecodeManifest(std::string_view bytes, Manifest* m);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEAL_RECORDS_H_
