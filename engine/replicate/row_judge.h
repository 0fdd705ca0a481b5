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
//                     nothing                 kOver if it may have expired, otherwise kAbsent
//   a deletion        nothing, or newer       kDeleted, kNewer
//                     a write at or before    kOlder: the deletion is not there
//   nothing           whatever                kNothing
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
  kUnseen,
  kAbsent,
  kOlder,
  kDiffers,
};

struct JudgeRules {
  TimestampMode mode = TimestampMode::kWriteTime;
  bool older_may_exist = true;   // as the seal was pushed with: what is over was sent all the same
  std::optional<int64_t> now_s;  // the trusted clock's; none: what expires may be over
  int64_t expiry_slack_s = 0;    // so long before its expiry a cell may be over upstream
  bool was_sent_again = false;   // and acknowledged both times
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

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ROW_JUDGE_H_
