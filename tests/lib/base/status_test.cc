#include "cistern/status.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <utility>

#include "cistern/result.h"
#include "lib/base/shortage.h"

namespace cistern {
namespace {

TEST(Status, OkIsAPointerWide) {
  static_assert(sizeof(Status) == sizeof(void*));
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.message(), "");
  EXPECT_EQ(ok.ToString(), "OK");
  EXPECT_TRUE(Status(StatusCode::kOk, "dropped").ok());
  EXPECT_EQ(Status(StatusCode::kOk, "dropped").message(), "");
}

TEST(Status, CopiesStandAlone) {
  Status a = Status::NotFound("no table 't'");
  Status b = a;
  a = Status::Busy("full");
  EXPECT_EQ(b.ToString(), "NotFound: no table 't'");
  EXPECT_EQ(a.code(), StatusCode::kBusy);
  b = Status::Ok();
  EXPECT_TRUE(b.ok());
  const Status& self = a;
  a = self;
  EXPECT_EQ(a.message(), "full");
}

TEST(Status, MovesLeaveOk) {
  Status a = Status::IoError("gone");
  const Status b = std::move(a);
  EXPECT_EQ(b.code(), StatusCode::kIoError);
  EXPECT_TRUE(a.ok());  // NOLINT(bugprone-use-after-move): that it is OK is promised here
}

TEST(Status, EachCodeHasAName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(StatusCode::kTooManyOpenFiles); ++code) {
    const std::string_view name = StatusCodeName(static_cast<StatusCode>(code));
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_FALSE(names.contains("Unknown"));
  EXPECT_TRUE(IsShortage(Status::OutOfMemory()));
  EXPECT_TRUE(IsShortage(Status::TooManyOpenFiles("ulimit")));
  EXPECT_FALSE(IsShortage(Status::IoError("gone")));
  EXPECT_FALSE(IsShortage(Status::Ok()));
}

TEST(Result, OfAnOkStatusIsAnError) {
  const Result<int> none = Status::Ok();
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace cistern
