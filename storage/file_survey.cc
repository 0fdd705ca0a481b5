#include "storage/file_survey.h"

#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/file_kind.h"
#include "storage/keyspace.h"
#include "storage/log_reader.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

constexpr char kAboveAllKeys[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";
constexpr size_t kRotationBytes = 8;
constexpr size_t kChecksumBytes = 8;

// Where its blocks at the ends cannot be read, the file may hold any key.
void FindBounds(rocksdb::SstFileReader* reader, SurveyedTable* table) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(reader->NewIterator(options));
  it->SeekToFirst();
  table->first_key = it->Valid() ? it->key().ToString() : std::string(kRotationBytes, '\0');
  it->SeekToLast();
  table->last_key = it->Valid() && it->key().compare(table->first_key) > 0
                        ? it->key().ToString()
                        : std::string(kAboveAllKeys);
}

Result<SurveyedTable> SurveyTable(rocksdb::Env* env, std::string path) {
  SurveyedTable table;
  CISTERN_ASSIGN_OR_RETURN(const auto reader, OpenTable(env, path));
  const rocksdb::Status s = env->GetFileSize(path, &table.size_bytes);
  if (!s.ok()) return ToStatus(s, "looking at " + path);
  const std::string& family = reader->GetTableProperties()->column_family_name;
  const auto kind = FamilyKindOf(family);
  if (!kind) return Status::Corruption("it is of the unknown family '" + family + "'");
  table.kind = *kind;
  table.family_id = FamilyNumberOf(family).value_or(0);
  FindBounds(reader.get(), &table);
  table.path = std::move(path);
  return table;
}

// Gives the visitor what a batch of the log has of journals.
class LoggedRecords final : public rocksdb::WriteBatch::Handler {
 public:
  explicit LoggedRecords(const JournalVisitor* visit) : visit_(visit) {}
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    const std::string_view record = value.ToStringView();
    const auto sequence = ParseJournalKey(key.ToStringView());
    if (!status_.ok() || !sequence || record.size() <= kChecksumBytes) {
      return rocksdb::Status::OK();
    }
    const std::string_view covered = record.substr(0, record.size() - kChecksumBytes);
    const bool is_record = GetLittle<uint64_t>(record.data() + covered.size()) == Checksum(covered);
    if (is_record) status_ = (*visit_)(family, *sequence, record);
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t /*family*/, const rocksdb::Slice& /*key*/) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(uint32_t /*family*/, const rocksdb::Slice& /*first*/,
                                const rocksdb::Slice& /*end*/) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status MarkNoop(bool /*empty_batch*/) override { return rocksdb::Status::OK(); }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const JournalVisitor* const visit_;
  Status status_;
};

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::unique_ptr<rocksdb::SstFileReader>> OpenTable(rocksdb::Env* env,
                                                          const std::string& path) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.env = env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  auto reader = std::make_unique<rocksdb::SstFileReader>(options);
  const rocksdb::Status s = reader->Open(path);
  if (!s.ok()) return ToStatus(s, "opening " + path);
  return reader;
}

Result<FileSurvey> SurveyFiles(rocksdb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  const rocksdb::Status s = env->GetChildren(directory, &names);
  if (!s.ok()) return ToStatus(s, "listing " + directory);
  std::sort(names.begin(), names.end());
  FileSurvey survey;
  for (const std::string& name : names) {
    const FileKind kind = FileKindOf(name);
    if (kind == FileKind::kWal) survey.logs.push_back(directory + "/" + name);
    if (kind != FileKind::kSst) continue;
    auto table = SurveyTable(env, directory + "/" + name);
    if (table.ok()) {
      survey.tables.push_back(*std::move(table));
    } else {
      survey.problems.push_back(name + " cannot be used, and what it holds is not known: " +
                                table.status().message());
    }
  }
  return survey;
}

Status VisitLoggedRecords(rocksdb::Env* env, const std::vector<std::string>& logs,
                          const JournalVisitor& visit, std::vector<std::string>* problems) {
  for (const std::string& path : logs) {
    CISTERN_ASSIGN_OR_RETURN(const auto reader, LogReader::Open(env->GetFileSystem().get(), path));
    LoggedRecords records(&visit);
    std::string bytes;
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const bool more, reader->Next(&bytes));
      if (!more) break;
      const rocksdb::Status s = rocksdb::WriteBatch(bytes).Iterate(&records);
      CISTERN_RETURN_IF_ERROR(records.status());
      if (!s.ok()) problems->push_back(NameOf(path) + ": " + s.ToString());
    }
    if (reader->damage_count() > 0) {
      problems->push_back(NameOf(path) + " is damaged in " +
                          std::to_string(reader->damage_count()) + " places");
    }
  }
  return Status::Ok();
}

}  // namespace cistern
