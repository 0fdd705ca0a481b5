// What differs between a table here and in a cluster, as the tool prints it.
#ifndef CISTERN_TOOLS_DRIFT_TEXT_H_
#define CISTERN_TOOLS_DRIFT_TEXT_H_

#include <string>
#include <string_view>

#include "engine/replicate/schema_drift.h"

namespace cistern::tool {

// "blocks", "warns", "harmless".
[[nodiscard]] std::string_view WeightName(replicate::DriftWeight weight);
// "column_missing": for scripts.
[[nodiscard]] std::string_view KindName(replicate::DriftKind kind);

// Lines for a person: the table with what may be sent, then each difference, with the statement to
// paste in lines of its own.
[[nodiscard]] std::string DriftText(const replicate::SchemaDrift& drift);

// One line, an object:
//   {"table":"plant.air","blocks":true,"blocks_from":null,"hides_up_to":null,"differences":[
//    {"weight":"blocks","kind":"column_missing","subject":"n","what":"...","advice":"...",
//     "cql":"..."}]}
// `blocks_from`: the time from which buckets are blocked, ISO 8601; null: all, or none.
// `hides_up_to`: what was written up to then is hidden, and blocks for that; null: nothing is.
[[nodiscard]] std::string DriftJson(const replicate::SchemaDrift& drift);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_DRIFT_TEXT_H_
