// FileSurvey: what the files of a store are, told by themselves and not by the database.
#ifndef CISTERN_STORAGE_FILE_SURVEY_H_
#define CISTERN_STORAGE_FILE_SURVEY_H_

#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/family_kind.h"

namespace cistern {

// An SST file that can be opened. RocksDB writes the name of its column family into each.
struct SurveyedTable {
  std::string path;
  uint64_t size_bytes = 0;
  FamilyKind kind = FamilyKind::kDefault;
  uint64_t family_id = 0;  // of a numbered family
  bool has_ends = true;    // the first and the last block can be read
  // Bounds of its keys; wider where they cannot.
  std::string first_key;
  std::string last_key;
};

struct FileSurvey {
  std::vector<SurveyedTable> tables;
  std::vector<std::string> logs;      // paths of write-ahead logs, oldest first
  std::vector<std::string> problems;  // files that cannot be opened, each says which and why
};

// Looks at every file of the directory. Fails only where the directory cannot be listed.
[[nodiscard]] Result<FileSurvey> SurveyFiles(rocksdb::Env* env, const std::string& directory);

// Opens one of them.
[[nodiscard]] Result<std::unique_ptr<rocksdb::SstFileReader>> OpenTable(rocksdb::Env* env,
                                                                        const std::string& path);

// A record of a journal. `family` is RocksDB's number, which is higher for a newer one.
using JournalVisitor = std::function<Status(uint32_t family, uint64_t sequence,
                                            std::string_view record)>;
// Visits the records of journals in write-ahead logs, in the order in which they were written, and
// tells where a log could not be read. They are known by their keys and checksums.
[[nodiscard]] Status VisitLoggedRecords(rocksdb::Env* env, const std::vector<std::string>& logs,
                                        const JournalVisitor& visit,
                                        std::vector<std::string>* problems);

}  // namespace cistern

#endif  // CISTERN_STORAGE_FILE_SURVEY_H_
