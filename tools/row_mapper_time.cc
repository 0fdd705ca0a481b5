// RowMapper for the event time: from where it is taken if no cell alone is it.
#include <fmt/format.h>

#include "tools/cell_text.h"
#include "tools/decimal_text.h"
#include "tools/row_mapper.h"
#include "tools/time_unit_guess.h"

namespace cistern::tool {
namespace {

// Without the blanks around it; empty if it is no number, or below 0.
std::string_view BareNumber(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  Decimal decimal;
  return TakeApart(text, &decimal) && !decimal.negative ? text : std::string_view();
}

}  // namespace

Status RowMapper::AddTimeSum() {
  CISTERN_RETURN_IF_ERROR(ClaimTimeColumn("--time-sum"));
  CISTERN_ASSIGN_OR_RETURN(time_sum_, TimeSum::Parse(options_.time_sum));
  for (const std::string& name : time_sum_->names()) {
    time_sources_.push_back(SourceNamed(name));
    sources_[time_sources_.back()].needed_by = "--time-sum";
  }
  time_numbers_.resize(time_sources_.size());
  time_cells_.resize(time_sources_.size());
  return Status::Ok();
}

Status RowMapper::ClaimTimeColumn(std::string_view option) {
  const ColumnSpec& column = schema_->columns[schema_->time_column()];
  CISTERN_RETURN_IF_ERROR(TargetColumn(column.name, option).status());
  return CheckTimeIsNumber(option);
}

Status RowMapper::CheckTimeIsNumber(std::string_view option) const {
  const ColumnSpec& column = schema_->columns[schema_->time_column()];
  if (column.type.lane() == Lane::kFixed) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: the event time '{}' is a {} and no number",
                                             option, column.name, column.type.ToCql()));
}

std::optional<RowMapper::BareTime> RowMapper::BareTimeNumber() const {
  const TimeFormat& time = options_.time;
  if (!had_time_ || options_.time_unit_given || time.base || !time.pattern.empty()) {
    return std::nullopt;
  }
  const std::string_view number = BareNumber(time_text_);
  if (number.empty()) return std::nullopt;
  return BareTime{number, time.number_unit.value_or(schema_->time_unit)};
}

// A column of times that is not the event time. Its first number of this century tells for all.
Status RowMapper::CheckUnitOf(size_t column, std::string_view text) {
  const std::string_view number = BareNumber(text);
  if (number.empty()) return Status::Ok();
  const TimeFormat& time = options_.time;
  const std::optional<TimeUnit> asked = time.unit_is_of_event ? std::nullopt : time.number_unit;
  const TimeUnit unit = asked.value_or(TimeUnit::kMillis);
  const std::optional<std::string> doubt = UnitDoubt(number, unit);
  unit_known_[column] = UnitByUse(number) == unit;
  unit_doubted_ = doubt.has_value();
  if (!doubt) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("column '{}': {}", schema_->columns[column].name, *doubt));
}

// The time at which the row is taken, where it has none itself.
Status RowMapper::SetArrivalTime(RowBatch* batch) {
  if (options_.arrival_clock == nullptr) {
    return Status::InvalidArgument(fmt::format(
        "there is no event time for column '{}'; --arrival-time gives lines without one the time "
        "at which they are read", schema_->columns[schema_->time_column()].name));
  }
  const int64_t per_second = TicksPerSecond(schema_->time_unit);
  const int64_t now_us = options_.arrival_clock->WallMicros();
  const bool is_fine = per_second >= 1'000'000;
  const int64_t ticks =
      is_fine ? now_us * (per_second / 1'000'000) : now_us / (1'000'000 / per_second);
  return batch->SetInt(schema_->time_column(), ticks);
}

Result<Instant> RowMapper::SummedTime() {
  for (size_t i = 0; i < time_sources_.size(); ++i) {
    const Cell* cell = cells_[time_sources_[i]];
    if (cell == nullptr || IsMissing(*cell)) {
      return Status::InvalidArgument(
          fmt::format("--time-sum: the cell '{}' is missing", time_sum_->names()[i]));
    }
    std::string_view text = cell->text;
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (options_.decimal == ',' && HasDecimalComma(text)) {
      time_numbers_[i] = text;
      time_numbers_[i][text.find(',')] = '.';
      text = time_numbers_[i];
    }
    time_cells_[i] = text;
  }
  return time_sum_->At(time_cells_, options_.time.base.value_or(Instant{}), options_.time.truncate);
}

// Where no cell alone is the event time.
Status RowMapper::SetTime(const Record& record, RowBatch* batch) {
  if (!time_sum_ && !options_.time_steps) return SetArrivalTime(batch);
  const size_t column = schema_->time_column();
  const std::string_view text =
      time_sum_ ? std::string_view(options_.time_sum) : "of --time-start";
  CISTERN_ASSIGN_OR_RETURN(const Instant instant,
                           time_sum_ ? SummedTime() : options_.time_steps->At(record.number));
  // Hours and minutes alone are of a day that nobody named.
  constexpr int64_t kYearSeconds = 366 * 86400;
  if (time_sum_ && !options_.time.base && instant.seconds > -kYearSeconds &&
      instant.seconds < kYearSeconds) {
    return Status::OutOfRange(
        fmt::format("--time-sum comes to {} s, which is of 1970 or so; --time-base says from when "
                    "it counts, 1970-01-01 too", instant.seconds));
  }
  const bool millis = schema_->columns[column].type.kind == CqlType::kTimestamp;
  CISTERN_ASSIGN_OR_RETURN(
      const int64_t ticks,
      ToTicks(instant, options_.time, millis ? TimeUnit::kMillis : schema_->time_unit, text));
  return batch->SetInt(column, ticks);
}

}  // namespace cistern::tool
