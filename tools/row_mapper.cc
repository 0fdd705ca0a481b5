#include "tools/row_mapper.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/shell_text.h"
#include "tools/cell_text.h"
#include "tools/counted.h"
#include "tools/name_list.h"

namespace cistern::tool {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool HoldsNested(CqlType kind) {
  return kind == CqlType::kList || kind == CqlType::kSet || kind == CqlType::kMap;
}

// Columns whose values are numbers: a comma or NaN in them is one of a number.
bool HoldsNumber(CqlType kind) {
  switch (kind) {
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint:
    case CqlType::kFloat:
    case CqlType::kDouble:
    case CqlType::kDecimal:
    case CqlType::kTimestamp: return true;
    default: return false;
  }
}

bool IsDerived(const ColumnSpec& column) {
  return column.role == ColumnRole::kBucket || column.role == ColumnRole::kSplit;
}

// How a cell is left out: "--ignore 'name'"; of a long name in words.
std::string IgnoreAdvice(std::string_view name) {
  constexpr size_t kNameShownBytes = 200;
  return name.size() <= kNameShownBytes ? "--ignore " + ShellQuoted(name)
                                        : "--ignore and its whole name";
}

}  // namespace

Result<RowMapper> RowMapper::Make(std::shared_ptr<const TableSchema> schema,
                                  const MappingOptions& options,
                                  const std::optional<std::string>& stem) {
  RowMapper mapper;
  mapper.schema_ = std::move(schema);
  mapper.options_ = options;
  mapper.fed_by_.resize(mapper.schema_->columns.size());
  for (const std::string& names : options.ignores) mapper.AddIgnores(names);
  for (const std::string& text : options.maps) {
    CISTERN_RETURN_IF_ERROR(mapper.AddMap(text, stem));
  }
  for (const std::string& text : options.sets) {
    CISTERN_RETURN_IF_ERROR(mapper.AddSet(text, stem));
  }
  CISTERN_RETURN_IF_ERROR(mapper.CheckConstants());
  if (!options.time_sum.empty()) CISTERN_RETURN_IF_ERROR(mapper.AddTimeSum());
  if (!options.ttl_from.empty()) CISTERN_RETURN_IF_ERROR(mapper.AddTtlFrom());
  if (options.time_steps) CISTERN_RETURN_IF_ERROR(mapper.ClaimTimeColumn("--time-start"));
  if (options.arrival_clock != nullptr) {
    CISTERN_RETURN_IF_ERROR(mapper.CheckTimeIsNumber("--arrival-time"));
  }
  mapper.AddDefaults();
  mapper.cells_.assign(mapper.sources_.size(), nullptr);
  return mapper;
}

Status RowMapper::AddMap(const std::string& text, const std::optional<std::string>& stem) {
  // A source may hold '=', a column's name hardly: the last one splits.
  const size_t split = text.rfind('=');
  if (split == std::string::npos || split == 0) {
    return Status::InvalidArgument(
        fmt::format("--map '{}' is not SOURCE=COLUMN or '{{a}}-{{b}}=COLUMN'", text));
  }
  const std::string_view source = std::string_view(text).substr(0, split);
  CISTERN_ASSIGN_OR_RETURN(const size_t column,
                           TargetColumn(std::string_view(text).substr(split + 1), "--map"));
  if (source.find('{') == std::string_view::npos) {
    Source& s = sources_[SourceNamed(source)];
    s.columns.push_back(column);
    s.needed_by = "--map";
    return Status::Ok();
  }
  CISTERN_ASSIGN_OR_RETURN(std::vector<Piece> pieces, ParseTemplate(source, stem, true));
  templates_.push_back({column, std::move(pieces)});
  return Status::Ok();
}

Status RowMapper::AddSet(const std::string& text, const std::optional<std::string>& stem) {
  const size_t split = text.find('=');
  if (split == std::string::npos || split == 0) {
    return Status::InvalidArgument(fmt::format("--set '{}' is not COLUMN=VALUE", text));
  }
  CISTERN_ASSIGN_OR_RETURN(const size_t column,
                           TargetColumn(std::string_view(text).substr(0, split), "--set"));
  CISTERN_ASSIGN_OR_RETURN(const std::vector<Piece> pieces,
                           ParseTemplate(std::string_view(text).substr(split + 1), stem, false));
  Constant constant{column, {}};
  for (const Piece& piece : pieces) constant.text += piece.literal;
  constants_.push_back(std::move(constant));
  return Status::Ok();
}

// A name may hold a comma itself, so the whole is one too.
void RowMapper::AddIgnores(const std::string& names) {
  ignored_.emplace(names, false);
  for (const std::string& name : SplitNames(names)) ignored_.emplace(name, false);
}

std::vector<std::string> RowMapper::UnmetIgnores() const {
  std::vector<std::string> unmet;
  for (const std::string& names : options_.ignores) {
    if (ignored_.at(names)) continue;
    for (std::string& name : SplitNames(names)) {
      if (!ignored_.at(name)) unmet.push_back(std::move(name));
    }
  }
  return unmet;
}

// Columns that neither --map nor --set fill take the source of their own name.
void RowMapper::AddDefaults() {
  for (size_t i = 0; i < schema_->columns.size(); ++i) {
    const ColumnSpec& column = schema_->columns[i];
    if (IsDerived(column) || !fed_by_[i].empty() || ignored_.contains(column.name)) continue;
    // A source that --map took elsewhere feeds that column alone.
    const auto known = by_name_.find(column.name);
    if (known != by_name_.end() && !sources_[known->second].columns.empty()) continue;
    const size_t source = SourceNamed(column.name);
    sources_[source].columns.push_back(i);
    by_lower_name_.emplace(column.name, source);
  }
  const size_t time = schema_->time_column();
  if (fed_by_[time].empty() && !by_name_.contains(kTimestampCell)) {
    const size_t source = SourceNamed(kTimestampCell);
    sources_[source].columns.push_back(time);
  }
  if (!by_name_.contains(kMeasurementCell)) ignored_.emplace(kMeasurementCell, false);
}

Result<size_t> RowMapper::TargetColumn(std::string_view name, std::string_view option) {
  std::optional<size_t> column = schema_->FindColumn(name);
  if (!column) column = schema_->FindColumn(Lower(name));
  if (!column) {
    return Status::InvalidArgument(fmt::format("{}: table {} has no column '{}'; it has {}",
                                               option, schema_->QualifiedName(), name,
                                               ColumnNames()));
  }
  if (IsDerived(schema_->columns[*column])) {
    return Status::InvalidArgument(
        fmt::format("{}: column '{}' is derived from the row and cannot be set", option, name));
  }
  if (!fed_by_[*column].empty()) {
    return Status::InvalidArgument(
        fmt::format("{}: column '{}' is given by two options", option, name));
  }
  fed_by_[*column] = option;
  return *column;
}

Result<std::vector<RowMapper::Piece>> RowMapper::ParseTemplate(
    std::string_view text, const std::optional<std::string>& stem, bool sources_allowed) {
  std::vector<Piece> pieces(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool twice = i + 1 < text.size() && text[i + 1] == c;
    if ((c == '{' || c == '}') && twice) {
      pieces.back().literal += c;
      ++i;
      continue;
    }
    if (c != '{') {
      pieces.back().literal += c;
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == std::string_view::npos) {
      return Status::InvalidArgument(
          fmt::format("'{}': '{{' without '}}'; write '{{{{' for the character itself", text));
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    i = end;
    if (name == "stem") {
      if (!stem) {
        return Status::InvalidArgument(
            "{stem} is the file's name, and standard input has none; give it by --stem NAME");
      }
      pieces.back().literal += *stem;
    } else if (!sources_allowed) {
      return Status::InvalidArgument(
          fmt::format("--set knows {{stem}} alone, not '{{{}}}'; --map takes cells", name));
    } else {
      const size_t source = SourceNamed(name);
      sources_[source].needed_by = "--map";
      pieces.back().source = source;
      pieces.emplace_back();
    }
  }
  return pieces;
}

size_t RowMapper::SourceNamed(std::string_view name) {
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  sources_.push_back({std::string(name), {}, {}});
  by_name_.emplace(std::string(name), sources_.size() - 1);
  return sources_.size() - 1;
}

std::optional<size_t> RowMapper::Find(std::string_view name) const {
  if (ignored_.contains(name)) return kIgnored;
  if (const auto it = by_name_.find(name); it != by_name_.end()) return it->second;
  // CQL names without quotes know no case, so TEMP is column temp.
  if (const auto it = by_lower_name_.find(Lower(name)); it != by_lower_name_.end()) {
    return it->second;
  }
  // What is nested in a cell that is left out is left out as well.
  for (size_t end = name.rfind('.'); end != std::string_view::npos && end > 0;
       end = name.rfind('.', end - 1)) {
    if (ignored_.contains(name.substr(0, end))) return kIgnored;
  }
  return std::nullopt;
}

std::map<std::string, bool, std::less<>>::iterator RowMapper::IgnoredName(std::string_view name) {
  auto ignored = ignored_.find(name);
  while (ignored == ignored_.end()) {
    name = name.substr(0, name.rfind('.'));
    ignored = ignored_.find(name);
  }
  return ignored;
}

std::vector<std::string> RowMapper::CellNames() const {
  std::vector<std::string> names;
  for (const Source& source : sources_) names.push_back(source.name);
  for (const auto& [name, seen] : ignored_) names.push_back(name);
  return names;
}

std::string RowMapper::ColumnNames() const {
  std::vector<std::string_view> names;
  for (const ColumnSpec& column : schema_->columns) {
    if (!IsDerived(column)) names.push_back(column.name);
  }
  return JoinNames(names);
}

Status RowMapper::Unknown(std::string_view name) const {
  const std::string_view shown = name.substr(0, 80);
  const std::optional<size_t> column = schema_->FindColumn(name);
  if (column && IsDerived(schema_->columns[*column])) {
    return Status::InvalidArgument(
        fmt::format("column '{}' is derived from the row and cannot be set; leave it out with {}",
                    shown, IgnoreAdvice(name)));
  }
  const std::optional<size_t> fed = column ? column : schema_->FindColumn(Lower(name));
  if (fed && !fed_by_[*fed].empty()) {
    return Status::InvalidArgument(
        fmt::format("column '{}' is fed by {}, so leave the cell '{}' out with {}",
                    schema_->columns[*fed].name, fed_by_[*fed], shown, IgnoreAdvice(name)));
  }
  // A source with a brace is a template of --map, and one without a name is none.
  const bool can_map = !name.empty() && name == shown && name.find('{') == std::string_view::npos;
  return Status::InvalidArgument(fmt::format(
      "table {} has no column '{}'; it has {}; {}leave it out with {}", schema_->QualifiedName(),
      shown, ColumnNames(),
      can_map ? fmt::format("rename with --map {} or ", ShellQuoted(std::string(name) + "=COLUMN"))
              : "",
      IgnoreAdvice(name)));
}

Status RowMapper::UnknownNested(std::string_view name) const {
  const std::string_view shown = name.substr(0, 80);
  return Status::InvalidArgument(fmt::format(
      "table {} has no column '{}'; it has {}; take a member of it with --map {}, or leave it out "
      "with {}", schema_->QualifiedName(), shown, ColumnNames(),
      ShellQuoted(std::string(shown) + ".MEMBER=COLUMN"), IgnoreAdvice(name)));
}

// A constant that its column cannot hold would send every line to the reject file.
Status RowMapper::CheckConstants() const {
  RowBatch batch(schema_);
  for (const Constant& constant : constants_) {
    batch.BeginRow();
    const Status s = SetCellFromText(constant.column, constant.text, options_.time, &batch);
    batch.DropRow();
    if (!s.ok()) return {s.code(), "--set: " + s.message()};
  }
  return Status::Ok();
}

Status RowMapper::GatherCells(const Record& record) {
  std::fill(cells_.begin(), cells_.end(), nullptr);
  if (has_header_) return GatherByHeader(record);
  for (const Cell& cell : record.cells) {
    const std::optional<size_t> source = Find(cell.name);
    if (!source && cell.form == CellForm::kNested) return UnknownNested(cell.name);
    if (!source) return Unknown(cell.name);
    if (*source == kIgnored) {
      IgnoredName(cell.name)->second = true;
      continue;
    }
    if (cells_[*source] != nullptr) {
      return Status::InvalidArgument(fmt::format("'{}' is given twice", cell.name));
    }
    cells_[*source] = &cell;
  }
  return Status::Ok();
}

bool RowMapper::IsMissing(const Cell& cell) const {
  if (cell.form == CellForm::kNull) return true;
  if (cell.form == CellForm::kQuoted) return false;
  if (cell.form == CellForm::kBare && cell.text.empty()) return true;
  return std::find(options_.null_tokens.begin(), options_.null_tokens.end(), cell.text) !=
         options_.null_tokens.end();
}

Status RowMapper::SetText(size_t column, std::string_view text, RowBatch* batch) {
  if (column == schema_->time_column()) {
    if (had_time_) {
      return Status::InvalidArgument(fmt::format(
          "the event time is given twice, as '{}' and as '{}'", time_text_.substr(0, 80),
          text.substr(0, 80)));
    }
    had_time_ = true;
    time_text_ = text;
  }
  return SetCellFromText(column, text, options_.time, batch);
}

Status RowMapper::SetCellText(size_t column, std::string_view text, RowBatch* batch) {
  const ColumnSpec& spec = schema_->columns[column];
  if (options_.decimal != ',') {
    Status s = SetText(column, text, batch);
    if (s.ok() || !HoldsNumber(spec.type.kind) || !HasDecimalComma(text)) return s;
    return {s.code(), s.message() + "; where a comma stands before decimals, say --decimal ,"};
  }
  if (!HoldsNumber(spec.type.kind)) return SetText(column, text, batch);
  if (HasDecimalComma(text)) {
    number_ = text;
    number_[text.find(',')] = '.';
    return SetText(column, number_, batch);
  }
  const bool number = text.find_first_not_of("0123456789.,+-eE ") == std::string_view::npos;
  const bool pattern = spec.type.kind == CqlType::kTimestamp && !options_.time.pattern.empty();
  if (number && !pattern && text.find('.') != std::string_view::npos) {
    return Status::InvalidArgument(
        fmt::format("column '{}': '{}' has a point, and --decimal , says that a comma stands "
                    "before decimals", spec.name, text.substr(0, 80)));
  }
  return SetText(column, text, batch);
}

bool RowMapper::IsNonFiniteCell(size_t column, std::string_view text) const {
  return options_.non_finite != NonFinite::kStore &&
         HoldsNumber(schema_->columns[column].type.kind) && IsNonFinite(text);
}

bool RowMapper::IsInKey(std::string_view cell) const {
  const auto source = by_name_.find(cell);
  if (source == by_name_.end()) return false;
  const auto is_key = [this](size_t column) {
    return schema_->columns[column].role != ColumnRole::kRegular;
  };
  return std::ranges::any_of(sources_[source->second].columns, is_key) ||
         std::ranges::any_of(templates_, [&](const Template& t) {
           return is_key(t.column) && std::ranges::any_of(t.pieces, [&](const Piece& piece) {
             return piece.source == source->second;
           });
         });
}

Status RowMapper::SetCell(size_t column, const Cell& cell, RowBatch* batch) {
  if (cell.form == CellForm::kNested && !HoldsNested(schema_->columns[column].type.kind)) {
    return Status::InvalidArgument(
        fmt::format("column '{}': an array or object does not go into {}",
                    schema_->columns[column].name, schema_->columns[column].type.ToCql()));
  }
  const bool non_finite = IsNonFiniteCell(column, cell.text);
  if (non_finite && options_.non_finite == NonFinite::kRefuse) {
    return Status::InvalidArgument(fmt::format("column '{}': '{}' is not finite; --non-finite "
                                               "missing or store takes it",
                                               schema_->columns[column].name, cell.text));
  }
  if (!non_finite && !IsMissing(cell)) {
    Status s = SetCellText(column, cell.text, batch);
    // Bare cells and texts of JSON alone are compared with --null.
    const bool is_blank = cell.text.find_first_not_of(" \t") == std::string_view::npos;
    if (s.ok() || !is_blank || cell.form == CellForm::kQuoted) return s;
    return {s.code(), fmt::format("{}; --null {} takes it for missing", s.message(),
                                  ShellQuoted(cell.text))};
  }
  if (!options_.null_deletes || schema_->columns[column].role != ColumnRole::kRegular) {
    return Status::Ok();
  }
  return batch->SetNull(column);
}

Status RowMapper::SetTemplate(const Template& t, RowBatch* batch) {
  joined_.clear();
  for (const Piece& piece : t.pieces) {
    joined_ += piece.literal;
    if (!piece.source) continue;
    const Cell* cell = cells_[*piece.source];
    if (cell == nullptr) return Status::Ok();
    if (IsMissing(*cell)) return SetCell(t.column, *cell, batch);
    if (cell->form == CellForm::kNested) {
      return Status::InvalidArgument(fmt::format("'{}': an array or object cannot be joined",
                                                 sources_[*piece.source].name));
    }
    joined_ += cell->text;
  }
  return SetCellText(t.column, joined_, batch);
}

Status RowMapper::AddRow(const Record& record, RowBatch* batch) {
  had_time_ = false;
  CISTERN_RETURN_IF_ERROR(GatherCells(record));
  batch->BeginRow();
  Status s;
  for (size_t i = 0; i < sources_.size() && s.ok(); ++i) {
    if (cells_[i] == nullptr) continue;
    for (const size_t column : sources_[i].columns) {
      s = SetCell(column, *cells_[i], batch);
      if (!s.ok()) break;
    }
  }
  for (size_t i = 0; i < templates_.size() && s.ok(); ++i) s = SetTemplate(templates_[i], batch);
  for (size_t i = 0; i < constants_.size() && s.ok(); ++i) {
    s = SetText(constants_[i].column, constants_[i].text, batch);
  }
  if (s.ok() && !had_time_) s = SetTime(record, batch);
  if (s.ok()) s = SetTtl(batch);
  if (s.ok()) s = batch->EndRow();
  if (!s.ok()) batch->DropRow();
  return s;
}

}  // namespace cistern::tool
