#include "engine/replicate/seal_proof.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/row/reconcile.h"

namespace cistern::replicate {
namespace {

// Counting takes a while: what expires within it is not expected to be counted.
constexpr int64_t kCountSlackS = 60;
// A cell's writetime() and ttl(), with the lengths of all three.
constexpr size_t kCellOverheadBytes = 24;

// A cell of a server's count; nothing: null, or no bigint.
std::optional<int64_t> BigintOf(const cql::CellView& cell) {
  if (!cell || cell->size() != sizeof(int64_t)) return std::nullopt;
  return GetBig<int64_t>(cell->data());
}

}  // namespace

void ProofTally::Add(const ProofTally& other) {
  proven += other.proven;
  newer += other.newer;
  expired += other.expired;
  deleted += other.deleted;
  shadowed += other.shadowed;
  empty += other.empty;
  differing += other.differing;
}

SealProof::SealProof(const ProofOptions& options, SealSource source)
    : options_(options),
      source_(std::move(source)),
      schema_(source_.binder->statements().schema()),
      upstream_(schema_) {
  other_.cells.resize(schema_.regular_columns.size());
  counted_.columns.resize(schema_.regular_columns.size());
}

Result<ProofStep> SealProof::Next(std::optional<int64_t> now_s) {
  switch (phase_) {
    case Phase::kBegin:
      if (options_.level == ProofLevel::kAck || source_.content.page_count == 0) {
        return End(ProofEnd::kProven);
      }
      span_ = {0, source_.content.page_count - 1};
      rows_.emplace(source_, span_);
      phase_ = Phase::kCounting;
      if (options_.level == ProofLevel::kRows) BeginReadingBack();
      return ProofStep::kGoOn;
    case Phase::kCounting: return CountOn(now_s);
    case Phase::kReadingBack: return ReadBack(now_s);
    case Phase::kAsking: return ProofStep::kAsk;
    case Phase::kJudging: return JudgeOn(now_s);
    case Phase::kEnded: break;
  }
  return ProofStep::kEnd;
}

Status SealProof::Take(const cql::RowsResult& answer) {
  CISTERN_CHECK(phase_ == Phase::kAsking);
  if (query_.statement == ProofStatement::kCount) return TakeCount(answer);
  CISTERN_RETURN_IF_ERROR(upstream_.Take(answer));
  phase_ = Phase::kJudging;
  return Status::Ok();
}

ProofStep SealProof::End(ProofEnd end) {
  phase_ = Phase::kEnded;
  end_ = end;
  return ProofStep::kEnd;
}

SealSource SealProof::source_to_send() const {
  CISTERN_CHECK(again_.has_value());
  SealSource source = source_;
  source.options.older_may_exist = true;
  source.content.page_count = again_->last - again_->first + 1;
  source.content.read_page = [read = source_.content.read_page, first = again_->first](
                                 uint32_t page, std::optional<int64_t> now_s) {
    return read(first + page, now_s);
  };
  return source;
}

void SealProof::SentAgain() {
  CISTERN_CHECK(phase_ == Phase::kEnded && end_ == ProofEnd::kSendAgain);
  was_sent_again_ = true;
  span_ = *again_;
  again_.reset();
  BeginReadingBack();
}

// --- level count

Result<ProofStep> SealProof::CountOn(std::optional<int64_t> now_s) {
  for (;;) {
    CISTERN_ASSIGN_OR_RETURN(const SealRows::Found found, rows_->Next(now_s, &row_));
    if (found == SealRows::Found::kPage) return ProofStep::kGoOn;
    if (found == SealRows::Found::kEnd) break;
    CountRow(now_s);
  }
  if (counted_.rows == 0) return End(ProofEnd::kProven);
  AskForCount();
  return ProofStep::kAsk;
}

void SealProof::CountRow(std::optional<int64_t> now_s) {
  const JudgeRules rules{source_.options.mode, source_.options.older_may_exist, now_s,
                         kCountSlackS};
  const auto lives = [&](const SealCell& cell) {
    return cell.state == CellState::kValue && !MayBeOver(cell, rules);
  };
  bool row_lives = lives(row_.marker);
  for (size_t k = 0; k < row_.cells.size(); ++k) {
    if (!lives(row_.cells[k])) continue;
    row_lives = true;
    Counted::Column& column = counted_.columns[k];
    const int64_t write_us = row_.cells[k].write_us;
    column.newest_us = column.cells == 0 ? write_us : std::max(column.newest_us, write_us);
    ++column.cells;
  }
  if (!row_lives) return;
  if (counted_.rows++ == 0) counted_.first = row_.key;
  counted_.last = row_.key;
}

void SealProof::AskForCount() {
  const bool is_backwards = schema_.columns[schema_.time_column()].descending;
  const CellValue& low = is_backwards ? counted_.last[0] : counted_.first[0];
  const CellValue& high = is_backwards ? counted_.first[0] : counted_.last[0];
  AskForRows(low, high);
  query_.statement = ProofStatement::kCount;
  query_.page_rows = std::max<uint32_t>(options_.page_rows_max, 1);  // of the server's own reads
}

Status SealProof::TakeCount(const cql::RowsResult& answer) {
  const size_t width = CountAnswerWidth(schema_);
  if (answer.rows.row_count() != 1 || answer.rows.column_count() != width) {
    return Status::Corruption(Concat({"the cluster's count of table ", schema_.QualifiedName(),
        " has ", answer.rows.row_count(), " rows of ", answer.rows.column_count(),
        " columns, not one of ", width}));
  }
  cql::RowReader reader(answer.rows);
  static_cast<void>(reader.Next());
  const auto reaches = [&reader](size_t at, int64_t least) {
    const std::optional<int64_t> counted = BigintOf(reader[at]);
    return counted && *counted >= least;
  };
  bool is_enough = reaches(0, static_cast<int64_t>(counted_.rows));
  // The query asks for no times beyond these, so they are reached exactly.
  for (const size_t at : {1, 2}) {
    CellValue time;
    const ColumnType& type = schema_.columns[schema_.time_column()].type;
    const bool is_low = (at == 1) != schema_.columns[schema_.time_column()].descending;
    const bool is_time = reader[at] && ParseWireValue(type, *reader[at], &time).ok();
    is_enough = is_enough && is_time && time == (is_low ? counted_.first : counted_.last)[0];
  }
  for (size_t k = 0; k < counted_.columns.size(); ++k) {
    const Counted::Column& column = counted_.columns[k];
    if (column.cells == 0) continue;
    const size_t at = kCountColumnsBegin + kCountCellsOfColumn * k;
    is_enough = is_enough && reaches(at, static_cast<int64_t>(column.cells)) &&
                reaches(at + 1, column.newest_us);
  }
  reached_ = ProofLevel::kCount;
  if (is_enough) {
    static_cast<void>(End(ProofEnd::kProven));
  } else {
    BeginReadingBack();
  }
  return Status::Ok();
}

// --- level rows

void SealProof::BeginReadingBack() {
  phase_ = Phase::kReadingBack;
  rows_.emplace(source_, span_);
  upstream_.Clear();
  has_row_ = false;
  has_upstream_row_ = false;
  upstream_is_at_end_ = false;
}

Result<ProofStep> SealProof::ReadBack(std::optional<int64_t> now_s) {
  CISTERN_ASSIGN_OR_RETURN(const auto bounds, rows_->ReadBounds(now_s));
  if (!bounds) return End(ProofEnd::kProven);
  reached_ = ProofLevel::kRows;
  AskForRows(bounds->first, bounds->second);
  return ProofStep::kAsk;
}

// Of the partition, between two event times.
void SealProof::AskForRows(const CellValue& low, const CellValue& high) {
  query_ = {};
  query_.statement = ProofStatement::kRows;
  query_.values.bytes = source_.binder->partition_values();
  query_.values.count = static_cast<uint16_t>(schema_.partition_key.size());
  cql::ValueWriter writer(&query_.values);
  for (const CellValue* time : {&low, &high}) {
    writer.Value(schema_.columns[schema_.time_column()].type, time->fixed, time->bytes);
  }
  query_.page_rows = PageRows();
  phase_ = Phase::kAsking;
}

// So many rows as ours as an answer may have bytes for.
uint32_t SealProof::PageRows() const {
  const size_t row_bytes =
      rows_->version_bytes() + kCellOverheadBytes * (1 + schema_.regular_columns.size());
  const auto most = std::max<uint32_t>(options_.page_rows_max, 1);
  return static_cast<uint32_t>(std::clamp<size_t>(options_.page_bytes / row_bytes, 1, most));
}

Result<ProofStep> SealProof::JudgeOn(std::optional<int64_t> now_s) {
  for (;;) {
    if (!has_row_) {
      CISTERN_ASSIGN_OR_RETURN(const SealRows::Found found, rows_->Next(now_s, &row_));
      if (found == SealRows::Found::kPage) return ProofStep::kGoOn;
      if (found == SealRows::Found::kEnd) return EndOfRows();
      if (was_sent_again_ && row_.key == counted_before_) continue;
      has_row_ = true;
      MeetPage();
    }
    if (!has_upstream_row_ && !upstream_is_at_end_) {
      CISTERN_ASSIGN_OR_RETURN(has_upstream_row_, upstream_.Next());
      if (!has_upstream_row_ && upstream_.has_more_pages()) {
        query_.paging_state = upstream_.paging_state();
        query_.page_rows = PageRows();
        phase_ = Phase::kAsking;
        return ProofStep::kAsk;
      }
      upstream_is_at_end_ = !has_upstream_row_;
    }
    const auto order = has_upstream_row_ ? CompareKeys(schema_, row_.key, upstream_.row().key)
                                         : std::strong_ordering::less;
    if (order > 0) {
      JudgeOther(now_s);
    } else {
      Judge(row_, order == 0 ? &upstream_.row() : nullptr, now_s, &page_);
      if (row_.pages.first != row_.pages.last) {
        spilled_key_ = row_.key;
        spilled_pages_ = row_.pages;
        // What is looked at again has all versions of the rows that are counted with it.
        if (again_ && again_->Has(PageOf(row_.pages))) again_->Add(row_.pages);
      }
      has_row_ = false;
    }
    if (order >= 0) has_upstream_row_ = false;
  }
}

// A row that the seal has not, before the next one that it has. It is none of its tally.
void SealProof::JudgeOther(std::optional<int64_t> now_s) {
  if (source_.content.deletes.empty()) return;
  other_.key = upstream_.row().key;
  other_.pages = row_.pages;
  other_.deleted_up_to_us = DeletedUpTo(source_.content.deletes, EventTimeOf(schema_, other_.key));
  if (other_.deleted_up_to_us == kNothingDeleted) return;
  ProofTally none;
  Judge(other_, &upstream_.row(), now_s, &none);
}

void SealProof::Judge(const SealRow& row, const UpstreamRow* upstream, std::optional<int64_t> now_s,
                      ProofTally* tally) {
  const JudgeRules rules{source_.options.mode, source_.options.older_may_exist || was_sent_again_,
                         now_s, options_.expiry_slack_s, was_sent_again_};
  const Judgement judgement = JudgeRow(schema_, row, upstream, rules);
  switch (judgement.finding) {
    case Finding::kNothing: ++tally->empty; return;
    case Finding::kDeleted: ++tally->deleted; return;
    case Finding::kOver: ++tally->expired; return;
    case Finding::kAsSent: ++tally->proven; return;
    case Finding::kNewer: ++tally->newer; return;
    case Finding::kUnseen:
      if (!was_sent_again_) return SendAgain(row.pages);
      ++tally->newer;  // our deletion is there now, so the row was written after it
      return;
    case Finding::kAbsent:
      if (!was_sent_again_) return SendAgain(row.pages);
      ++tally->shadowed;
      return;
    case Finding::kOlder:
      if (!was_sent_again_) return SendAgain(row.pages);
      break;
    case Finding::kDiffers: break;
  }
  ++settled_.differing;
  if (why_.empty()) {
    why_ = Concat({"table ", schema_.QualifiedName(), ": ",
        Describe(schema_, row, *upstream, judgement)});
  }
}

void SealProof::SendAgain(const PageSpan& pages) {
  if (again_) return again_->Add(pages);
  again_ = pages;
  // A row that reaches into them from a page before is counted there.
  if (!spilled_key_.empty() && spilled_pages_.Has(PageOf(pages))) counted_before_ = spilled_key_;
}

// A row is counted with the page in which it was met first.
uint32_t SealProof::PageOf(const PageSpan& pages) const {
  return schema_.columns[schema_.time_column()].descending ? pages.last : pages.first;
}

void SealProof::MeetPage() {
  const uint32_t page = PageOf(row_.pages);
  if (page != page_number_) Settle();
  page_number_ = page;
}

// Pages that are sent again are counted then, and those between two of them are too.
void SealProof::Settle() {
  if (!again_) {
    settled_.Add(page_);
  } else if (again_->Has(page_number_)) {
    since_ = {};
  } else {
    since_.Add(page_);
  }
  page_ = {};
}

ProofStep SealProof::EndOfRows() {
  Settle();
  settled_.Add(since_);
  since_ = {};
  if (!why_.empty()) return End(ProofEnd::kNotProven);
  return End(again_ ? ProofEnd::kSendAgain : ProofEnd::kProven);
}

}  // namespace cistern::replicate
