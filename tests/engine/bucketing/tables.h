// Small tables for the bucketing tests.
#ifndef CISTERN_TESTS_ENGINE_BUCKETING_TABLES_H_
#define CISTERN_TESTS_ENGINE_BUCKETING_TABLES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cistern/schema.h"

namespace cistern {

// A table whose bucket column `b` has `type` and the rule `width` ("1 hour as epoch"); the
// event time is a bigint in `unit`.
inline std::shared_ptr<const TableSchema> Table(const std::string& type, const std::string& width,
                                                const std::string& unit = "s") {
  auto parsed = ParseCreateTable("CREATE TABLE t (e text, b " + type +
                                 ", ts bigint, v double, PRIMARY KEY ((e, b), ts)) WITH comment = "
                                 "'cistern: bucket b = " +
                                 width + "; time ts = " + unit + "'");
  EXPECT_TRUE(parsed.ok()) << type << ", " << width << ": " << parsed.status().ToString();
  return parsed.ok() ? *parsed : nullptr;
}

}  // namespace cistern

#endif  // CISTERN_TESTS_ENGINE_BUCKETING_TABLES_H_
