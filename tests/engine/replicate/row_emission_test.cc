// The table of row_emission.h, line by line.
#include "engine/replicate/row_emission.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cistern::replicate {
namespace {

using Life = Emission::Life;

// "liveness values nulls elements expires over shadows", in words that are wanted.
VersionTraits Traits(const std::string& words) {
  const auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
  VersionTraits version;
  version.deletes_row = has("delete");
  version.has_liveness = has("liveness");
  version.has_values = has("values");
  version.has_nulls = has("nulls");
  version.replaces_elements = has("elements");
  version.expires = has("expires") || has("over");
  version.is_expired = has("over");
  version.may_shadow = has("shadows");
  return version;
}

// "INSERT values nulls ttl": the statement, what it sets, what it deletes, how long it lives.
std::string Show(const std::optional<Emission>& emission) {
  if (!emission) return "none";
  const std::vector<std::string> kinds = {"INSERT", "INSERT+", "UPDATE", "UPDATE+", "DELETE"};
  std::string text = kinds.at(static_cast<size_t>(emission->kind));
  if (emission->cells.of_value == CellBind::kItself) text += " values";
  if (emission->cells.of_value == CellBind::kNull) text += " values-deleted";
  if (emission->cells.of_null == CellBind::kNull) text += " nulls";
  const std::vector<std::string> lives = {"", " expiry", " second"};
  return text + lives.at(static_cast<size_t>(emission->life));
}

struct Line {
  const char* version;
  const char* expected;
};

void ExpectLines(const EmissionRules& rules, const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    EXPECT_EQ(Show(EmitVersion(Traits(line.version), rules)), line.expected) << line.version;
  }
}

TEST(EmitVersion, APageThatIsSentWhole) {
  ExpectLines({PushPass::kWhole, TimestampMode::kWriteTime, false},
              {{"delete", "DELETE"},
               {"liveness values", "INSERT values nulls"},
               {"liveness", "INSERT values nulls"},
               {"liveness values nulls expires", "INSERT+ values nulls expiry"},
               {"values nulls", "UPDATE values nulls"},
               {"values expires", "UPDATE+ values nulls expiry"},
               {"nulls", "UPDATE nulls"},
               {"nulls expires", "UPDATE nulls"},
               {"", "none"},
               {"liveness values over", "none"},
               {"liveness values over shadows", "INSERT+ values-deleted nulls second"},
               {"values over shadows", "UPDATE values-deleted nulls"},
               {"over shadows", "none"}});
}

TEST(EmitVersion, DeletionsBeforeRowsThatHaveAnOldNow) {
  ExpectLines({PushPass::kDeletions, TimestampMode::kWriteTime, true},
              {{"delete", "DELETE"},
               {"liveness values", "none"},
               {"liveness values nulls expires", "UPDATE nulls"},
               {"values nulls", "UPDATE nulls"},
               {"liveness values elements expires", "UPDATE nulls"},
               {"values over", "none"},
               {"values elements over", "none"},
               {"liveness values over shadows", "UPDATE values-deleted nulls"},
               {"liveness over shadows", "none"},
               {"values over shadows", "UPDATE values-deleted nulls"}});
  ExpectLines({PushPass::kRows, TimestampMode::kWriteTime, true},
              {{"delete", "none"},
               {"liveness values", "INSERT values"},
               {"liveness values nulls expires", "INSERT+ values expiry"},
               {"liveness values elements expires", "INSERT+ values expiry"},
               {"values nulls", "UPDATE values"},
               {"nulls", "none"},
               {"nulls expires", "none"},
               {"values over", "none"},
               {"liveness values over shadows", "INSERT+ expiry"},
               {"values over shadows", "none"}});
}

TEST(EmitVersion, InEventTimeNothingThatIsOverBecomesADeletion) {
  ExpectLines({PushPass::kRows, TimestampMode::kEventTime, true},
              {{"liveness values over shadows", "INSERT+ values expiry"},
               {"values over shadows", "UPDATE+ values expiry"},
               {"values over", "none"}});
  ExpectLines({PushPass::kDeletions, TimestampMode::kEventTime, true},
              {{"liveness values over shadows", "none"}});
  ExpectLines({PushPass::kWhole, TimestampMode::kEventTime, false},
              {{"liveness values over shadows", "INSERT+ values nulls second"},
               {"values over shadows", "UPDATE+ values nulls second"}});
}

}  // namespace
}  // namespace cistern::replicate
