#include "engine/replicate/row_judge.h"

#include <algorithm>

#include "engine/replicate/same_value.h"
#include "lib/base/concat.h"
#include "lib/base/shell_text.h"

namespace cistern::replicate {
namespace {

// Of two cells of one write time that are not equal: whether Cassandra keeps ours.
bool OursStays(const SealCell& ours, const UpstreamCell& upstream, const JudgeRules& rules) {
  const bool expires = ours.expiry_s != 0;
  if (expires != upstream.ttl_s.has_value()) return expires;
  if (expires && rules.now_s) {
    const int64_t upstream_expiry_s = *rules.now_s + *upstream.ttl_s;
    const int64_t longer_s = int64_t{ours.expiry_s} - upstream_expiry_s;
    if (longer_s > rules.expiry_slack_s) return true;
    if (longer_s < -rules.expiry_slack_s) return false;
  }
  // To the second it is not known which of the two expires later, and without a trusted clock not
  // at all, and that decides before the value does. What was sent twice and still does not show
  // has lost. Where write times are event times an amendment has the time of what it amends.
  if (expires && rules.was_sent_again) return false;
  if (expires && rules.mode == TimestampMode::kEventTime) return true;
  return ours.bytes > *upstream.value;
}

Finding JudgeValue(const ColumnType& type, const SealCell& ours, const UpstreamCell& upstream,
                   const JudgeRules& rules) {
  if (upstream.write_us > ours.write_us) return Finding::kNewer;
  // What was over when it was pushed was not sent if there was nothing that it could shadow.
  if (upstream.write_us < ours.write_us) {
    const bool was_sent = rules.older_may_exist || !MayBeOver(ours, rules);
    return was_sent ? Finding::kOlder : Finding::kOver;
  }
  const bool is_same = SameValue(type, ours.bytes, *upstream.value) &&
                       (ours.expiry_s != 0) == upstream.ttl_s.has_value();
  if (is_same) return Finding::kAsSent;
  if (OursStays(ours, upstream, rules)) return Finding::kOlder;
  return rules.mode == TimestampMode::kEventTime ? Finding::kNewer : Finding::kDiffers;
}

// Of a collection that is not frozen and that the cluster shows.
Finding JudgeElements(const ColumnType& type, const SealCell& ours, bool deletes,
                      const UpstreamCell& upstream) {
  switch (ours.state) {
    case CellState::kValue:
      return SameValue(type, ours.bytes, *upstream.value) ? Finding::kAsSent : Finding::kUnseen;
    case CellState::kNull: return Finding::kUnseen;
    case CellState::kAbsent: break;
  }
  return deletes ? Finding::kUnseen : Finding::kNothing;
}

// Judges a value that is not there and has not expired.
Finding JudgeAbsent(size_t cell, const SealCell& ours, const JudgeRules& rules) {
  if (rules.hidden == nullptr || !Hides(*rules.hidden, cell, ours.write_us)) {
    return Finding::kAbsent;
  }
  return (*rules.hidden)[cell].is_accepted ? Finding::kAgreed : Finding::kHidden;
}

// `k`: among the regular columns, of this type.
Finding JudgeCell(size_t k, const ColumnType& type, const SealRow& row,
                  const UpstreamCell& upstream, const JudgeRules& rules) {
  const SealCell& ours = row.cells[k];
  const int64_t deleted_up_to_us = row.deleted_up_to_us;
  const bool deletes = ours.state == CellState::kNull || deleted_up_to_us != kNothingDeleted;
  if (!upstream.value) {
    if (ours.state != CellState::kValue) return deletes ? Finding::kDeleted : Finding::kNothing;
    return MayBeOver(ours, rules) ? Finding::kOver : JudgeAbsent(k, ours, rules);
  }
  if (type.is_multicell) return JudgeElements(type, ours, deletes, upstream);
  if (upstream.write_us <= deleted_up_to_us) return Finding::kOlder;
  switch (ours.state) {
    case CellState::kValue: return JudgeValue(type, ours, upstream, rules);
    case CellState::kNull:
      return upstream.write_us <= ours.write_us ? Finding::kOlder : Finding::kNewer;
    case CellState::kAbsent: break;
  }
  return deletes ? Finding::kNewer : Finding::kNothing;
}

// All rows of a bucket share a static cell. So a newer one is as it should be, and no overwrite,
// also where it has expired since. A row that is not shown does not show the cell either.
Finding FindingOfStatic(Finding finding, bool row_is_shown, const JudgeRules& rules) {
  if (finding == Finding::kNewer) return Finding::kAsSent;
  if (finding != Finding::kAbsent) return finding;
  if (!row_is_shown) return Finding::kNothing;
  return rules.was_sent_again ? Finding::kOver : Finding::kAbsent;
}

// Of the row as a whole: its marker, and a deletion of it.
Finding JudgeMarker(const SealRow& row, const UpstreamRow* upstream, const JudgeRules& rules) {
  const bool has_marker = row.marker.state == CellState::kValue;
  if (upstream == nullptr) {
    if (has_marker) return MayBeOver(row.marker, rules) ? Finding::kOver : Finding::kAbsent;
    return row.deleted_up_to_us != kNothingDeleted ? Finding::kDeleted : Finding::kNothing;
  }
  if (has_marker) return MayBeOver(row.marker, rules) ? Finding::kOver : Finding::kAsSent;
  if (row.deleted_up_to_us == kNothingDeleted) return Finding::kNothing;
  const bool shows_cells = std::any_of(upstream->cells.begin(), upstream->cells.end(),
                                       [](const UpstreamCell& cell) { return cell.value; });
  return shows_cells ? Finding::kDeleted : Finding::kUnseen;
}

}  // namespace

bool MayBeOver(const SealCell& cell, const JudgeRules& rules) {
  if (cell.expiry_s == 0) return false;
  return !rules.now_s || int64_t{cell.expiry_s} <= *rules.now_s + rules.expiry_slack_s;
}

Judgement JudgeRow(const TableSchema& schema, const SealRow& row, const UpstreamRow* upstream,
                   const JudgeRules& rules) {
  static const UpstreamCell kNoCell;
  Judgement judgement{JudgeMarker(row, upstream, rules), std::nullopt};
  for (size_t k = 0; k < row.cells.size(); ++k) {
    const ColumnSpec& column = schema.columns[schema.regular_columns[k]];
    const UpstreamCell& cell = upstream == nullptr ? kNoCell : upstream->cells[k];
    Finding finding = JudgeCell(k, column.type, row, cell, rules);
    if (column.is_static) finding = FindingOfStatic(finding, upstream != nullptr, rules);
    if (finding > judgement.finding) judgement = {finding, k};
  }
  return judgement;
}

std::string DescribeNewer(const TableSchema& schema, const SealRow& row,
                          const UpstreamRow& upstream, std::optional<size_t> cell) {
  const std::string head = Concat({"row ", KeyText(schema, row.key), ": "});
  if (!cell) {
    return Concat({head, "it was written after our deletion of ", row.deleted_up_to_us, " us"});
  }
  const SealCell& ours = row.cells[*cell];
  const bool is_cell = ours.state != CellState::kAbsent;
  const int64_t ours_us = is_cell ? ours.write_us : row.deleted_up_to_us;
  const ColumnSpec& column = schema.columns[schema.regular_columns[*cell]];
  if (column.type.is_multicell) {
    return Concat({head, "column '", column.name, "' shows other elements over ours of ", ours_us,
        " us"});
  }
  return Concat({head, "column '", column.name, "' shows a write of ",
      upstream.cells[*cell].write_us, " us over ours of ", ours_us, " us"});
}

std::string DescribeHidden(const TableSchema& schema, const SealRow& row, size_t cell,
                           const HiddenColumn& hidden) {
  return Concat({"row ", KeyText(schema, row.key), ": column '",
      schema.columns[schema.regular_columns[cell]].name, "' was dropped in the cluster and added "
      "again, which hides our value of ", row.cells[cell].write_us, " us: let it wait again by "
      "`cistern sync retry`, then agree to that by `cistern sync --accept-hidden ",
      ShellWord(hidden.drop), "`"});
}

std::string Describe(const TableSchema& schema, const SealRow& row, const UpstreamRow& upstream,
                     const Judgement& judgement) {
  const size_t k = judgement.cell.value_or(0);
  const SealCell& ours = row.cells[k];
  const UpstreamCell& cell = upstream.cells[k];
  std::string text = Concat({"row ", KeyText(schema, row.key), ": column '",
      schema.columns[schema.regular_columns[k]].name, "' "});
  const std::string shown = Concat({"write time ", cell.write_us, " us"});
  if (judgement.finding == Finding::kOlder) {
    const bool is_value = ours.state == CellState::kValue;
    const int64_t ours_us = is_value || ours.state == CellState::kNull
                                ? std::max(ours.write_us, row.deleted_up_to_us)
                                : row.deleted_up_to_us;
    return Concat({text, "still shows a value of ", shown, " instead of our ",
        (is_value ? "value" : "deletion"), " of ", ours_us, " us, which was sent twice and "
        "acknowledged"});
  }
  const bool same_value = cell.value && *cell.value == ours.bytes;
  const std::string what = !same_value  ? "another value"
                           : cell.ttl_s ? "our value, but with a TTL,"
                                        : "our value, but without a TTL,";
  return Concat({text, "has ", what, " at our own ", shown, ": it was damaged upstream, or "
      "another writer uses our timestamps"});
}

}  // namespace cistern::replicate
