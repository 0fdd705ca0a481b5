// Opening: the journal becomes the head again.
#include "engine/bucketing/bucketer.h"
#include "engine/ingest/committer.h"
#include "engine/ingest/row_placement.h"
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
    sequence_ = sequence;
    apply_ = apply;
    heads_->active->set_sequence(sequence);
  }
  [[nodiscard]] uint64_t versions_applied() const { return versions_applied_; }

  void OnRow(uint32_t table_id, std::string_view entity, const RowBatch& batch, size_t row,
             uint32_t split, const RowStamp& stamp) override {
    clock_->NoteIssued(stamp.write_us, stamp.boot);
    if (!apply_) return;
    const auto table = tables_->FindById(table_id);
    const int64_t start_s =
        Bucketer(*table->schema).StartOf(EventTimeOf(*table->schema, batch, row));
    Head& head = *heads_->active;
    EntitySlot* slot = head.FindOrAddEntity(table_id, table->schema, entity);
    head.AppendRow(head.FindOrAddBucket(slot, start_s, split), batch, row, stamp);
    ++versions_applied_;
  }

  void OnRangeDelete(uint32_t table_id, std::string_view entity, int64_t start_s, uint32_t split,
                     const RangeDelete& range) override {
    clock_->NoteIssued(range.write_us, range.boot);
    if (!apply_) return;
    Head& head = *heads_->active;
    EntitySlot* slot = head.FindOrAddEntity(table_id, tables_->FindById(table_id)->schema, entity);
    head.AddRangeDelete(head.FindOrAddBucket(slot, start_s, split), range);
    ++versions_applied_;
  }

 private:
  HeadSet* const heads_;
  TableSet* const tables_;
  WriteClock* const clock_;
  uint64_t sequence_ = 0;
  bool apply_ = true;
  uint64_t versions_applied_ = 0;
};

// Walks the journal, keeps the report, and knows where rows stop being trustworthy.
class Replayer {
 public:
  Replayer(HeadSet* heads, TableSet* tables, WriteClock* clock, uint64_t journal_floor)
      : sink_(heads, tables, clock), tables_(tables), floor_(journal_floor) {}

  // Feeds one record to the head. After a gap or a damaged record nothing more is
  // applied: later records are coded against what is missing.
  [[nodiscard]] uint64_t Visit(uint64_t sequence, std::string_view record, bool new_family) {
    last_seen_ = sequence;
    if (!damage_.empty()) return 0;
    if (new_family) {
      decoder_ = std::make_unique<JournalDecoder>([this](uint32_t id) {
        const TablePtr table = tables_->FindById(id);
        return table ? table->schema : std::shared_ptr<const TableSchema>();
      });
    } else if (sequence != last_good_ + 1) {
      damage_ = "the journal jumps from record " + std::to_string(last_good_) + " to " +
                std::to_string(sequence);
      return 0;
    }
    sink_.BeginRecord(sequence, sequence > floor_);
    const uint64_t before = sink_.versions_applied();
    const Status s = decoder_->Decode(record, sequence, &sink_);
    if (!s.ok()) {
      damage_ = "journal record " + std::to_string(sequence) + ": " + s.message();
      return sink_.versions_applied() - before;
    }
    last_good_ = sequence;
    return sink_.versions_applied() - before;
  }

  [[nodiscard]] uint64_t last_good() const { return last_good_; }
  [[nodiscard]] uint64_t last_seen() const { return last_seen_; }
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  ReplaySink sink_;
  TableSet* const tables_;
  const uint64_t floor_;
  std::unique_ptr<JournalDecoder> decoder_;
  uint64_t last_good_ = 0;
  uint64_t last_seen_ = 0;
  std::string damage_;
};

}  // namespace

Status Committer::Replay(const OverflowFunction& overflow, RecoveryReport* report) {
  const std::lock_guard lock(mutex_);
  const uint64_t floor = store_->state().journal_floor;
  Replayer replayer(heads_, tables_, clock_, floor);
  const auto spill = [&](uint64_t journal_floor) -> Status {
    FrozenState full;
    full.journal_floor = journal_floor;
    full.versions_written = heads_->versions_written;
    full.version_count = heads_->active->version_count();
    full.write_us_last = clock_->last_issued_us();
    CISTERN_RETURN_IF_ERROR(overflow(full));
    StartGeneration();
    return Status::Ok();
  };
  CISTERN_RETURN_IF_ERROR(store_->journal().Replay(
      [&](uint64_t sequence, std::string_view record, bool new_family) -> Status {
        if (heads_->active->memory_bytes() >= limits_.head_bytes) {
          CISTERN_RETURN_IF_ERROR(spill(replayer.last_good()));
        }
        heads_->versions_written += replayer.Visit(sequence, record, new_family);
        ++report->records_replayed;
        return Status::Ok();
      }));
  sequence_ = std::max(floor, replayer.last_seen());
  synced_ = sequence_.load();
  if (replayer.damage().empty()) return Status::Ok();
  // What lies behind the damage must never be replayed: the floor passes it.
  report->clean = false;
  report->recovered_with_loss = true;
  report->lost_sequence_first = replayer.last_good() + 1;
  report->lost_sequence_last = replayer.last_seen();
  report->notes.push_back(replayer.damage() + "; the records from there on are lost");
  return spill(sequence_);
}

void Committer::SkipSequencesTo(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence_ < sequence) sequence_ = sequence;
}

}  // namespace cistern
