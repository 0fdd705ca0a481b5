// Opening: the journal becomes the head again.
#include <algorithm>
#include <optional>

#include "engine/bucketing/bucketer.h"
#include "engine/ingest/committer.h"
#include "engine/ingest/row_placement.h"
#include "lib/base/concat.h"
#include "storage/journal_decoder.h"

namespace cistern {

namespace {

// Applies decoded rows to a head as the committer would have.
class ReplaySink final : public JournalSink {
 public:
  ReplaySink(HeadSet* heads, TableSet* tables, WriteClock* clock)
      : heads_(heads), tables_(tables), clock_(clock) {}

  // Rows of records that are in segments already only feed the coder's state.
  void BeginRecord(uint64_t sequence, bool apply) {
    apply_ = apply;
    problem_.clear();
    heads_->active->set_sequence(sequence);
  }
  [[nodiscard]] uint64_t versions_applied() const { return versions_applied_; }
  [[nodiscard]] uint64_t deletes_applied() const { return deletes_applied_; }
  // When the oldest row or delete in the head was written, effective: timestamps never fall.
  [[nodiscard]] int64_t first_write_us() const { return first_write_us_; }
  // Why a row of the record could not be applied though it decoded; empty: all could.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  void OnRow(uint32_t table_id, std::string_view entity, const RowBatch& batch, size_t row,
             uint32_t split, const RowStamp& stamp) override {
    if (!Note(stamp.write_us, stamp.boot) || !apply_) return;
    if (!table_ || table_->id != table_id) {
      table_ = tables_->FindById(table_id);
      bucketer_.emplace(*table_->schema);
    }
    if (batch.schema() != table_->schema) {
      problem_ = "its rows are of a declaration that the table no longer has";
      return;
    }
    const int64_t time = EventTimeOf(*table_->schema, batch, row);
    if (!bucketer_->InRange(time)) {
      problem_ = "an event time is beyond what its table takes";
      return;
    }
    Head& head = *heads_->active;
    EntitySlot* slot = head.FindOrAddEntity(table_id, table_->schema, entity);
    head.AppendRow(head.FindOrAddBucket(slot, bucketer_->StartOf(time), split), batch, row, stamp);
    ++versions_applied_;
  }

  void OnRangeDelete(uint32_t table_id, std::string_view entity, int64_t start_s, uint32_t split,
                     const RangeDelete& range) override {
    if (!Note(range.write_us, range.boot) || !apply_) return;
    if (range.from > range.to) {
      problem_ = "a range delete ends before it begins";
      return;
    }
    Head& head = *heads_->active;
    EntitySlot* slot = head.FindOrAddEntity(table_id, tables_->FindById(table_id)->schema, entity);
    head.AddRangeDelete(head.FindOrAddBucket(slot, start_s, split), range);
    ++versions_applied_;
    ++deletes_applied_;
  }

 private:
  bool Note(int64_t write_us, uint32_t boot) {
    if (!clock_->KnowsBoot(boot)) {
      problem_ = Concat({"boot ", boot, " is not in the catalog"});
      return false;
    }
    clock_->NoteIssued(write_us, boot);
    if (apply_ && heads_->active->version_count() == 0) {
      first_write_us_ = clock_->Effective(write_us, boot);
    }
    return true;
  }

  HeadSet* const heads_;
  TableSet* const tables_;
  WriteClock* const clock_;
  TablePtr table_;  // of the last row
  std::optional<Bucketer> bucketer_;
  bool apply_ = true;
  int64_t first_write_us_ = 0;
  std::string problem_;
  uint64_t versions_applied_ = 0;
  uint64_t deletes_applied_ = 0;
};

// Walks the journal and knows what of it is missing or cannot be read.
//
// Behind a gap or a damaged record the rest of the family is given up, as it is coded
// against what is missing; the next family begins anew. Records up to the floor are in
// segments, or were given up by an earlier opening: whatever is wrong with them was said.
class Replayer {
 public:
  Replayer(HeadSet* heads, TableSet* tables, WriteClock* clock, MemoryBudget* budget,
           uint64_t journal_floor)
      : sink_(heads, tables, clock), tables_(tables), budget_(budget), floor_(journal_floor) {}

  // Feeds one record to the head. Returns the row versions that it added; kTooNew for a
  // record that only a newer Cistern can read: it is whole, and must not be given up.
  [[nodiscard]] Result<uint64_t> Visit(uint64_t sequence, std::string_view record,
                                       bool new_family) {
    const uint64_t expected = std::max(last_seen_, floor_) + 1;
    if (new_family) {
      // A gap before it may have swallowed its own first records.
      broken_ = sequence > expected && !JournalDecoder::BeginsFamily(record);
      decoder_.reset();  // before the next one is charged too
      decoder_ = std::make_unique<JournalDecoder>(
          [this](uint32_t id, uint64_t record_sequence) {
            return tables_->SchemaAt(id, record_sequence);
          },
          budget_);
    } else if (sequence != last_seen_ + 1) {
      broken_ = true;
    }
    if (sequence > expected) {
      NoteLoss(expected, sequence - 1, Concat({"journal record ", expected, " is missing"}));
    }
    last_seen_ = sequence;
    if (broken_) {
      if (sequence > floor_) NoteLoss(sequence, sequence, {});
      return uint64_t{0};
    }
    sink_.BeginRecord(sequence, sequence > floor_);
    const uint64_t before = sink_.versions_applied();
    const Status s = decoder_->Decode(record, sequence, &sink_);
    if (s.code() == StatusCode::kTooNew) return s;
    if (!s.ok() || !sink_.problem().empty()) {
      broken_ = true;
      if (sequence > floor_) {
        NoteLoss(sequence, sequence, Concat({"journal record ", sequence, ": ",
            (s.ok() ? sink_.problem() : s.message())}));
      }
    }
    return sink_.versions_applied() - before;
  }

  [[nodiscard]] uint64_t deletes_applied() const { return sink_.deletes_applied(); }
  [[nodiscard]] int64_t first_write_us() const { return sink_.first_write_us(); }
  // Records up to it are in segments.
  [[nodiscard]] uint64_t floor() const { return floor_; }
  // The last sequence that was met or is known to be in segments.
  [[nodiscard]] uint64_t last_sequence() const { return std::max(last_seen_, floor_); }
  [[nodiscard]] bool lost_any() const { return lost_count_ > 0; }
  [[nodiscard]] LostSequences lost() const { return {lost_first_, lost_last_}; }

  void Report(RecoveryReport* report) const {
    if (!lost_any()) return;
    report->clean = false;
    report->recovered_with_loss = true;
    report->lost_sequence_first = lost_first_;
    report->lost_sequence_last = lost_last_;
    report->lost_record_count = lost_count_;
    report->notes.push_back(Concat({damage_, "; ", lost_count_, " records from ", lost_first_,
        " to ", lost_last_, " are lost"}));
  }

 private:
  void NoteLoss(uint64_t first, uint64_t last, const std::string& damage) {
    if (lost_count_ == 0) lost_first_ = first;
    lost_last_ = last;
    lost_count_ += last - first + 1;
    if (damage_.empty()) damage_ = damage;
  }

  ReplaySink sink_;
  TableSet* const tables_;
  MemoryBudget* const budget_;
  const uint64_t floor_;
  std::unique_ptr<JournalDecoder> decoder_;
  bool broken_ = false;  // the rest of this family cannot be decoded
  uint64_t last_seen_ = 0;
  uint64_t lost_first_ = 0;
  uint64_t lost_last_ = 0;
  uint64_t lost_count_ = 0;
  std::string damage_;  // the first of it
};

}  // namespace

Status Committer::Replay(const OverflowFunction& overflow, bool read_only,
                         RecoveryReport* report) {
  const std::lock_guard lock(mutex_);
  Replayer replayer(heads_, tables_, clock_, budget_, store_->state().journal_floor);
  uint64_t deletes_spilled = 0;
  CISTERN_RETURN_IF_ERROR(store_->journal().Replay(
      [&](uint64_t sequence, std::string_view record, bool new_family) -> Status {
        // The deletes of a bucket must fit its segment's header, which a reader does not write.
        const uint64_t deletes = read_only ? 0 : replayer.deletes_applied() - deletes_spilled;
        if (heads_->active->memory_bytes() >= limits_.replayed_bytes(!read_only) ||
            deletes >= limits::kBucketRangeDeletesMax / 2) {
          Status spilled = replayer.lost_any() ? store_->beacon().NoteLostLogs(replayer.lost())
                                               : Status::Ok();
          if (spilled.ok()) spilled = SpillReplayed(replayer.last_sequence(), overflow);
          const bool may_grow = spilled.code() == StatusCode::kNoSpace &&
                                heads_->active->memory_bytes() < limits_.replayed_bytes(false);
          if (!spilled.ok() && !may_grow) return spilled;
          if (spilled.ok()) deletes_spilled = replayer.deletes_applied();
        }
        CISTERN_ASSIGN_OR_RETURN(const uint64_t versions,
                                 replayer.Visit(sequence, record, new_family));
        heads_->versions_written += versions;
        if (sequence > replayer.floor()) replayed_bytes_ += record.size();
        ++report->records_replayed;
        store_->journal().NoteReplayed(record);
        return Status::Ok();
      }));
  sequence_ = replayer.last_sequence();
  generation_deletes_ = replayer.deletes_applied() - deletes_spilled;
  synced_ = sequence_.load();
  if (heads_->active->version_count() > 0) {
    // As old as its rows, whoever wrote them: a process that restarts often has an old head too.
    const int64_t age_us = clock_->now_s() * 1'000'000 - replayer.first_write_us();
    generation_start_us_ = clock_->monotonic_us() - std::max<int64_t>(age_us, 0);
    if (generation_start_us_ == 0) generation_start_us_ = 1;
  }
  replayer.Report(report);
  if (!replayer.lost_any() || read_only) return Status::Ok();
  return PassLoss(overflow, report);
}

// REQUIRES: the leader's lock.
Status Committer::SpillReplayed(uint64_t journal_floor, const OverflowFunction& overflow) {
  FrozenState full;
  full.journal_floor = journal_floor;
  full.versions_written = heads_->versions_written;
  full.version_count = heads_->active->version_count();
  full.journal_bytes = replayed_bytes_;
  full.write_us_last = clock_->last_issued_us();
  full.clock = clock_->TakeRecord();
  CISTERN_RETURN_IF_ERROR(overflow(full));
  replayed_bytes_ = 0;
  StartGeneration(MakeGeneration());
  return Status::Ok();
}

// What was lost must neither be replayed nor reported again: the floor passes it. An opening that
// ends between that and its report leaves the doubt, so that the next one reports a loss.
// REQUIRES: the leader's lock.
Status Committer::PassLoss(const OverflowFunction& overflow, RecoveryReport* report) {
  Status s = store_->beacon().NoteLostLogs(
      {report->lost_sequence_first, report->lost_sequence_last});
  if (s.ok()) s = SpillReplayed(sequence_, overflow);
  if (s.code() != StatusCode::kNoSpace) return s;
  report->notes.push_back("no room to note the loss: the next open will report it again");
  return Status::Ok();
}

Status Committer::GiveUpTo(uint64_t sequence, const OverflowFunction& overflow,
                           RecoveryReport* report) {
  const std::lock_guard lock(mutex_);
  if (sequence_ >= sequence) return Status::Ok();
  sequence_ = sequence;
  synced_ = sequence;
  return PassLoss(overflow, report);
}

}  // namespace cistern
