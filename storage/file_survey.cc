#include "storage/file_survey.h"

#include <rocksdb/table.h>

#include <algorithm>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
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
  table->has_ends = it->Valid();
  table->first_key = it->Valid() ? it->key().ToString() : std::string(kRotationBytes, '\0');
  it->SeekToLast();
  table->has_ends = table->has_ends && it->Valid();
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
  if (!kind) return Status::Corruption(Concat({"it is of the unknown family '", family, "'"}));
  table.kind = *kind;
  table.family_id = FamilyNumberOf(family).value_or(0);
  FindBounds(reader.get(), &table);
  table.path = std::move(path);
  return table;
}

// A batch as it stands in the log: number u64 | count u32 | so many changes, each
//   tag u8 | [family varint] | key string | [value string]
// What follows names those that a store writes. RocksDB's own reader is for batches that are whole:
// it ends the process where bytes are none.
constexpr size_t kBatchHeadBytes = 8 + 4;
constexpr uint8_t kTagDelete = 0x0;
constexpr uint8_t kTagPut = 0x1;
constexpr uint8_t kTagDeleteInFamily = 0x4;
constexpr uint8_t kTagPutInFamily = 0x5;
constexpr uint8_t kTagNothing = 0xd;
constexpr uint8_t kTagDeleteRangeInFamily = 0xe;
constexpr uint8_t kTagDeleteRange = 0xf;

std::string_view ReadString(ByteReader* in, const char* what) {
  return in->ReadBytes(what, in->ReadCount("length", in->remaining()));
}

bool IsJournalRecord(std::string_view value) {
  if (value.size() <= kChecksumBytes) return false;
  const std::string_view covered = value.substr(0, value.size() - kChecksumBytes);
  return GetLittle<uint64_t>(value.data() + covered.size()) == Checksum(covered);
}

// Gives the visitor what a batch of the log has of journals. kCorruption: it is no batch.
Status VisitBatch(std::string_view batch, const JournalVisitor& visit) {
  ByteReader in(batch, "batch");
  in.ReadBytes("head", kBatchHeadBytes);
  while (in.ok() && in.remaining() > 0) {
    const uint8_t tag = in.ReadU8("tag");
    if (tag == kTagNothing) continue;
    const bool is_put = tag == kTagPut || tag == kTagPutInFamily;
    const bool is_range = tag == kTagDeleteRange || tag == kTagDeleteRangeInFamily;
    const bool is_delete = tag == kTagDelete || tag == kTagDeleteInFamily;
    const bool names_family = tag == kTagPutInFamily || tag == kTagDeleteInFamily ||
                              tag == kTagDeleteRangeInFamily;
    if (!is_put && !is_range && !is_delete) in.Fail("tag", "is not known");
    const uint64_t family = names_family ? in.ReadCount("family", UINT32_MAX) : 0;
    const std::string_view key = ReadString(&in, "key");
    const std::string_view value = is_delete ? std::string_view() : ReadString(&in, "value");
    const auto sequence = ParseJournalKey(key);
    if (!in.ok() || !is_put || !sequence || !IsJournalRecord(value)) continue;
    CISTERN_RETURN_IF_ERROR(visit(static_cast<uint32_t>(family), *sequence, value));
  }
  return in.status();
}

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
  if (!s.ok()) return ToReadStatus(s, "opening " + path);
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
    if (kind == FileKind::kWal) survey.logs.push_back(Concat({directory, "/", name}));
    if (kind != FileKind::kSst) continue;
    auto table = SurveyTable(env, Concat({directory, "/", name}));
    if (table.ok()) {
      survey.tables.push_back(*std::move(table));
    } else {
      survey.problems.push_back(Concat({name, " cannot be used, and what it holds is not known: ",
          table.status().message()}));
    }
  }
  return survey;
}

Status VisitLoggedRecords(rocksdb::Env* env, const std::vector<std::string>& logs,
                          const JournalVisitor& visit, std::vector<std::string>* problems) {
  Status failed;  // the visitor
  for (const std::string& path : logs) {
    CISTERN_ASSIGN_OR_RETURN(const auto reader, LogReader::Open(env->GetFileSystem().get(), path));
    std::string bytes;
    uint64_t damage_count = 0;
    const JournalVisitor pass_on = [&](uint32_t family, uint64_t sequence,
                                       std::string_view record) {
      failed = visit(family, sequence, record);
      return failed;
    };
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const bool more, reader->Next(&bytes));
      if (!more) break;
      const Status visited = VisitBatch(bytes, pass_on);
      CISTERN_RETURN_IF_ERROR(failed);
      damage_count += visited.ok() ? 0 : 1;
    }
    damage_count += reader->damage_count();
    if (damage_count > 0) {
      problems->push_back(Concat({NameOf(path), " is damaged in ", damage_count, " places"}));
    }
  }
  return Status::Ok();
}

}  // namespace cistern
