#include "engine/replicate/row_judge.h"

#include <algorithm>

#include "engine/replicate/same_value.h"
#include "lib/base/concat.h"

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

Finding JudgeCell(const ColumnType& type, const SealCell& ours, int64_t deleted_up_to_us,
                  const UpstreamCell& upstream, const JudgeRules& rules) {
  const bool deletes = ours.state == CellState::kNull || deleted_up_to_us != kNothingDeleted;
  if (!upstream.value) {
    if (ours.state != CellState::kValue) return deletes ? Finding::kDeleted : Finding::kNothing;
    return MayBeOver(ours, rules) ? Finding::kOver : Finding::kAbsent;
  }
  if (upstream.write_us <= deleted_up_to_us) return Finding::kOlder;
  switch (ours.state) {
    case CellState::kValue: return JudgeValue(type, ours, upstream, rules);
    case CellState::kNull:
      return upstream.write_us <= ours.write_us ? Finding::kOlder : Finding::kNewer;
    case CellState::kAbsent: break;
  }
  return deletes ? Finding::kNewer : Finding::kNothing;
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
    const ColumnType& type = schema.columns[schema.regular_columns[k]].type;
    const UpstreamCell& cell = upstream == nullptr ? kNoCell : upstream->cells[k];
    const Finding finding = JudgeCell(type, row.cells[k], row.deleted_up_to_us, cell, rules);
    if (finding > judgement.finding) judgement = {finding, k};
  }
  return judgement;
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
