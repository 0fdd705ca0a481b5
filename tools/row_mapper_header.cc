// RowMapper for inputs with a header: which name stands above which cell.
#include <fmt/format.h>

#include "tools/counted.h"
#include "tools/name_list.h"
#include "tools/row_mapper.h"

namespace cistern::tool {
namespace {

// Names of the cells of a header. One without a name is called by its place.
std::vector<std::string> NamesOf(const std::vector<std::string>& header) {
  std::vector<std::string> names;
  for (size_t i = 0; i < header.size(); ++i) {
    names.push_back(header[i].empty() ? fmt::format("#{}", i + 1) : header[i]);
  }
  return names;
}

Status Unnamed(std::string_view place) {
  return Status::InvalidArgument(
      fmt::format("the cell '{}' of the header has no name; give it one with --map '{}=COLUMN', or "
                  "leave it out with --ignore '{}'", place, place, place));
}

}  // namespace

Status RowMapper::BindHeader(const std::vector<std::string>& header) {
  has_header_ = true;
  positions_.clear();
  const std::vector<std::string> names = NamesOf(header);
  size_t named = header.size();  // the cells up to the last one that has a name
  while (named > 0 && header[named - 1].empty()) --named;
  std::vector<bool> seen(sources_.size(), false);
  std::optional<size_t> unknown;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<size_t> source = Find(names[i]);
    positions_.push_back(source.value_or(i < named ? kIgnored : kUnnamed));
    if (!source && i < named && !unknown) unknown = i;
    if (!source || *source == kIgnored) continue;
    if (seen[*source]) {
      return Status::InvalidArgument(
          fmt::format("the header names column '{}' twice", names[i]));
    }
    seen[*source] = true;
  }
  header_cells_ = header.size();
  if (options_.trailing_delimiter && named == header.size()) positions_.push_back(kUnnamed);
  // What an option asks for and is not there comes first: it is why another cell is left over.
  CISTERN_RETURN_IF_ERROR(CheckMaps(names, seen));
  CISTERN_RETURN_IF_ERROR(CheckIgnores(names));
  if (unknown && header[*unknown].empty()) return Unnamed(names[*unknown]);
  if (unknown) return Unknown(names[*unknown]);
  return CheckKeys(names, seen);
}

Status RowMapper::CheckMaps(const std::vector<std::string>& names,
                            const std::vector<bool>& seen) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].needed_by.empty() || seen[i]) continue;
    return Status::InvalidArgument(fmt::format("{}: the header has no cell '{}'; it has {}",
                                               sources_[i].needed_by, sources_[i].name,
                                               JoinNames(names)));
  }
  return Status::Ok();
}

Status RowMapper::CheckIgnores(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto ignored = ignored_.find(name); ignored != ignored_.end()) {
      ignored->second = true;
    }
  }
  const std::vector<std::string> unmet = UnmetIgnores();
  if (unmet.empty()) return Status::Ok();
  return Status::InvalidArgument(fmt::format("--ignore: the header has no cell '{}'; it has {}",
                                             unmet.front(), JoinNames(names)));
}

Status RowMapper::CheckKeys(const std::vector<std::string>& names,
                            const std::vector<bool>& seen) const {
  std::vector<bool> filled(schema_->columns.size(), false);
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!seen[i]) continue;
    for (const size_t column : sources_[i].columns) filled[column] = true;
  }
  for (size_t i = 0; i < schema_->columns.size(); ++i) {
    const ColumnRole role = schema_->columns[i].role;
    if (filled[i] || !fed_by_[i].empty()) continue;
    if (role != ColumnRole::kEntity && role != ColumnRole::kClustering) continue;
    const bool is_time = i == schema_->time_column();
    if (is_time && options_.arrival_clock != nullptr) continue;
    return Status::InvalidArgument(fmt::format(
        "nothing gives the key column '{}'; the header has {}; use --map or --set{}",
        schema_->columns[i].name, JoinNames(names),
        is_time ? ", or --arrival-time for the time at which a line is read" : ""));
  }
  return Status::Ok();
}

Status RowMapper::GatherByHeader(const Record& record) {
  if (record.cells.size() != positions_.size()) return WrongCount(record);
  for (size_t i = 0; i < positions_.size(); ++i) {
    if (positions_[i] < sources_.size()) {
      cells_[positions_[i]] = &record.cells[i];
    } else if (positions_[i] == kUnnamed && !record.cells[i].text.empty()) {
      return HasNoName(i, record.cells[i].text);
    }
  }
  return Status::Ok();
}

Status RowMapper::HasNoName(size_t i, std::string_view text) const {
  text = text.substr(0, 80);
  if (i >= header_cells_) {
    return Status::InvalidArgument(
        fmt::format("'{}' stands behind the delimiter that ends each line", text));
  }
  return Status::InvalidArgument(
      fmt::format("cell {} holds '{}', and the header gives it no name; --ignore '#{}' leaves it "
                  "out, --map '#{}=COLUMN' takes it", i + 1, text, i + 1, i + 1));
}

Status RowMapper::WrongCount(const Record& record) const {
  std::string_view advice;
  if (positions_.size() > header_cells_) {
    advice = " and a delimiter behind the last";
  } else if (record.cells.size() == header_cells_ + 1 && record.cells.back().text.empty()) {
    advice = "; if every line ends with a delimiter, say --trailing-delimiter";
  }
  return Status::InvalidArgument(fmt::format("{} where the header has {}{}",
                                             Counted(record.cells.size(), "cell"), header_cells_,
                                             advice));
}

}  // namespace cistern::tool
