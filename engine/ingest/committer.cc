#include "engine/ingest/committer.h"

#include <algorithm>
#include <chrono>
#include <shared_mutex>
#include <string>
#include <thread>

#include "engine/ingest/row_placement.h"
#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "lib/base/guard.h"
#include "lib/base/unwind_guard.h"

namespace cistern {

namespace {
// A segment's header takes limits::kBucketRangeDeletesMax range deletes, and all of a
// generation's may be of one bucket: it ends well before, as a group adds a few thousand.
constexpr uint64_t kGenerationDeletesMax = limits::kBucketRangeDeletesMax / 2;
constexpr size_t kRowsAhead = 4;                           // whose memory is asked for
}  // namespace

// Where a row or delete of the current group goes, between encoding and applying.
struct Committer::PlacedRow {
  EntitySlot* entity = nullptr;
  const WriteUnit* unit = nullptr;
  size_t index = 0;  // row of the batch, or index of the delete
  int64_t start_s = 0;
  uint32_t split = 0;
  RowStamp stamp;
};

Committer::Committer(Store* store, HeadSet* heads, TableSet* tables, WriteClock* clock,
                     MemoryBudget* budget, HeadLimits limits, int64_t commit_interval_us)
    : store_(store),
      heads_(heads),
      tables_(tables),
      clock_(clock),
      budget_(budget),
      limits_(limits),
      commit_interval_us_(commit_interval_us) {
  const std::unique_lock lock(heads_->mutex);
  StartGeneration(MakeGeneration());
  heads_->versions_written = store_->state().versions_written;
  sequence_ = store_->state().journal_floor;
  LookAtDisk();
}

Committer::~Committer() = default;

Committer::NewGeneration Committer::MakeGeneration() const {
  return {std::make_unique<Head>(budget_), std::make_unique<JournalEncoder>(budget_)};
}

// REQUIRES: the leader's lock and the heads' exclusive lock, or nobody else.
void Committer::StartGeneration(NewGeneration next) {
  heads_->active = std::move(next.head);
  encoder_ = std::move(next.encoder);
  clock_->Part();  // the new head's entities do not know which rows were stamped last
  generation_start_us_ = 0;
  generation_deletes_ = 0;
}

void Committer::AddQueue(std::shared_ptr<IngestQueue> queue) {
  const std::lock_guard lock(queues_mutex_);
  queues_.push_back(std::move(queue));
}

void Committer::RemoveQueue(const std::shared_ptr<IngestQueue>& queue) {
  const std::lock_guard leader(mutex_);
  const std::lock_guard lock(queues_mutex_);
  std::erase(queues_, queue);
}

void Committer::CommitUntilDone(const WriteOutcome& outcome,
                                const std::function<Status()>& help) {
  while (true) {
    const uint32_t round = rounds_.load();  // before the question: the answer may come meanwhile
    if (outcome.done() || retired_) return;
    if (is_led_.exchange(true)) {
      rounds_.wait(round);
      continue;
    }
    LeadRound(outcome, help);
    is_led_ = false;
    ++rounds_;
    rounds_.notify_all();
  }
}

// An exception is told to all who wait: they would wait for ever.
void Committer::LeadRound(const WriteOutcome& outcome, const std::function<Status()>& help) {
  const Status led = Guarded([&] { return TryRound(outcome, help); });
  if (led.ok()) return;
  // The rotation cannot go on, so the head cannot take rows, or the round ended before it could
  // write any: nothing was written.
  const std::lock_guard lock(mutex_);
  AnswerQueued(led);
}

Status Committer::TryRound(const WriteOutcome& outcome, const std::function<Status()>& help) {
  {
    const std::lock_guard lock(mutex_);
    if (outcome.done() || retired_) return Status::Ok();
    if (MakeRoom() == Room::kYes) {
      CommitQueuedLocked();
      return Status::Ok();
    }
  }
  return help();
}

void Committer::Retire() {
  const std::lock_guard lock(mutex_);
  const Status last = Guarded([this] {
    if (MakeRoom() == Room::kYes) CommitQueuedLocked();
    return Status::Ok();
  });
  if (!last.ok()) AnswerQueued(last);
  const std::lock_guard queues_lock(queues_mutex_);
  queues_.clear();
  retired_ = true;
}

size_t Committer::queued_units() const {
  const std::lock_guard lock(queues_mutex_);
  size_t units = 0;
  for (const auto& queue : queues_) units += queue->size();
  return units;
}

bool Committer::CommitQueued() {
  const std::lock_guard lock(mutex_);
  return MakeRoom() == Room::kYes && CommitQueuedLocked();
}

bool Committer::HasRoom() {
  const std::lock_guard lock(mutex_);
  return MakeRoom() == Room::kYes;
}

Status Committer::RejectBusy() {
  counters_.busy_rejections++;
  return Status::Busy("the ingest queue or the memory budget is full: try again after a pause");
}

// What the active generation holds in memory.
size_t Committer::ActiveBytes() const {
  return heads_->active->memory_bytes() + encoder_->memory_bytes() +
         store_->journal().active_bytes();
}

Committer::Room Committer::MakeRoom() {
  const auto full = [this] {
    const bool has_frozen = store_->journal().has_frozen();
    // A rotation would free nothing: records that were replayed may be in segments already, and go
    // with the next one.
    if (!has_frozen && heads_->active->version_count() == 0) return false;
    const size_t frozen_bytes = has_frozen ? frozen_.memory_bytes : 0;
    return ActiveBytes() >= std::min(limits_.generation_bytes(), limits_.bytes - frozen_bytes) ||
           generation_deletes_ >= kGenerationDeletesMax;
  };
  if (has_failed()) return Room::kYes;  // for the refusal
  if (held_ || !store_->journal().writable()) return Room::kWait;
  if (!full()) return Room::kYes;
  (void)FreezeLocked();
  return full() ? Room::kWait : Room::kYes;
}

void Committer::SetHeld(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
}

bool Committer::Freeze() {
  const std::lock_guard lock(mutex_);
  return FreezeLocked();
}

bool Committer::FreezeLocked() {
  if (heads_->frozen_head() != nullptr) return true;
  if (has_failed()) return false;  // the head may have half of a group
  // The journal of the generation before must be gone: one is dropped at a time.
  Journal& journal = store_->journal();
  if (heads_->active->version_count() == 0 || !journal.next_ready() || journal.has_frozen()) {
    return false;
  }
  const UnwindGuard half_frozen([this] { Fail(Status::OutOfMemory()); });
  NewGeneration next = MakeGeneration();  // the heads are never without an active one
  CrashPoint("rotation:before_freeze");
  frozen_.journal_floor = sequence_;
  frozen_.versions_written = heads_->versions_written;
  frozen_.version_count = heads_->active->version_count();
  frozen_.write_us_last = clock_->last_issued_us();
  frozen_.journal_bytes = journal.active_bytes();
  frozen_start_us_ = generation_start_us_.load();
  frozen_.memory_bytes = std::min(ActiveBytes(), limits_.bytes);
  journal.Switch();
  const std::unique_lock lock(heads_->mutex);
  heads_->frozen_starts.Note(heads_->active->bucket_starts());
  heads_->frozen = std::move(heads_->active);
  StartGeneration(std::move(next));
  ++heads_->epoch;
  heads_->work_came->Now();
  return true;
}

bool Committer::HeadIsOlderThan(int64_t age_us) const {
  const std::lock_guard lock(mutex_);
  return generation_start_us_ != 0 && clock_->monotonic_us() - generation_start_us_ >= age_us;
}

std::optional<int64_t> Committer::OldestInHeads() const {
  int64_t began_us = 0;
  {
    // Not the leader's lock: who watches would wait for the device.
    const std::shared_lock lock(heads_->mutex);
    if (heads_->frozen != nullptr) began_us = frozen_start_us_;
    if (began_us == 0) began_us = generation_start_us_;
  }
  if (began_us == 0) return std::nullopt;
  return clock_->now_s() * 1'000'000 - (clock_->monotonic_us() - began_us);
}

FrozenState Committer::frozen_state() const {
  const std::lock_guard lock(mutex_);
  FrozenState frozen = frozen_;
  frozen.clock = clock_->TakeRecord();
  return frozen;
}

Status Committer::WhileStill(const std::function<Status(uint64_t sequence)>& look) {
  const std::lock_guard lock(mutex_);
  return look(sequence_);
}

Committer::Waiting Committer::waiting() const {
  const std::lock_guard lock(mutex_);
  return {unsynced_since_us_, generation_start_us_.load()};
}

Status Committer::PollClock() {
  const std::lock_guard lock(mutex_);
  return clock_->Poll();
}

Status Committer::ConfirmClock() {
  const std::lock_guard lock(mutex_);
  return clock_->Confirm();
}

Status Committer::KeepClock() {
  const std::lock_guard lock(mutex_);
  return clock_->Keep();
}

ClockReport Committer::ReportClock() {
  const std::lock_guard lock(mutex_);
  return clock_->Report();
}

Status Committer::WriteGroup(const std::vector<WriteUnit*>& units, size_t bytes, bool sync) {
  CISTERN_RETURN_IF_ERROR(TakeDiskRoom(units, bytes));
  // The coder, the journal and the head may each have another part of the group.
  const UnwindGuard half_written([this] { Fail(Status::OutOfMemory()); });
  uint64_t versions = 0;
  for (const WriteUnit* unit : units) versions += unit->version_count();
  const Result<IssuedStamps> issued = clock_->Issue();
  if (!issued.ok()) {
    Fail(issued.status());  // a boot record of unknown outcome
    return issued.status();
  }
  const IssuedStamps& stamps = *issued;
  const uint64_t sequence = sequence_ + 1;
  encoder_->Begin(sequence);
  {
    const std::unique_lock lock(heads_->mutex);  // entities are added to the head
    clock_->NoteGiven(EncodeGroup(units, stamps));
  }
  const std::string_view record = encoder_->Finish();
  WaitForCompany(sync);
  if (const Status s = store_->journal().Append(sequence, record, sync); !s.ok()) {
    // The coder's state is ahead of the journal now, and the record may or may not be
    // there. Only a reopen tells; until then nothing more is written.
    Fail(s);
    return s;
  }
  sequence_ = sequence;
  counters_.groups++;
  counters_.journal_bytes += record.size();
  if (stamps.boot != 0) counters_.rows_provisional += versions;
  NoteWritten(sync);
  CrashPoint("commit:before_apply");
  {
    const std::unique_lock lock(heads_->mutex);
    ApplyGroup();
    heads_->versions_written += versions;
  }
  heads_->rows_came->Notify();
  heads_->work_came->Soon();
  return Status::Ok();
}

// With a commit interval, a sync waits so that at most one happens per interval; other
// producers gather behind the lock meanwhile.
void Committer::WaitForCompany(bool sync) const {
  if (!sync || commit_interval_us_ <= 0) return;
  const int64_t since_us = clock_->monotonic_us() - last_sync_us_;
  if (since_us >= 0 && since_us < commit_interval_us_) {
    std::this_thread::sleep_for(std::chrono::microseconds(commit_interval_us_ - since_us));
  }
}

void Committer::NoteWritten(bool synced) {
  const int64_t now_us = clock_->monotonic_us();
  if (generation_start_us_ == 0) generation_start_us_ = std::max<int64_t>(now_us, 1);
  if (synced) {
    counters_.syncs++;
    last_sync_us_ = now_us;
    unsynced_since_us_ = 0;
    synced_ = sequence_.load();
  } else if (unsynced_since_us_ == 0) {
    unsynced_since_us_ = std::max<int64_t>(now_us, 1);
  }
}

// Returns the largest timestamp that was given.
int64_t Committer::EncodeGroup(const std::vector<WriteUnit*>& units, const IssuedStamps& stamps) {
  placed_.clear();
  int64_t largest_us = stamps.least_us;
  for (const WriteUnit* unit : units) {
    if (unit->batch != nullptr) EncodeRows(*unit, stamps, &largest_us);
    for (size_t i = 0; i < unit->deletes.size(); ++i) {
      const WriteUnit::BucketDelete& del = unit->deletes[i];
      PlacedRow placed;
      placed.unit = unit;
      placed.index = i;
      placed.start_s = del.start_s;
      placed.split = del.split;
      placed.entity = heads_->active->FindOrAddEntity(unit->table->id, unit->table->schema,
                                                      unit->delete_entity);
      const int64_t stamp_us = placed.entity->StampDelete(stamps.least_us);
      largest_us = std::max(largest_us, stamp_us);
      placed.stamp.write_us = stamp_us - stamps.base_us;
      placed.stamp.boot = stamps.boot;
      RangeDelete range = del.range;
      range.write_us = placed.stamp.write_us;
      range.boot = stamps.boot;
      encoder_->AddRangeDelete(*placed.entity, del.start_s, del.split, range);
      placed_.push_back(placed);
    }
  }
  return largest_us;
}

void Committer::EncodeRows(const WriteUnit& unit, const IssuedStamps& stamps,
                           int64_t* largest_us) {
  const TableSchema& schema = *unit.table->schema;
  const RowBatch& batch = *unit.batch;
  const Bucketer bucketer(schema);
  const RowExpiry expiry(schema, stamps.boot, stamps.now_s);
  RoundRobin& round_robin = round_robins_[unit.table->id];
  EntityKeys entities(schema, batch);
  for (size_t row = 0; row < batch.row_count(); ++row) {
    PlacedRow& placed = placed_.emplace_back();
    placed.unit = &unit;
    placed.index = row;
    placed.entity =
        heads_->active->FindOrAddEntity(unit.table->id, unit.table->schema, entities.Next());
    const int64_t time = EventTimeOf(schema, batch, row);
    placed.start_s = bucketer.StartOf(time);
    placed.split = SplitOfRow(schema, batch, row, &round_robin);
    const int64_t stamp_us = placed.entity->StampRow(stamps.least_us, time);
    *largest_us = std::max(*largest_us, stamp_us);
    placed.stamp = expiry.StampOf(batch, row, stamp_us - stamps.base_us);
    encoder_->AddRow(*placed.entity, batch, row, placed.split, placed.stamp);
  }
}

// REQUIRES: the heads' exclusive lock.
void Committer::ApplyGroup() {
  Head& head = *heads_->active;
  head.set_sequence(sequence_);
  for (size_t i = 0; i < placed_.size(); ++i) {
    const PlacedRow& placed = placed_[i];
    if (i + kRowsAhead < placed_.size()) Head::PrefetchRow(*placed_[i + kRowsAhead].entity);
    HeadBucket* bucket = head.FindOrAddBucket(placed.entity, placed.start_s, placed.split);
    if (placed.unit->batch != nullptr) {
      head.AppendRow(bucket, *placed.unit->batch, placed.index, placed.stamp);
    } else {
      RangeDelete range = placed.unit->deletes[placed.index].range;
      range.write_us = placed.stamp.write_us;
      range.boot = placed.stamp.boot;
      head.AddRangeDelete(bucket, range);
      ++generation_deletes_;
    }
  }
}

void Committer::Fail(const Status& status) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
    has_failed_.store(true, std::memory_order_release);
  }
  heads_->work_came->Now();
}

Status Committer::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace cistern
