// What the cluster shows of a row, beside what a seal says of it. Pure.
//
// Cell by cell, and of the cell alone:
//
//   the seal has      the cluster shows       finding
//   a value           the same, of that time  kAsSent
//                     a newer write           kNewer: an amendment, an overwrite, another writer
//                     another value or life   kDiffers if Cassandra would keep the cluster's of the
//                     of that time            two, kOlder if it would keep ours; where write times
//                                             are event times the first is an overwrite, kNewer. Of
//                                             two expiries within the slack, and of any two while
//                                             no clock is trusted, the cluster decides: kOlder
//                                             until ours was sent again
//                     an older write          kOlder: ours is not there
//                     nothing                 kOver if it may have expired, kHidden or kAgreed if
//                                             its column hides it (hidden_columns.h), else kAbsent
//   a deletion        nothing, or newer       kDeleted, kNewer
//                     a write at or before    kOlder: the deletion is not there
//   nothing           whatever                kNothing
//
// A collection that is not frozen has no write time that is told. There a value is kAsSent if it is
// the same. Any other, or one beside a deletion, is kUnseen: sent once more, ours replaces what is
// older, and what shows then is newer.
//
// A static cell is one for all rows of the bucket, and the newest of them wins. So a newer one is
// kAsSent for the others: no other writer has to be there for it. The newest may also have expired
// before them: one that is absent even after a second sending is kOver. A row that was written by
// updates and sets nothing else is no row upstream: of its static cell nothing is judged, kNothing.
//
// The gravest finding is the row's. A row's marker shows only in that the row does: of one that is
// shown without a cell nothing tells when it was written. Beside a deletion of it that is kUnseen.
// A TTL is judged to the slack alone, as the server's clock is not known.
#ifndef CISTERN_ENGINE_REPLICATE_ROW_JUDGE_H_
#define CISTERN_ENGINE_REPLICATE_ROW_JUDGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/replicate/hidden_columns.h"
#include "engine/replicate/seal_rows.h"
#include "engine/replicate/timestamp_mode.h"
#include "engine/replicate/upstream_rows.h"

namespace cistern::replicate {

// From the lightest to the gravest.
enum class Finding : uint8_t {
  kNothing,  // the seal says nothing of it upstream
  kDeleted,
  kOver,
  kAsSent,
  kNewer,
  kAgreed,  // hidden, and a person has agreed to it
  kUnseen,
  kAbsent,
  kOlder,
  kHidden,
  kDiffers,
};

struct JudgeRules {
  TimestampMode mode = TimestampMode::kWriteTime;
  bool older_may_exist = true;   // as the seal was pushed with: what is over was sent all the same
  std::optional<int64_t> now_s;  // the trusted clock's; none: what expires may be over
  int64_t expiry_slack_s = 0;    // so long before its expiry a cell may be over upstream
  const HiddenColumns* hidden = nullptr;  // null: no column hides a value
  bool was_sent_again = false;  // and acknowledged: a cell that is not there is deleted or over
};

struct Judgement {
  Finding finding = Finding::kNothing;
  std::optional<size_t> cell;  // the first of that finding, among the regular columns
};

// Whether a cell or marker of the seal may not be seen any more.
[[nodiscard]] bool MayBeOver(const SealCell& cell, const JudgeRules& rules);

// `upstream`: the row of the same key; null: the cluster shows none.
[[nodiscard]] Judgement JudgeRow(const TableSchema& schema, const SealRow& row,
                                 const UpstreamRow* upstream, const JudgeRules& rules);

// Of kOlder and kDiffers, a sentence for a person: which row and column, and what is wrong.
[[nodiscard]] std::string Describe(const TableSchema& schema, const SealRow& row,
                                   const UpstreamRow& upstream, const Judgement& judgement);
// The same of kNewer, and of kUnseen after a second sending: which write shows. No `cell`: the row.
[[nodiscard]] std::string DescribeNewer(const TableSchema& schema, const SealRow& row,
                                        const UpstreamRow& upstream, std::optional<size_t> cell);
// The same of kHidden, and what to do.
[[nodiscard]] std::string DescribeHidden(const TableSchema& schema, const SealRow& row, size_t cell,
                                         const HiddenColumn& hidden);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ROW_JUDGE_H_
