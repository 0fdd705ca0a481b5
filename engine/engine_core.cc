#include "engine/engine_core.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "engine/query/bucket_index.h"
#include "engine/query/inventory.h"
#include "engine/query/spare_rows.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "lib/base/unwind_guard.h"
#include "lib/cql/alteration.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/time_text.h"
#include "storage/meta_merge.h"

namespace cistern {

namespace {

// RocksDB's tables, threads and buffers at rest, measured with these options.
constexpr size_t kRocksDbBaseBytes = 3 << 20;

// What the heads leave to scans at least: a page and a batch of rows. Wider ones have the
// heads written out first.
constexpr size_t kScanReserveBytes = 2 << 20;

// With the block cache.
size_t RocksDbBytes(size_t budget_bytes) { return kRocksDbBaseBytes + budget_bytes / 16; }

// Logs that an opening leaves as they are. Each opening adds one, and the flush of meta another;
// what is over this many has its content brought into files.
constexpr uint64_t kLogFilesMax = 8;

constexpr int kBucketLooksMax = 3;

// Active and frozen head, their journals in RocksDB's memtables, the pages of one
// rotation, the block cache and a scan must fit together.
HeadLimits HeadLimitsFor(const EngineOptions& options) {
  static_assert(limits::kMemoryBudgetBytesMin / 16 * 15 > kRocksDbBaseBytes + kScanReserveBytes);
  const size_t budget_bytes = options.memory_budget_bytes;
  HeadLimits limits;
  limits.bytes = std::min(budget_bytes / 3 * 2,
                          budget_bytes - RocksDbBytes(budget_bytes) - kScanReserveBytes);
  if (options.disk_budget_bytes != 0) limits.disk_bytes = options.disk_budget_bytes;
  return limits;
}

uint64_t SealBytesMax(const EngineOptions& options) {
  const uint64_t piece_bytes = options.disk_budget_bytes / HeadLimits::kPiecesOfDisk;
  if (piece_bytes == 0) return options.seal_bytes_max;
  return options.seal_bytes_max == 0 ? piece_bytes : std::min(options.seal_bytes_max, piece_bytes);
}

SpillLimits SpillLimitsFor(size_t budget_bytes) {
  SpillLimits limits;
  limits.base_bytes = std::max<uint64_t>(1 << 20, budget_bytes / 8);
  return limits;
}

std::string_view TakeLine(std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(line.size() + 1, text->size()));
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

// Where two declarations, which ToCql() writes alike, part.
std::string FirstDifference(std::string_view there, std::string_view asked) {
  there.remove_suffix(std::string_view(";\n").size());  // which would differ where one goes on
  asked.remove_suffix(std::string_view(";\n").size());
  std::string_view old_line;
  std::string_view new_line;
  do {
    old_line = TakeLine(&there);
    new_line = TakeLine(&asked);
  } while (old_line == new_line && !(there.empty() && asked.empty()));
  const auto shown = [](std::string_view line) {
    return line.empty() ? std::string("nothing more") : Concat({"\"", line, "\""});
  };
  return Concat({"it says ", shown(old_line), " where this says ", shown(new_line)});
}

}  // namespace

SealLimits SealLimitsOf(const EngineOptions& options) {
  return {options.seal_grace_s,  options.seal_idle_s,
          WindowCountFor(options.memory_budget_bytes), options.seal_rows_max,
          SealBytesMax(options), options.seal_age_s_max};
}

Result<std::shared_ptr<EngineCore>> EngineCore::Open(const CoreConfig& config) {
  std::shared_ptr<EngineCore> core(new EngineCore(config));
  const int64_t began_us = config.options.clock->MonotonicMicros();
  CISTERN_RETURN_IF_ERROR(core->Build());
  CISTERN_RETURN_IF_ERROR(core->Recover());
  core->open_us_ = config.options.clock->MonotonicMicros() - began_us;
  return core;
}

EngineCore::EngineCore(const CoreConfig& config)
    : config_(config), base_charge_(config.budget.get()) {}

EngineCore::~EngineCore() = default;

Status EngineCore::Build() {
  const EngineOptions& options = config_.options;
  CISTERN_ASSIGN_OR_RETURN(store_, Store::Open(config_.store, &recovery_));
  base_charge_.Set(RocksDbBytes(config_.store.memory_budget_bytes));
  CISTERN_RETURN_IF_ERROR(tables_.Load(store_->tables_at_open()));
  boots_ = std::make_unique<BootTable>(store_->boots_at_open());

  ClockLimits clock_limits;
  clock_limits.floor_us =
      (options.clock_floor_s != 0 ? options.clock_floor_s : kReleaseFloorSeconds) * 1'000'000;
  clock_limits.ceiling_ahead_us = options.clock_ceiling_ahead_s * 1'000'000;
  clock_limits.dwell_us = options.clock_dwell_s * 1'000'000;
  clock_limits.boot_ahead_us = options.clock_boot_ahead_s * 1'000'000;
  clock_ = std::make_unique<WriteClock>(options.clock, clock_limits, store_.get(), boots_.get());

  heads_.rows_came = config_.rows_came;
  heads_.work_came = config_.work_came;
  const SpillLimits spill_limits = SpillLimitsFor(options.memory_budget_bytes);
  const HeadLimits head_limits = HeadLimitsFor(options);
  committer_ =
      std::make_unique<Committer>(store_.get(), &heads_, &tables_, clock_.get(),
                                  config_.budget.get(), head_limits, options.commit_interval_us);
  rotation_ =
      std::make_unique<Rotation>(store_.get(), &heads_, &tables_, committer_.get(), spill_limits);
  respill_ = std::make_unique<Respill>(store_.get(), &heads_, &tables_, boots_.get(), spill_limits);
  const SealLimits seal_limits = SealLimitsOf(options);
  sealer_ = std::make_unique<Sealer>(store_.get(), &heads_, &tables_, boots_.get(),
                                     config_.budget.get(), seal_limits);
  const RetentionLimits retention{options.keep_confirmed_s, options.keep_unconfirmed_s,
                                  options.disk_shed};
  keeper_ = std::make_unique<WindowKeeper>(store_.get(), &heads_, retention);
  merger_ = std::make_unique<WindowMerger>(store_.get(), &heads_, seal_limits.window_count_max);
  MaintenanceLimits limits;
  if (!options.seal_when_due) limits.seal_interval_us = 0;
  limits.sync_interval_us = options.sync_interval_us;
  limits.head_age_us = options.head_age_us_max;
  maintenance_ = std::make_unique<Maintenance>(
      store_.get(), &heads_, committer_.get(), clock_.get(), rotation_.get(), respill_.get(),
      sealer_.get(), keeper_.get(), merger_.get(), config_.budget.get(), limits);
  query_.store = store_.get();
  query_.heads = &heads_;
  query_.tables = &tables_;
  query_.boots = boots_.get();
  query_.budget = config_.budget.get();
  buckets_ = std::make_unique<BucketIndex>(config_.budget.get());
  query_.buckets = buckets_.get();
  spare_rows_ = std::make_unique<SpareRows>(config_.budget.get());
  query_.spare_rows = spare_rows_.get();
  query_.read_ahead = config_.read_ahead.get();
  query_.now_s = [clock = clock_.get()] { return clock->now_s(); };
  query_.monotonic_us = [clock = clock_.get()] { return clock->monotonic_us(); };
  query_.make_room = [this] {
    return !config_.options.read_only && !finished_ && maintenance_->RotateAll().ok();
  };
  return Status::Ok();
}

// The journal becomes the head again; what the beacon remembers and the journal does not
// have is lost, and said.
Status EngineCore::Recover() {
  const auto overflow = [this](const FrozenState& state) -> Status {
    if (config_.options.read_only) {
      // Not of a salvage: what the logs lack would be given up.
      return Status::OutOfMemory(Concat({"the journal does not fit into memory_budget_bytes: raise "
          "it (cistern --memory-budget)", (config_.store.is_alone ? "" : ", or open the store for "
          "writing once")}));
    }
    return rotation_->SpillWhole(*heads_.active, state);
  };
  const size_t told = recovery_.notes.size();  // those of the storage are in LOG
  const auto lost_before = store_->beacon().lost_sequences();  // not by this opening
  CISTERN_RETURN_IF_ERROR(committer_->Replay(overflow, config_.options.read_only, &recovery_));
  const uint64_t acknowledged =
      std::max(store_->beacon_sequence(), config_.acknowledged_sequence);
  const uint64_t recovered = committer_->last_sequence();
  if (acknowledged > recovered) {
    recovery_.clean = false;
    if (!recovery_.recovered_with_loss) recovery_.lost_sequence_first = recovered + 1;
    recovery_.recovered_with_loss = true;
    recovery_.lost_sequence_last = acknowledged;
    recovery_.lost_record_count += acknowledged - recovered;
    recovery_.notes.push_back(Concat({"the log has journal records up to ", recovered,
        ", where those up to ", acknowledged, " were acknowledged"}));
  }
  if (lost_before) NoteFormerLoss(*lost_before, std::max(acknowledged, recovered));
  LogLoss(told);
  if (config_.options.read_only) return Status::Ok();
  if (acknowledged > recovered) {
    CISTERN_RETURN_IF_ERROR(committer_->GiveUpTo(acknowledged, overflow, &recovery_));
  }
  // A journal family to write and the next one. Without room the store still opens for
  // reading, and writing begins when there is some.
  CISTERN_RETURN_IF_ERROR(maintenance_->PrepareJournals());
  CISTERN_RETURN_IF_ERROR(BoundLogs());
  return store_->EndDoubt();  // the report is the host's when the opening ends
}

void EngineCore::NoteFormerLoss(const LostSequences& lost, uint64_t known) {
  if (lost.first == 0) return NoteUnknownLoss(known);
  recovery_.clean = false;
  const bool has_more = recovery_.recovered_with_loss;
  recovery_.lost_sequence_first =
      has_more ? std::min(lost.first, recovery_.lost_sequence_first) : lost.first;
  recovery_.lost_sequence_last = std::max(lost.last, recovery_.lost_sequence_last);
  // The two may have records in common.
  recovery_.lost_record_count = has_more ? 0 : lost.last - lost.first + 1;
  recovery_.recovered_with_loss = true;
  recovery_.notes.push_back(Concat({"journal records ", lost.first, " to ", lost.last,
      " were lost; the opening that met it did not come to its end"}));
}

// The log was damaged, and so was ACK: it would be luck if what is missing had not been
// acknowledged. `known` is the last sequence that one of them has.
void EngineCore::NoteUnknownLoss(uint64_t known) {
  recovery_.clean = false;
  if (!recovery_.recovered_with_loss) recovery_.lost_sequence_first = known + 1;
  recovery_.recovered_with_loss = true;
  recovery_.lost_sequence_last = 0;
  recovery_.lost_record_count = 0;
  recovery_.notes.push_back(Concat({"the log is damaged behind journal record ",
      recovery_.lost_sequence_first - 1, ", and the file ACK does not tell up to which one rows "
      "were acknowledged"}));
}

// The next opening does not meet it any more: LOG is where it stays.
void EngineCore::LogLoss(size_t first_note) {
  if (!recovery_.recovered_with_loss) return;
  tables_.NoteLoss();
  InfoLog* log = store_->db().opened().info_log.get();
  const uint64_t last = recovery_.lost_sequence_last;
  log->Write(LogLevel::kError, Concat({"acknowledged rows are missing: journal sequences ",
      recovery_.lost_sequence_first,
      (last == 0 ? " and later ones, up to where is not known" : " to " + std::to_string(last))}));
  for (size_t i = first_note; i < recovery_.notes.size(); ++i) {
    log->Write(LogLevel::kError, recovery_.notes[i]);
  }
}

// RocksDB keeps every log since the oldest one with a record that is in no file, of meta or of the
// journal, and lets go of logs at a flush alone, empty ones too. Openings that write next to
// nothing, one after another, never come to one. A full disk leaves the logs to a later opening.
Status EngineCore::BoundLogs() {
  if (store_->log_file_count() <= kLogFilesMax) return Status::Ok();
  const uint64_t room_bytes = Rotation::kHeadroomBytes + store_->log_bytes_on_disk() +
                              MergeBytesBehindFlush(*store_);
  if (!store_->CheckHeadroom(room_bytes).ok()) return Status::Ok();
  // Nobody else takes steps yet. Of a rotation the last one flushes meta, in the same way.
  if (!committer_->Freeze()) return store_->ReleaseLogs();
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(more, rotation_->Step());
  }
  return maintenance_->PrepareJournals();
}

Status EngineCore::CreateTable(std::string_view cql) {
  CISTERN_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> schema, ParseCreateTable(cql));
  const std::lock_guard lock(create_mutex_);
  // The record may be there and the table not, or both.
  const UnwindGuard half_made([this] { committer_->Fail(Status::OutOfMemory()); });
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  if (const TablePtr same = tables_.FindDeclared(*schema)) {
    if (same->schema->ToCql() == schema->ToCql()) return Status::Ok();
    return Status::AlreadyExists(Concat({"table ", schema->QualifiedName(),
        " exists with another declaration: ",
        FirstDifference(same->schema->ToCql(), schema->ToCql()), "; AlterTable (cistern alter) "
        "changes a table"}));
  }
  const uint32_t id = tables_.next_id();
  if (id > limits::kTableCountMax) {
    return Status::TooLarge(Concat({"a store holds at most ", limits::kTableCountMax, " tables"}));
  }
  CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(1 << 20));
  if (const Status s = store_->PutTable(id, 0, {0, schema->ToCql()}); !s.ok()) {
    committer_->Fail(s);
    return s;
  }
  tables_.Put(std::make_shared<const Table>(id, std::vector<TableVersion>{{schema, 0}}));
  heads_.work_came->Soon();
  return Status::Ok();
}

Status EngineCore::AlterTable(std::string_view cql) {
  CISTERN_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> schema, ParseCreateTable(cql));
  const std::lock_guard lock(create_mutex_);
  const TablePtr table = tables_.FindDeclared(*schema);
  if (!table) {
    return Status::NotFound(Concat({"no table ", schema->QualifiedName(),
        " to alter: create it first"}));
  }
  if (table->schema->ToCql() == schema->ToCql()) return committer_->failure();
  std::vector<std::shared_ptr<const TableSchema>> before;
  for (const TableVersion& version : table->versions) before.push_back(version.schema);
  CISTERN_RETURN_IF_ERROR(CheckAlteration(before, *schema));
  if (before.size() >= limits::kSchemaVersionsMax) {
    return Status::TooLarge(Concat({"a table is altered at most ", limits::kSchemaVersionsMax - 1,
        " times"}));
  }
  const std::optional<int64_t> from_s = BucketsChangeFrom(*table->schema, *schema);
  if (from_s == INT64_MIN) return CheckBuckets(*table, *schema, *from_s);  // never
  if (from_s) return AlterBuckets(*table, schema, *from_s);
  return maintenance_->WithoutHead([&] { return PutVersion(*table, schema); });
}

// Many buckets take seconds to look through, so writers go on meanwhile. What they bring is in a
// head that is frozen before the change: where a bucket at or behind `from_s` was among it, the
// next look finds it and says why not.
Status EngineCore::AlterBuckets(const Table& table, std::shared_ptr<const TableSchema> schema,
                                int64_t from_s) {
  for (int look = 0; look < kBucketLooksMax; ++look) {
    {
      const std::unique_lock lock(heads_.mutex);
      heads_.frozen_starts.Forget(table.id);
    }
    CISTERN_RETURN_IF_ERROR(CheckBuckets(table, *schema, from_s));
    bool came = false;
    CISTERN_RETURN_IF_ERROR(maintenance_->WithoutHead([&] {
      came = heads_.frozen_starts.HasFrom(table.id, from_s);
      return came ? Status::Ok() : PutVersion(table, schema);
    }));
    if (!came) return Status::Ok();
  }
  return Status::Busy("buckets that the change would make others come and go: try again");
}

// Whether no bucket of the table is at or behind `from_s`, where those of `next` begin to be
// others; before all times it never is. What is refused is told with the rule that would do.
Status EngineCore::CheckBuckets(const Table& table, const TableSchema& next,
                                int64_t from_s) const {
  const TableSchema& was = *table.schema;
  for (const LostRotations& lost : store_->damage().lost_rotations()) {
    if (!lost.MayHold(table.id, from_s, INT64_MAX)) continue;
    return Impossible(was, "the bucket rule cannot change while it is not known which buckets "
                           "there are: " + lost.what);
  }
  std::optional<BucketSummary> last;
  const BucketScope scope{table.id, std::nullopt};
  CISTERN_RETURN_IF_ERROR(VisitBuckets(query_, scope, [&](const BucketSummary& bucket) {
    if (!last || bucket.key.start_s > last->key.start_s) last = bucket;
    return true;
  }));
  const bool never = from_s == INT64_MIN;
  if (!never && (!last || last->key.start_s < from_s)) return Status::Ok();
  std::string what;
  if (never) {
    what = "the bucket rule says in which partition a row is, here and upstream; by another one "
           "rows that are there would be looked for where they are not. Rules that held stay, and "
           "others may follow from a date on";
  } else {
    std::string date;
    FormatDateText(from_s / kSecondsPerDay, &date);
    what = Concat({"the buckets from ", date, " on would be others, and those that are there stay "
        "as they are"});
  }
  if (last) {
    const BucketInfo info = ToBucketInfo(was, *last);
    what += Concat({"; the last bucket is ", ShowText(info.bucket), " of entity ",
        ShowText(info.entity), " in table ", info.table});
  }
  const int64_t free_s = last ? Bucketer(was).Next(last->key.start_s) : clock_->now_s();
  if (const auto later = FirstChangeFrom(was, next, free_s)) {
    return Impossible(was, Concat({what, ". The first date for the change is ", later->date, ": '",
        later->clause, "'"}));
  }
  return Impossible(was, Concat({what, ". There is no date for the change: the rule is 'bucket ",
      BucketRuleText(was), "'"}));
}

// REQUIRES: no row is in the head or, above the journal's floor, in the journal.
Status EngineCore::PutVersion(const Table& table, std::shared_ptr<const TableSchema> schema) {
  CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(1 << 20));
  std::vector<TableVersion> versions = table.versions;
  versions.push_back({std::move(schema), committer_->last_sequence()});
  auto next = std::make_shared<const Table>(table.id, std::move(versions));
  CrashPoint("alter:before_record");
  if (const Status s = store_->PutTable(
          next->id, next->schema_version,
          {next->versions.back().journal_before, next->schema->ToCql()});
      !s.ok()) {
    committer_->Fail(s);
    return s;
  }
  CrashPoint("alter:after_record");
  tables_.Put(std::move(next));
  heads_.work_came->Soon();
  return Status::Ok();
}

Status EngineCore::Finish() {
  finished_ = true;
  if (config_.options.read_only) return Status::Ok();
  return maintenance_->WriteBeacon();
}

namespace {

// Adds the versions of a window, of which `sealed` can be read. What cannot is taken from what
// waits, then from what is parked, then from what is confirmed: what was proved most comes last.
void AddSealed(const SpillView& view, const WindowFamily& window, uint64_t sealed, Metrics* m) {
  const WindowRecord& record = window.record;
  const uint64_t confirmed = std::min(sealed, record.confirmed_versions);
  const auto refused = view.versions_parked.find(window.id);
  const uint64_t parked = refused == view.versions_parked.end()
                              ? 0
                              : std::min(sealed - confirmed, refused->second);
  m->versions_sealed += sealed;
  m->versions_confirmed += confirmed;
  const uint64_t by_rows = std::min(confirmed, record.read_back_versions);
  m->versions_confirmed_by_rows += by_rows;
  m->versions_confirmed_by_count += std::min(confirmed - by_rows, record.counted_versions);
  m->versions_parked += parked;
  m->versions_waiting += sealed - confirmed - parked;
}

}  // namespace

Metrics EngineCore::GetMetrics() const {
  Metrics m;
  store_->AddMetrics(&m);
  const CommitCounters& counters = committer_->counters();
  m.commit_groups = counters.groups;
  m.journal_bytes = counters.journal_bytes;
  m.journal_syncs = counters.syncs;
  m.busy_rejections = counters.busy_rejections;
  m.rows_provisional = counters.rows_provisional;
  m.rotations = rotation_->rotations();
  m.spill_bytes = rotation_->spill_bytes();
  m.respill_bytes = respill_->bytes_written();
  m.buckets_sealed = sealer_->buckets_sealed();
  m.amendments = sealer_->amendments();
  m.seal_bytes = sealer_->bytes_written();
  m.versions_repeated = rotation_->versions_repeated() + respill_->versions_repeated() +
                        sealer_->versions_repeated();
  m.windows_dropped = keeper_->windows_dropped();
  m.window_merges = merger_->merges();
  m.window_merge_bytes = merger_->bytes_written();
  {
    // One moment: no rotation between the parts of the sum.
    const std::shared_lock lock(heads_.mutex);
    m.versions_head =
        heads_.active->version_count() + (heads_.frozen ? heads_.frozen->version_count() : 0);
    m.versions_open = m.versions_head;
    const auto view = store_->spills().view();
    uint64_t unreadable = 0;
    const auto readable = [&](uint64_t family_id, uint64_t versions) {
      const uint64_t lost = std::min(versions, store_->damage().versions_in(family_id));
      unreadable += lost;
      return versions - lost;
    };
    for (const auto& f : view->families) {
      m.versions_open += readable(f->id, f->record.version_count - f->record.sealed_count);
    }
    for (const auto& w : view->windows) {
      AddSealed(*view, *w, readable(w->id, w->record.version_count), &m);
    }
    m.versions_written = heads_.versions_written;
    m.versions_superseded = view->versions_superseded;
    m.versions_expired = view->versions_expired;
    m.versions_shed = view->versions_shed;
    m.versions_quarantined = store_->versions_quarantined() + unreadable;
  }
  m.memory_bytes_charged = config_.budget->used_bytes();
  m.memory_bytes_peak = config_.budget->peak_bytes();
  m.memory_budget_bytes = config_.budget->limit_bytes();
  m.queued_batches = committer_->queued_units();
  m.queued_bytes = config_.queued->used_bytes();
  m.disk_budget_bytes = config_.options.disk_budget_bytes;
  m.records_replayed_at_open = recovery_.records_replayed;
  m.open_micros = static_cast<uint64_t>(std::max<int64_t>(open_us_, 0));
  m.clock_trusted = clock_->trusted();
  m.recovered_with_loss = recovery_.recovered_with_loss;
  return m;
}

}  // namespace cistern
