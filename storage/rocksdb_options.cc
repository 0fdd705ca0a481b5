#include "storage/rocksdb_options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "lib/base/concat.h"
#include "storage/header_iterator.h"

namespace cistern {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

// Beyond any journal: RocksDB never flushes one by itself. Only pages that are used
// are taken from the machine, so the figure costs nothing.
constexpr size_t kJournalBufferBytes = 1024 * kMiB;
constexpr size_t kMetaBufferBytes = 16 * kMiB;
constexpr size_t kDefaultBufferBytes = 64 * kKiB;
// The arena takes a whole block at the first write: with the default of 1/8 of the
// write buffer, 16 families under a cap fell from 150 K to 2.2 K puts a second.
constexpr size_t kArenaBlockBytes = 32 * kKiB;
constexpr size_t kMetaArenaBlockBytes = 16 * kKiB;
constexpr size_t kDefaultArenaBlockBytes = 4 * kKiB;
constexpr uint64_t kWalBytesMax = uint64_t{1} << 40;  // never reached: rotation decides
constexpr uint64_t kManifestBytesMax = 256 * kKiB;
constexpr int kNoLevelZeroLimit = 1 << 30;
constexpr std::string_view kTestedVersions[] = {"7.8.3"};

// LZ4 where RocksDB has it.
rocksdb::CompressionType BlockCompression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::find(supported.begin(), supported.end(), rocksdb::kLZ4Compression) !=
                   supported.end();
  return lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

std::shared_ptr<rocksdb::TableFactory> MakeTableFactory(
    FamilyKind kind, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = false;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  const bool has_segments = kind == FamilyKind::kSpill || kind == FamilyKind::kWindow;
  // SSTs are a few MiB: an index in partitions would only add reads. Of segments it has the first
  // key of each block too: an iterator over headers would otherwise read, and hold, a page of each
  // file of level 0 that begins with one, which takes up to a row's largest size.
  table.index_type = has_segments ? rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey
                                  : rocksdb::BlockBasedTableOptions::kBinarySearch;
  table.block_size = has_segments ? 16 * kKiB : 4 * kKiB;
  if (has_segments) table.flush_block_policy_factory = HeadersApart();
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = true;
  table.verify_compression = false;
  // Both are off by default, and are memory that the budget has to know.
  rocksdb::CacheEntryRoleOptions charged;
  charged.charged = rocksdb::CacheEntryRoleOptions::Decision::kEnabled;
  table.cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kBlockBasedTableReader] =
      charged;
  table.cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kFileMetadata] = charged;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(table));
}

// After a full disk RocksDB 7.8 waits for space in a thread of its own and resumes, and may
// abort by an assertion of its own when another error comes meanwhile. Here every error ends
// the opening, and the engine opens again: that heals a full disk too. Which kind of error it was
// is told here alone: those who write afterwards are all answered with it.
class ErrorListener : public rocksdb::EventListener {
 public:
  explicit ErrorListener(std::shared_ptr<std::atomic<bool>> met_corruption)
      : met_corruption_(std::move(met_corruption)) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                         rocksdb::Status* error) override {
    if (error->IsCorruption() && met_corruption_) met_corruption_->store(true);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  const std::shared_ptr<std::atomic<bool>> met_corruption_;
};

// No compaction, and nothing that waits for one.
void SwitchCompactionOff(rocksdb::ColumnFamilyOptions* options) {
  options->disable_auto_compactions = true;
  options->num_levels = 2;
  options->level0_file_num_compaction_trigger = kNoLevelZeroLimit;
  options->level0_slowdown_writes_trigger = kNoLevelZeroLimit;
  options->level0_stop_writes_trigger = kNoLevelZeroLimit;
  options->soft_pending_compaction_bytes_limit = 0;
  options->hard_pending_compaction_bytes_limit = 0;
}

// Each rotation is one SST with a key range of its own: files only move down to level 1,
// where a lookup finds its file by binary search. RocksDB rewrites none by itself, nothing waits.
void SetSpillCompaction(rocksdb::ColumnFamilyOptions* options) {
  SwitchCompactionOff(options);
  options->disable_auto_compactions = false;
  options->level0_file_num_compaction_trigger = 4;
  options->target_file_size_base = uint64_t{1} << 40;
  options->max_bytes_for_level_base = uint64_t{1} << 50;
  options->max_compaction_bytes = 1;  // or files that wait in level 0 would be merged there
  options->level_compaction_dynamic_level_bytes = false;
}

// A flush behind each round and rotation leaves a small file. Runs of like size are merged: level 1
// would be written anew with every fourth file, and is most of what flash takes of small buckets.
void SetMetaCompaction(rocksdb::ColumnFamilyOptions* options) {
  options->compaction_style = rocksdb::kCompactionStyleUniversal;
  options->disable_auto_compactions = true;  // until AllowMetaMerges (meta_merge.h)
  options->num_levels = 4;  // files of stores that were opened with levels stay where they are
  // Four or more at a time, or nearly every flush would be followed by a merge of two.
  options->level0_file_num_compaction_trigger = 8;
  options->compaction_options_universal.min_merge_width = 4;
  options->level0_slowdown_writes_trigger = kNoLevelZeroLimit;  // files may have waited for room
  options->level0_stop_writes_trigger = kNoLevelZeroLimit;
  options->target_file_size_base = 1 * kMiB;
  options->level_compaction_dynamic_level_bytes = false;
}

void SetKind(FamilyKind kind, const StoreConfig& config, rocksdb::ColumnFamilyOptions* options) {
  options->compression = rocksdb::kNoCompression;
  switch (kind) {
    case FamilyKind::kDefault:
      options->write_buffer_size = kDefaultBufferBytes;
      options->arena_block_size = kDefaultArenaBlockBytes;
      SwitchCompactionOff(options);
      return;
    case FamilyKind::kMeta:
      options->write_buffer_size = kMetaBufferBytes;
      options->arena_block_size = kMetaArenaBlockBytes;
      options->compression = BlockCompression();
      SetMetaCompaction(options);
      return;
    case FamilyKind::kJournal:
      options->write_buffer_size = kJournalBufferBytes;
      options->arena_block_size = kArenaBlockBytes;
      // Records come in the order of their keys, and are read at an opening alone.
      options->memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
      SwitchCompactionOff(options);
      return;
    case FamilyKind::kSpill:
    case FamilyKind::kWindow:  // written, flushed and read in the same way, by rounds
      options->write_buffer_size = SpillBufferBytes(config);
      options->arena_block_size = kArenaBlockBytes;
      // Nothing reads a rotation before it was flushed: its pages are gathered and sorted
      // once instead of being sorted in one by one.
      options->memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
      SetSpillCompaction(options);
      // What the pages and headers of small buckets have in common is told once a block. Blocks
      // that shrink by less than an eighth, those of large pages, stay as they are. What is
      // spilled is soon rewritten: not worth the time.
      if (kind == FamilyKind::kWindow) options->compression = BlockCompression();
      options->disable_auto_compactions = config.segments_rest;
      return;
  }
}

// Names the first expectation that does not hold.
class OptionCheck {
 public:
  explicit OptionCheck(std::string where) : where_(std::move(where)) {}
  void Expect(bool holds, const char* option) {
    if (!holds && status_.ok()) {
      status_ = Status::Internal(Concat({"RocksDB runs with an unexpected ", option, " in ",
          where_}));
    }
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::string where_;
  Status status_;
};

Status CheckDb(const rocksdb::DBOptions& live) {
  OptionCheck check("the database");
  check.Expect(live.info_log != nullptr, "info_log");
  check.Expect(live.avoid_flush_during_recovery, "avoid_flush_during_recovery");
  check.Expect(live.avoid_flush_during_shutdown, "avoid_flush_during_shutdown");
  check.Expect(live.max_total_wal_size == kWalBytesMax, "max_total_wal_size");
  check.Expect(!live.atomic_flush, "atomic_flush");
  check.Expect(!live.manual_wal_flush, "manual_wal_flush");
  check.Expect(!live.two_write_queues && !live.unordered_write && !live.enable_pipelined_write,
               "write mode");
  check.Expect(live.recycle_log_file_num == 0, "recycle_log_file_num");
  check.Expect(live.wal_bytes_per_sync == 0, "wal_bytes_per_sync");
  check.Expect(live.wal_compression == rocksdb::kNoCompression, "wal_compression");
  check.Expect(!live.track_and_verify_wals_in_manifest, "track_and_verify_wals_in_manifest");
  check.Expect(live.rate_limiter == nullptr, "rate_limiter");
  check.Expect(live.max_background_jobs == 2, "max_background_jobs");
  check.Expect(live.max_bgerror_resume_count == 0, "max_bgerror_resume_count");
  check.Expect(live.listeners.size() == 1, "listeners");
  check.Expect(live.stats_dump_period_sec == 0 && live.stats_persist_period_sec == 0,
               "statistics period");
  check.Expect(live.paranoid_checks, "paranoid_checks");
  check.Expect(!live.allow_fallocate, "allow_fallocate");
  check.Expect(!live.fail_if_options_file_error, "fail_if_options_file_error");
  check.Expect(live.max_manifest_file_size == kManifestBytesMax, "max_manifest_file_size");
  check.Expect(live.write_buffer_manager != nullptr &&
                   !live.write_buffer_manager->ShouldStall(),
               "write_buffer_manager");
  return check.status();
}

Status CheckFamily(const std::string& name, FamilyKind kind,
                   const rocksdb::ColumnFamilyOptions& live, bool segments_rest) {
  OptionCheck check("the family " + name);
  check.Expect(live.ttl == 0, "ttl");
  check.Expect(live.periodic_compaction_seconds == 0, "periodic_compaction_seconds");
  check.Expect(live.max_write_buffer_number == 2, "max_write_buffer_number");
  check.Expect(live.max_write_buffer_size_to_maintain == 0 &&
                   live.max_write_buffer_number_to_maintain == 0,
               "history of write buffers");
  check.Expect(live.arena_block_size <= 64 * kKiB, "arena_block_size");
  check.Expect(live.force_consistency_checks, "force_consistency_checks");
  check.Expect(!live.enable_blob_files, "enable_blob_files");
  const bool has_segments = kind == FamilyKind::kSpill || kind == FamilyKind::kWindow;
  const bool compacts = has_segments && !segments_rest;
  check.Expect(live.disable_auto_compactions != compacts, "disable_auto_compactions");
  if (kind == FamilyKind::kJournal) {
    check.Expect(live.write_buffer_size >= kJournalBufferBytes, "write_buffer_size");
  }
  if (kind == FamilyKind::kMeta) {
    check.Expect(live.write_buffer_size >= kMetaBufferBytes, "write_buffer_size");
    check.Expect(live.compaction_style == rocksdb::kCompactionStyleUniversal, "compaction_style");
  }
  if (has_segments) {
    check.Expect(live.target_file_size_base >= uint64_t{1} << 40, "target_file_size_base");
    check.Expect(live.level0_stop_writes_trigger == kNoLevelZeroLimit,
                 "level0_stop_writes_trigger");
  }
  return check.status();
}

}  // namespace

size_t BlockCacheBytes(const StoreConfig& config) {
  return std::clamp(config.memory_budget_bytes / 16, 256 * kKiB, 256 * kMiB);
}

size_t SpillBufferBytes(const StoreConfig& config) {
  return std::clamp(config.memory_budget_bytes / 16, 512 * kKiB, 8 * kMiB);
}

std::shared_ptr<rocksdb::Cache> MakeBlockCache(const StoreConfig& config) {
  rocksdb::LRUCacheOptions options;
  options.capacity = BlockCacheBytes(config);
  // A shard must hold the largest block (16 KiB, pages beyond) several times over.
  options.num_shard_bits = options.capacity >= 16 * kMiB ? 2 : 0;
  options.strict_capacity_limit = false;
  options.high_pri_pool_ratio = 0.5;
  return rocksdb::NewLRUCache(options);
}

std::shared_ptr<rocksdb::WriteBufferManager> MakeWriteBufferManager() {
  // Size 0 would switch the accounting off.
  return std::make_shared<rocksdb::WriteBufferManager>(std::numeric_limits<size_t>::max() / 2,
                                                       nullptr, /*allow_stall=*/false);
}

rocksdb::DBOptions MakeDbOptions(const SharedParts& parts) {
  rocksdb::DBOptions options;
  options.env = parts.env;
  options.info_log = parts.info_log;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.create_if_missing = false;  // the opener decides
  options.create_missing_column_families = false;
  options.paranoid_checks = true;
  options.fail_if_options_file_error = false;  // OPTIONS files are refused
  // --- the log: synced writes alone decide, nothing is flushed behind our back
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.avoid_flush_during_recovery = true;
  options.avoid_flush_during_shutdown = true;
  options.max_total_wal_size = kWalBytesMax;
  options.manual_wal_flush = false;
  options.wal_bytes_per_sync = 0;
  options.bytes_per_sync = 0;
  options.recycle_log_file_num = 0;
  options.wal_compression = rocksdb::kNoCompression;
  options.track_and_verify_wals_in_manifest = false;
  options.WAL_ttl_seconds = 0;
  options.WAL_size_limit_MB = 0;
  options.atomic_flush = false;
  // --- one committer writes: the plain write path, no arenas per core, no spinning
  options.enable_pipelined_write = false;
  options.unordered_write = false;
  options.two_write_queues = false;
  options.allow_concurrent_memtable_write = false;
  options.enable_write_thread_adaptive_yield = false;
  // --- memory
  options.write_buffer_manager = parts.write_buffers;
  options.db_write_buffer_size = 0;
  options.max_open_files = 256;
  options.max_file_opening_threads = 1;
  options.table_cache_numshardbits = 2;
  options.skip_stats_update_on_db_open = true;
  options.writable_file_max_buffer_size = 64 * kKiB;
  options.compaction_readahead_size = 64 * kKiB;
  options.random_access_max_buffer_size = 64 * kKiB;
  // --- files
  options.max_manifest_file_size = kManifestBytesMax;
  options.manifest_preallocation_size = 64 * kKiB;
  // Preallocation follows the write buffer's size, which is a fiction for journals.
  options.allow_fallocate = false;
  options.use_fsync = false;
  options.db_host_id = "";  // the gateway's name is nobody's business in an SST
  // --- work in the background
  options.max_background_jobs = 2;  // one flush: concurrent failing flushes lose an SST in 7.8
  options.max_subcompactions = 1;
  options.rate_limiter = nullptr;  // waits on the wall clock in 7.8
  options.max_bgerror_resume_count = 0;
  options.listeners.push_back(std::make_shared<ErrorListener>(parts.met_corruption));
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.persist_stats_to_disk = false;
  options.enable_thread_tracking = false;
  return options;
}

rocksdb::ReadOptions MetaIteratorOptions() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.ignore_range_deletions = true;
  return options;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(FamilyKind kind, const StoreConfig& config,
                                               const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory = MakeTableFactory(kind, cache);
  options.max_write_buffer_number = 2;
  options.min_write_buffer_number_to_merge = 1;
  options.max_write_buffer_size_to_maintain = 0;
  options.max_write_buffer_number_to_maintain = 0;
  options.memtable_prefix_bloom_size_ratio = 0;
  options.ttl = 0;                          // both compare with the wall clock, and have
  options.periodic_compaction_seconds = 0;  // 30 days as hidden default
  options.force_consistency_checks = true;
  options.check_flush_compaction_key_order = true;
  options.report_bg_io_stats = false;
  options.enable_blob_files = false;
  options.compaction_style = rocksdb::kCompactionStyleLevel;
  SetKind(kind, config, &options);
  return options;
}

Status CheckLiveOptions(rocksdb::DB* db,
                        const std::map<std::string, rocksdb::ColumnFamilyHandle*>& families,
                        bool segments_rest) {
  CISTERN_RETURN_IF_ERROR(CheckDb(db->GetDBOptions()));
  for (const auto& [name, handle] : families) {
    const auto kind = FamilyKindOf(name);
    if (!kind) return Status::Internal(Concat({"the family ", name, " is none of ours"}));
    CISTERN_RETURN_IF_ERROR(CheckFamily(name, *kind, db->GetOptions(handle), segments_rest));
  }
  return Status::Ok();
}

Status CheckRocksDbVersion(const StoreConfig& config) {
  const std::string version = rocksdb::GetRocksVersionAsString();
  const bool tested = std::find(std::begin(kTestedVersions), std::end(kTestedVersions), version) !=
                      std::end(kTestedVersions);
  if (tested || config.allow_untested_rocksdb) return Status::Ok();
  return Status::NotSupported(Concat({"RocksDB ", version, " was not tested with Cistern: link "
      "7.8.3"}));
}

}  // namespace cistern
