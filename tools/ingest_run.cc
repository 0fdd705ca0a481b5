#include "tools/ingest_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tools/cell_text.h"
#include "tools/interrupt.h"
#include "tools/time_text.h"
#include "tools/time_unit_guess.h"

namespace cistern::tool {
namespace {

// Failures that one row may cause; the rows beside it can still be stored.
bool IsOfARow(StatusCode code) {
  return code == StatusCode::kInvalidArgument || code == StatusCode::kOutOfRange ||
         code == StatusCode::kTooLarge;
}

}  // namespace

IngestRun::IngestRun(std::shared_ptr<const TableSchema> schema, IngestSettings settings,
                     Progress* progress)
    : schema_(std::move(schema)),
      settings_(std::move(settings)),
      progress_(progress),
      batch_(schema_),
      watch_(schema_),
      measurements_(settings_.measurements) {}

std::string_view IngestRun::RawOf(size_t row) const {
  const size_t begin = row == 0 ? 0 : pending_[row - 1].raw_end;
  return std::string_view(pending_raw_).substr(begin, pending_[row].raw_end - begin);
}

Status IngestRun::Reject(uint64_t line, std::string_view raw, const std::string& reason,
                         bool continues) {
  ++totals_.rejected;
  if (totals_.rejected <= settings_.reasons_shown_max) {
    progress_->Clear();
    settings_.complain(fmt::format("{}:{}: {}", name_, line, reason));
    if (totals_.rejected == settings_.reasons_shown_max) {
      settings_.complain("further lines go to the reject file unnamed; --reasons N names more");
    }
  }
  CISTERN_RETURN_IF_ERROR(rejects_->Add(input_->Original(raw), continues));
  if (totals_.rejected <= settings_.rejected_max) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("more than {} {} rejected; stopped at line {} of {}", settings_.rejected_max,
                  settings_.rejected_max == 1 ? "line was" : "lines were", line, name_));
}

Status IngestRun::TakeBad(const Record& record) {
  const bool rest_of_line = in_long_line_;
  in_long_line_ = record.raw_continues;
  if (rest_of_line) return rejects_->Add(input_->Original(record.raw), in_long_line_);
  return Reject(record.line, record.raw, record.reason, in_long_line_);
}

// The names of --header again: a file that has a header after all, as reject files do. A delimiter
// may end it, as it ends the lines behind it.
bool IngestRun::IsNamedHeader(const Record& record) {
  if (!std::exchange(at_first_record_, false) || settings_.header_names.empty()) return false;
  const size_t count = settings_.header_names.size();
  std::span<const Cell> cells = record.cells;
  if (cells.size() == count + 1 && cells.back().text.empty()) cells = cells.first(count);
  return std::ranges::equal(cells, settings_.header_names, {}, &Cell::text);
}

Status IngestRun::Take(const Record& record, RowMapper* mapper) {
  bool was_added = false;
  return settings_.has_measurements ? TakeMeasured(record, mapper)
                                    : AddRow(record, mapper, &was_added);
}

Status IngestRun::TakeMeasured(const Record& record, RowMapper* mapper) {
  const std::string_view measurement = record.cells.front().text;
  switch (measurements_.Judge(measurement, measurement_is_in_key_)) {
    case MeasurementRule::Verdict::kLeaveOut:
      ++totals_.left_out;
      return Status::Ok();
    case MeasurementRule::Verdict::kRefuse:
      return Reject(record.line, record.raw, measurements_.Reason(measurement));
    case MeasurementRule::Verdict::kTake:
      break;
  }
  bool was_added = false;
  const Status s = AddRow(record, mapper, &was_added);
  if (was_added) measurements_.Took(measurement);
  return s;
}

Status IngestRun::AddRow(const Record& record, RowMapper* mapper, bool* was_added) {
  if (!unit_checked_) CISTERN_RETURN_IF_ERROR(CheckUnit(record, mapper));
  if (const Status s = mapper->AddRow(record, &batch_); !s.ok()) {
    if (!mapper->IsUnitDoubted()) return Reject(record.line, record.raw, s.message());
    return Status::InvalidArgument(fmt::format("{}:{}: {}", name_, record.line, s.message()));
  }
  *was_added = true;
  pending_raw_ += record.raw;
  pending_.push_back({record.line, pending_raw_.size()});
  const int64_t now_us = settings_.clock->MonotonicMicros();
  if (batch_.row_count() == 1) batch_began_us_ = now_us;
  if (now_us - batch_began_us_ >= settings_.batch_age_us_max ||
      batch_.row_count() >= settings_.batch_rows_max ||
      batch_.byte_count() >= settings_.batch_bytes_max ||
      pending_raw_.size() >= settings_.batch_bytes_max) {
    return Flush();
  }
  return Status::Ok();
}

// Of an input's first event time, whether it can be stored or not: nothing is stored of an input
// whose numbers look like another unit than the one for which they are taken. A number that lies in
// 1970, and looks like none, is told.
Status IngestRun::CheckUnit(const Record& record, RowMapper* mapper) {
  constexpr int64_t kYearSeconds = 365 * 86400;
  RowBatch tried(schema_);
  const bool is_row = mapper->AddRow(record, &tried).ok();
  // A row that has the time of its arrival tells nothing of those that have their own.
  unit_checked_ = mapper->HadTime() || (is_row && !mapper->GivesArrivalTimes());
  const std::optional<RowMapper::BareTime> bare = mapper->BareTimeNumber();
  const size_t column = schema_->time_column();
  if (!bare || schema_->columns[column].type.lane() != Lane::kFixed) return Status::Ok();
  if (const auto doubt = UnitDoubt(bare->number, bare->unit)) {
    return Status::InvalidArgument(
        fmt::format("{}:{}: event time {}", name_, record.line, *doubt));
  }
  if (!is_row || bare->unit == TimeUnit::kSeconds || UnitByUse(bare->number)) return Status::Ok();
  const int64_t ticks = tried.fixed(0, column);
  if (ticks / TicksPerSecond(schema_->time_unit) >= kYearSeconds) return Status::Ok();
  progress_->Clear();
  settings_.complain(fmt::format(
      "{}:{}: event time {} is taken for {}, {}; if it counts seconds, say --time-unit s", name_,
      record.line, bare->number, PluralOf(bare->unit), FormatTicks(ticks, schema_->time_unit)));
  return Status::Ok();
}

// What was rejected is in its file when the rows beside it are stored.
Status IngestRun::Flush() {
  Status s;
  if (!batch_.empty()) {
    const uint64_t last_line = pending_.back().line;
    const Status refused =
        settings_.duplicates == DuplicatePolicy::kRefuse ? RefuseDuplicates() : Status::Ok();
    if (!batch_.empty()) s = AppendRows(batch_, 0);
    if (s.ok()) stored_to_line_ = last_line;
    if (s.ok()) s = refused;
    batch_.Clear();
    pending_.clear();
    pending_raw_.clear();
  }
  const Status kept = rejects_->Flush();
  return s.ok() ? kept : s;
}

// Takes the rows out of batch_ that would replace what earlier ones said.
Status IngestRun::RefuseDuplicates() {
  RowBatch kept(schema_);
  std::vector<Pending> pending;
  std::string raw;
  Status s;
  for (size_t row = 0; row < batch_.row_count(); ++row) {
    const DuplicateWatch::Verdict verdict = watch_.Look(batch_, row);
    if (verdict == DuplicateWatch::Verdict::kReplaces) {
      const Status rejected =
          Reject(pending_[row].line, RawOf(row),
                 "a value of an earlier line of this run would be replaced, which has the same "
                 "key; --duplicates allow takes the last one");
      if (s.ok()) s = rejected;
      continue;
    }
    if (watch_.Add(batch_, row) == DuplicateWatch::Verdict::kUnknown) ++totals_.uncompared;
    CISTERN_RETURN_IF_ERROR(CopyRow(batch_, row, &kept));
    raw += RawOf(row);
    pending.push_back({pending_[row].line, raw.size()});
  }
  batch_ = std::move(kept);
  pending_ = std::move(pending);
  pending_raw_ = std::move(raw);
  return s;
}

// Of rows that are stored: `batch`, whose first is row `first` of batch_.
void IngestRun::CountDuplicates(const RowBatch& batch, size_t first) {
  for (size_t row = 0; row < batch.row_count(); ++row) {
    switch (watch_.Add(batch, row)) {
      case DuplicateWatch::Verdict::kNew:
        break;
      case DuplicateWatch::Verdict::kUnknown:
        ++totals_.uncompared;
        break;
      case DuplicateWatch::Verdict::kReplaces:
        if (totals_.replaced++ > 0) break;
        totals_.first_replaced = fmt::format("{}:{}", name_, pending_[first + row].line);
        break;
    }
  }
}

// All rows of `batch`, whose first is row `first` of batch_. A batch is taken whole or not at
// all: when a row of it is refused, halves find out which.
Status IngestRun::AppendRows(const RowBatch& batch, size_t first) {
  const Status s = settings_.append(batch);
  if (s.ok()) {
    totals_.rows += batch.row_count();
    if (settings_.duplicates == DuplicatePolicy::kWarn) CountDuplicates(batch, first);
    return s;
  }
  if (!IsOfARow(s.code())) return s;
  const size_t count = batch.row_count();
  if (count == 1) {
    if (settings_.duplicates == DuplicatePolicy::kRefuse) watch_.Forget(batch, 0);
    return Reject(pending_[first].line, RawOf(first), s.message());
  }
  CISTERN_RETURN_IF_ERROR(AppendHalf(batch, 0, count / 2, first));
  return AppendHalf(batch, count / 2, count, first);
}

Status IngestRun::AppendHalf(const RowBatch& batch, size_t begin, size_t end, size_t first) {
  RowBatch half(schema_);
  for (size_t row = begin; row < end; ++row) CISTERN_RETURN_IF_ERROR(CopyRow(batch, row, &half));
  return AppendRows(half, first + begin);
}

Status IngestRun::Read(const std::string& name, Input* input, RecordReader* reader,
                       RowMapper* mapper, RejectFile* rejects) {
  name_ = name;
  input_ = input;
  rejects_ = rejects;
  stored_to_line_ = 0;
  in_long_line_ = false;
  at_first_record_ = true;
  unit_checked_ = false;
  measurement_is_in_key_ = mapper->IsInKey(kMeasurementCell);
  Record record;
  Status s;
  bool reading = true;
  while (reading && s.ok()) {
    switch (reader->Next(&record)) {
      case ReadOutcome::kRecord:
        if (IsNamedHeader(record)) break;
        ++record.number;
        s = Take(record, mapper);
        break;
      case ReadOutcome::kBad:
        if (!in_long_line_) ++record.number;
        s = TakeBad(record);
        break;
      case ReadOutcome::kIdle:  // nothing came for a while: what is there is stored
        s = Flush();
        break;
      case ReadOutcome::kFailed:
        s = input->status();
        break;
      case ReadOutcome::kEnd:
        // A line may go on and its rest never come, as behind a mistake in a document.
        if (in_long_line_) s = rejects_->Add({});
        reading = false;
        break;
      case ReadOutcome::kInterrupted:
        reading = false;
        break;
    }
    if (batch_.empty()) {
      progress_->Update(name, input->bytes_read(), input->size(), totals_.rows, totals_.rejected);
      if (InterruptSignal() != 0) reading = false;
    }
  }
  // Rows read before the input failed, or before too many lines were rejected, are good.
  const Status flushed = Flush();
  const Status kept = rejects->Sync();
  if (s.ok()) s = flushed.ok() ? kept : flushed;
  if (s.ok()) return s;
  if (stored_to_line_ == 0) {
    return {s.code(), fmt::format("{}; nothing of {} is stored", s.message(), name)};
  }
  return {s.code(), fmt::format("{}; lines up to {} of {} are stored", s.message(),
                                stored_to_line_, name)};
}

}  // namespace cistern::tool
