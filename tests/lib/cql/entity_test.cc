#include "cistern/entity.h"

#include <gtest/gtest.h>

#include <array>

#include "cistern/limits.h"

namespace cistern {
namespace {

using namespace std::string_literals;

std::shared_ptr<const TableSchema> Table(const std::string& entity_columns,
                                         const std::string& key) {
  auto parsed = ParseCreateTable("CREATE TABLE t (" + entity_columns +
                                 ", day date, ts timestamp, PRIMARY KEY ((" + key + ", day), ts))");
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed.ok() ? *parsed : nullptr;
}

TEST(Entity, OneColumnIsItsText) {
  const auto table = Table("sensor text", "sensor");
  const std::array<std::string_view, 1> parts = {"pump-7"};
  const auto key = EntityFromText(*table, parts);
  ASSERT_TRUE(key.ok()) << key.status().ToString();
  EXPECT_EQ(key->bytes, "\0\6pump-7"s);
  EXPECT_EQ(EntityToText(*table, key->bytes), "pump-7");
}

TEST(Entity, SeveralColumnsAreNamed) {
  const auto table = Table("site int, sensor text", "site, sensor");
  const std::array<std::string_view, 2> parts = {"3", "pump-7"};
  const auto key = EntityFromText(*table, parts);
  ASSERT_TRUE(key.ok()) << key.status().ToString();
  EXPECT_EQ(key->bytes, "\0\4\0\0\0\3\0\6pump-7"s);
  EXPECT_EQ(EntityToText(*table, key->bytes), "site=3,sensor=pump-7");
}

TEST(Entity, ErrorsNameTheColumn) {
  const auto table = Table("site int, sensor text", "site, sensor");
  const std::array<std::string_view, 2> bad = {"three", "pump-7"};
  EXPECT_EQ(EntityFromText(*table, bad).status().message(),
            "column 'site': expected int such as 42, got 'three'");
  EXPECT_EQ(EntityFromText(*table, std::span(bad).first(1)).status().message(),
            "the entity of table t has 2 columns (site, sensor), got 1 values");
  const std::string wide(limits::kEntityKeyBytesMax, 'x');
  const std::array<std::string_view, 2> too_wide = {"3", wide};
  EXPECT_EQ(EntityFromText(*table, too_wide).status().code(), StatusCode::kTooLarge);
}

TEST(Entity, BytesThatDoNotDecodeAreShownInHex) {
  const auto table = Table("sensor text", "sensor");
  EXPECT_EQ(EntityToText(*table, "\0"s), "0x00");
  EXPECT_EQ(EntityToText(*table, "\0\5ab"s), "0x00056162");
  EXPECT_EQ(EntityToText(*table, "\0\1ab"s), "0x00016162");
  EXPECT_EQ(EntityToText(*table, "\0\1\xff"s), "0x0001ff");
}

}  // namespace
}  // namespace cistern
