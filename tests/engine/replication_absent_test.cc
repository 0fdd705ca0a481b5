// A libcistern without what speaks to clusters says so.
#include <gtest/gtest.h>

#include "cistern/replication.h"

namespace cistern {
namespace {

TEST(ReplicationAbsent, IsSaidWithWhatToDo) {
  const Status s = Replication::Start(nullptr, {}).status();
  EXPECT_EQ(s.code(), StatusCode::kNotSupported);
  EXPECT_NE(s.message().find("-Dreplication=enabled"), std::string::npos);
}

}  // namespace
}  // namespace cistern
