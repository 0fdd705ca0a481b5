// RowMapper for the time to live of a row, which a cell of it may have.
#include <fmt/format.h>

#include "cistern/limits.h"
#include "tools/cell_text.h"
#include "tools/row_mapper.h"

namespace cistern::tool {

Status RowMapper::AddTtlFrom() {
  if (ignored_.contains(options_.ttl_from)) {
    return Status::InvalidArgument(fmt::format(
        "--ttl-from takes the cell '{}', and --ignore leaves it out: it goes into no column of "
        "another name anyway, so leave --ignore out", options_.ttl_from));
  }
  ttl_source_ = SourceNamed(options_.ttl_from);
  sources_[*ttl_source_].needed_by = "--ttl-from";
  return Status::Ok();
}

// In whole seconds; nothing: the row has none, and no cell of that name is no error in formats
// whose records name their cells.
Result<std::optional<uint32_t>> RowMapper::TtlOfCell() {
  const Cell* const cell = ttl_source_ ? cells_[*ttl_source_] : nullptr;
  if (cell == nullptr || IsMissing(*cell)) return std::optional<uint32_t>();
  std::string_view text = cell->text;
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (options_.decimal == ',' && HasDecimalComma(text)) {
    number_ = text;
    number_[text.find(',')] = '.';
    text = number_;
  }
  const Result<int64_t> seconds = ParseInteger(text);
  const bool is_ttl = cell->form != CellForm::kNested && seconds.ok() && *seconds >= 0 &&
                      *seconds <= static_cast<int64_t>(limits::kTtlSecondsMax);
  if (is_ttl) return std::optional(static_cast<uint32_t>(*seconds));
  return Status::InvalidArgument(
      fmt::format("--ttl-from: the cell '{}' has '{}', which is no time to live: whole seconds, "
                  "from 0 (for ever) to {}", options_.ttl_from, cell->text.substr(0, 80),
                  limits::kTtlSecondsMax));
}

Status RowMapper::SetTtl(RowBatch* batch) {
  CISTERN_ASSIGN_OR_RETURN(std::optional<uint32_t> seconds, TtlOfCell());
  if (!seconds) seconds = options_.ttl_s;
  return seconds ? batch->SetTtl(*seconds) : Status::Ok();
}

}  // namespace cistern::tool
