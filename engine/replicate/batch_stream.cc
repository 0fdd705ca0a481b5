#include "engine/replicate/batch_stream.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "engine/replicate/push_expiry.h"
#include "lib/base/concat.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {
namespace {

// Cassandra's own mark of "no timestamp": a cell cannot have it.
constexpr int64_t kNoTimestamp = std::numeric_limits<int64_t>::min();

Status TimestampRefused(const TableSchema& schema) {
  return Status::OutOfRange(Concat({"table ", schema.QualifiedName(),
      ": the write timestamp of a row or a delete is the lowest int64, which no server takes"}));
}

PushOptions Clamped(PushOptions options) {
  options.statement_count_max =
      std::clamp<size_t>(options.statement_count_max, 1, limits::kPushStatementsMax);
  return options;
}

}  // namespace

BatchStream::BatchStream(std::shared_ptr<const RowBinder> binder, PushOptions options,
                         SealContent content, PushPosition from)
    : binder_(std::move(binder)),
      schema_(binder_->statements().schema()),
      options_(Clamped(options)),
      content_(std::move(content)),
      position_(from) {}

Status BatchStream::Next(std::optional<int64_t> now_s, PushBatch* batch) {
  batch->Clear();
  const PushPosition begin = position_;
  const Status filled = Fill(now_s, batch);
  if (!filled.ok()) {
    batch->Clear();
    position_ = begin;
    ClosePage();
  }
  batch->next = position_;
  return filled;
}

Status BatchStream::Fill(std::optional<int64_t> now_s, PushBatch* batch) {
  if (position_.range_delete < content_.deletes.size()) return FillRanges(batch);
  if (position_.page >= content_.page_count) return Status::Ok();
  if (!page_is_open_) CISTERN_RETURN_IF_ERROR(OpenPage(now_s));
  return FillRows(now_s, batch);
}

Status BatchStream::FillRanges(PushBatch* batch) {
  if (options_.mode == TimestampMode::kEventTime) {
    return Status::NotSupported(Concat({"table ", schema_.QualifiedName(),
        ": a range is deleted, which a table with event timestamps cannot have: nothing written "
        "later would show"}));
  }
  for (; position_.range_delete < content_.deletes.size(); ++position_.range_delete) {
    const RangeDelete& range = content_.deletes[position_.range_delete];
    if (range.write_us == kNoTimestamp) return TimestampRefused(schema_);
    const size_t begin = batch->values().size();
    StatementKind kind = StatementKind::kDeletePartition;
    if (!binder_->BindRange(range, &kind, batch->open_values())) {
      ++batch->tally.empty;
      continue;
    }
    if (!HasRoom(*batch, PushBatch::kEntryBytes)) {
      batch->open_values()->resize(begin);
      return Status::Ok();
    }
    batch->Add(kind, static_cast<uint16_t>(binder_->statements().of(kind).binds.size()), begin);
    ++batch->tally.sent;
  }
  return Status::Ok();
}

Status BatchStream::OpenPage(std::optional<int64_t> now_s) {
  CISTERN_ASSIGN_OR_RETURN(SealPage page, content_.read_page(position_.page, now_s));
  rows_ = std::move(page.rows);
  shadowed_ = std::move(page.shadowed);
  CISTERN_RETURN_IF_ERROR(CheckPage());
  page_now_s_.reset();
  if (options_.names_now) page_now_s_ = is_by_event() ? EventPageNow(rows_) : PageNow(rows_);
  LookAtCells();
  BeginPage(now_s);
  page_is_open_ = true;
  return Status::Ok();
}

Status BatchStream::CheckPage() const {
  const std::string page = Concat({"page ", position_.page, " of table ",
      schema_.QualifiedName()});
  if (rows_.columns.size() != schema_.columns.size()) {
    return Status::Internal(Concat({page, " was not mapped to the schema of its statements"}));
  }
  if (std::any_of(rows_.boot.begin(), rows_.boot.end(), [](uint32_t boot) { return boot != 0; })) {
    return Status::Internal(Concat({page, " has rows whose time is not known yet: it cannot be "
        "sealed"}));
  }
  if (position_.row > rows_.row_count) {
    return Status::Corruption(Concat({page, " has ", rows_.row_count, " rows, but row ",
        position_.row, " was to be pushed next"}));
  }
  const auto& times = rows_.write_us;
  if (options_.mode == TimestampMode::kWriteTime &&
      std::find(times.begin(), times.end(), kNoTimestamp) != times.end()) {
    return TimestampRefused(schema_);
  }
  return CheckTimestampMode(options_.mode, schema_, rows_);
}

void BatchStream::LookAtCells() {
  all_have_values_ = false;
  mixed_columns_.clear();
  multicell_columns_.clear();
  for (const size_t c : schema_.regular_columns) {
    if (schema_.columns[c].type.is_multicell) multicell_columns_.push_back(c);
    const std::vector<CellState>& states = rows_.columns[c].states;
    if (states.empty()) {
      all_have_values_ = true;
    } else {
      mixed_columns_.push_back(c);
    }
  }
}

// Whether the first pass of the page has anything to send.
bool BatchStream::HasDeletions() const {
  const auto is_over = [&](uint32_t expiry_s) {
    return expiry_s != 0 && expiry_s <= position_.judged_s;
  };
  const auto deletes_row = [](uint8_t flags) { return (flags & kVersionDeleteRow) != 0; };
  return std::any_of(rows_.expiry_s.begin(), rows_.expiry_s.end(), is_over) ||
         std::any_of(rows_.flags.begin(), rows_.flags.end(), deletes_row) ||
         std::any_of(mixed_columns_.begin(), mixed_columns_.end(), [&](size_t c) {
           const std::vector<CellState>& states = rows_.columns[c].states;
           return std::find(states.begin(), states.end(), CellState::kNull) != states.end();
         }) ||
         std::any_of(multicell_columns_.begin(), multicell_columns_.end(), [&](size_t c) {
           const std::vector<CellState>& states = rows_.columns[c].states;
           return states.empty() ||
                  std::find(states.begin(), states.end(), CellState::kValue) != states.end();
         });
}

// Goes on in the page where it was left, if it was begun in as many passes as it has now: another
// protocol version may have been agreed upon since. A page that is sent twice changes nothing.
void BatchStream::BeginPage(std::optional<int64_t> now_s) {
  const bool has_two_passes = page_now_s_.has_value();
  const bool is_begun = position_.row > 0 || position_.pass == PushPass::kRows;
  const bool had_two_passes = position_.pass != PushPass::kWhole;
  if (is_begun && had_two_passes == has_two_passes) return;
  position_.row = 0;
  position_.judged_s = 0;
  position_.pass = PushPass::kWhole;
  if (!has_two_passes) return;
  constexpr int64_t kLast = std::numeric_limits<uint32_t>::max();
  position_.judged_s = static_cast<uint32_t>(std::clamp<int64_t>(now_s.value_or(0), 0, kLast));
  position_.pass = HasDeletions() ? PushPass::kDeletions : PushPass::kRows;
}

Status BatchStream::FillRows(std::optional<int64_t> now_s, PushBatch* batch) {
  while (page_is_open_ && batch->empty()) {
    const PushPass pass = position_.pass;
    if (pass != PushPass::kWhole) {
      now_s = position_.judged_s == 0 ? std::nullopt
                                      : std::optional<int64_t>(position_.judged_s);
    }
    for (; position_.row < rows_.row_count; ++position_.row) {
      CISTERN_ASSIGN_OR_RETURN(const bool is_added, AddVersion(position_.row, now_s, batch));
      if (!is_added) return Status::Ok();
    }
    EndPass();
  }
  return Status::Ok();
}

void BatchStream::EndPass() {
  position_.row = 0;
  if (position_.pass == PushPass::kDeletions) {
    position_.pass = PushPass::kRows;
    return;
  }
  position_.pass = PushPass::kWhole;
  position_.judged_s = 0;
  ++position_.page;
  ClosePage();
}

// What it was decoded into goes before the next one comes.
void BatchStream::ClosePage() {
  rows_ = {};
  shadowed_ = {};
  page_is_open_ = false;
}

// False: the batch has no room for the version, or another now.
Result<bool> BatchStream::AddVersion(size_t i, std::optional<int64_t> now_s, PushBatch* batch) {
  const bool counts = position_.pass != PushPass::kDeletions;  // each version once
  if (!shadowed_.empty() && shadowed_[i]) {
    batch->tally.shadowed += counts ? 1 : 0;
    return true;
  }
  const VersionTraits version = TraitsOf(i, now_s);
  const EmissionRules rules = {position_.pass, options_.mode, options_.names_now};
  const std::optional<Emission> emission = EmitVersion(version, rules);
  if (emission) {
    const Result<Terms> terms = TermsOf(*emission, i, now_s);
    if (!batch->empty() && !terms.ok()) return false;  // what stands before it goes
    if (!terms.ok()) return terms.status();
    const bool goes_with_any = is_by_event() && emission->life != Emission::Life::kExpiry;
    const auto now = goes_with_any && !batch->empty() ? batch->now_in_seconds : terms.value().now_s;
    if (!batch->empty() && batch->now_in_seconds != now) return false;
    const size_t begin = batch->values().size();
    const int64_t timestamp_us = PushTimestamp(options_.mode, schema_, rows_, i);
    binder_->BindRow(*emission, rows_, i, timestamp_us, terms.value().ttl_s,
                     batch->open_values());
    if (!HasRoom(*batch, PushBatch::kEntryBytes)) {
      batch->open_values()->resize(begin);
      return false;
    }
    const PushStatement& statement = binder_->statements().of(emission->kind);
    batch->Add(emission->kind, static_cast<uint16_t>(statement.binds.size()), begin);
    batch->now_in_seconds = now;
  }
  if (!counts) return true;
  const bool says_something = version.deletes_row || version.has_liveness || version.has_values ||
                              version.has_nulls;
  if (version.is_expired && !version.may_shadow) {
    ++batch->tally.expired;
  } else {
    ++(says_something ? batch->tally.sent : batch->tally.empty);
  }
  return true;
}

Result<BatchStream::Terms> BatchStream::TermsOf(const Emission& emission, size_t i,
                                                std::optional<int64_t> now_s) const {
  Terms terms;
  if (position_.pass == PushPass::kRows) terms.now_s = page_now_s_;
  if (emission.life == Emission::Life::kSecond) terms.ttl_s = 1;
  if (emission.life != Emission::Life::kExpiry) return terms;
  const uint32_t expiry_s = rows_.expiry_s[i];
  if (!page_now_s_) {
    CISTERN_ASSIGN_OR_RETURN(terms.ttl_s, RemainingTtl(expiry_s, now_s));
    return terms;
  }
  const std::optional<ExactTtl> exact =
      is_by_event() || ExpiresLate(expiry_s) ? EventTtlOf(expiry_s)
                                             : ExactTtlOf(*page_now_s_, expiry_s);
  if (!exact) {
    return Status::OutOfRange(Concat({"table ", schema_.QualifiedName(),
        ": a row expires at second ", expiry_s, " since 1970, which the protocol cannot say"}));
  }
  terms.now_s = exact->now_s;
  terms.ttl_s = exact->ttl_s;
  return terms;
}

VersionTraits BatchStream::TraitsOf(size_t i, std::optional<int64_t> now_s) const {
  VersionTraits version;
  const uint8_t flags = rows_.flags[i];
  version.deletes_row = (flags & kVersionDeleteRow) != 0;
  version.has_liveness = (flags & kVersionLiveness) != 0;
  version.has_values = all_have_values_;
  for (const size_t c : mixed_columns_) {
    const CellState state = rows_.columns[c].states[i];
    version.has_values |= state == CellState::kValue;
    version.has_nulls |= state == CellState::kNull;
  }
  version.replaces_elements =
      std::any_of(multicell_columns_.begin(), multicell_columns_.end(), [&](size_t c) {
        return rows_.columns[c].state(i) == CellState::kValue;
      });
  version.expires = rows_.expiry_of(i) != 0;
  version.is_expired = IsExpired(rows_.expiry_of(i), now_s);
  version.may_shadow = version.is_expired && MayShadow(i);
  return version;
}

// The versions of one key stand beside each other, in this page or the next one. In event time
// they are of one age, so that one of a later seal may be shadowed as well.
bool BatchStream::MayShadow(size_t i) const {
  if (options_.older_may_exist || options_.mode == TimestampMode::kEventTime) return true;
  const bool is_first = i == 0;
  const bool is_last = i + 1 == rows_.row_count;
  if (is_first && position_.page > 0) return true;
  if (is_last && position_.page + 1 < content_.page_count) return true;
  return (!is_first && CompareRows(schema_, rows_, i - 1, rows_, i) == 0) ||
         (!is_last && CompareRows(schema_, rows_, i, rows_, i + 1) == 0);
}

// Whether the batch may keep the values that were just appended to it. The first may be of any
// size: a row has at most limits::kRowBytesMax.
bool BatchStream::HasRoom(const PushBatch& batch, size_t more_bytes) const {
  if (batch.empty()) return true;
  return batch.entries().size() < options_.statement_count_max &&
         batch.byte_count() + more_bytes <= options_.byte_count_max;
}

}  // namespace cistern::replicate
