#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cistern/arrow.h"
#include "tests/lib/arrow/arrow_columns.h"
#include "tests/lib/arrow/arrow_reader.h"

namespace cistern {
namespace {

using arrow_test::MetadataOf, arrow_test::MoveTo, arrow_test::Owned, arrow_test::TableOf;
using Metadata = std::map<std::string, std::string>;

// "name: format", nullable ones with a "?", and what is below in brackets.
std::string Shown(const ArrowSchema& schema) {
  std::string out = std::string(schema.name) + ": " + schema.format;
  if ((schema.flags & ARROW_FLAG_NULLABLE) != 0) out += "?";
  for (int64_t i = 0; i < schema.n_children; ++i) {
    out += (i == 0 ? " [" : ", ") + Shown(*schema.children[i]);
  }
  return schema.n_children == 0 ? out : out + "]";
}

std::string ShownOf(const std::string& type) {
  const auto table = TableOf(type);
  Owned<ArrowSchema> schema;
  EXPECT_TRUE(ExportArrowSchema(*table, std::vector<size_t>{3}, &schema).ok());
  EXPECT_EQ(schema.dictionary, nullptr);
  return schema.n_children == 1 ? Shown(*schema.children[0]) : "";
}

// The ABI, where pointers have eight bytes.
static_assert(sizeof(void*) != 8 || (sizeof(ArrowSchema) == 72 && sizeof(ArrowArray) == 80 &&
                                     sizeof(ArrowArrayStream) == 40));
static_assert(sizeof(void*) != 8 || (offsetof(ArrowSchema, flags) == 24 &&
                                     offsetof(ArrowSchema, release) == 56));
static_assert(sizeof(void*) != 8 || (offsetof(ArrowArray, buffers) == 40 &&
                                     offsetof(ArrowArray, release) == 64));

TEST(ArrowSchema, EveryTypeHasItsFormat) {
  EXPECT_EQ(ShownOf("boolean"), "x: b?");
  EXPECT_EQ(ShownOf("tinyint"), "x: c?");
  EXPECT_EQ(ShownOf("smallint"), "x: s?");
  EXPECT_EQ(ShownOf("int"), "x: i?");
  EXPECT_EQ(ShownOf("bigint"), "x: l?");
  EXPECT_EQ(ShownOf("float"), "x: f?");
  EXPECT_EQ(ShownOf("double"), "x: g?");
  EXPECT_EQ(ShownOf("text"), "x: u?");
  EXPECT_EQ(ShownOf("ascii"), "x: u?");
  EXPECT_EQ(ShownOf("blob"), "x: z?");
  EXPECT_EQ(ShownOf("timestamp"), "x: tsm:UTC?");
  EXPECT_EQ(ShownOf("date"), "x: tdD?");
  EXPECT_EQ(ShownOf("time"), "x: ttn?");
  EXPECT_EQ(ShownOf("uuid"), "x: w:16?");
  EXPECT_EQ(ShownOf("timeuuid"), "x: w:16?");
  EXPECT_EQ(ShownOf("inet"), "x: z?");
  EXPECT_EQ(ShownOf("decimal"), "x: u?");
  EXPECT_EQ(ShownOf("varint"), "x: u?");
  EXPECT_EQ(ShownOf("duration"), "x: u?");
  EXPECT_EQ(ShownOf("tuple<int, text>"), "x: u?");
  EXPECT_EQ(ShownOf("vector<float, 3>"), "x: u?");
  EXPECT_EQ(ShownOf("map<text, int>"), "x: +m? [entries: +s [key: u, value: i]]");
  EXPECT_EQ(ShownOf("frozen<list<int>>"), "x: +l? [item: i]");
  EXPECT_EQ(ShownOf("frozen<set<frozen<list<uuid>>>>"), "x: +l? [item: +l [item: w:16]]");
  EXPECT_EQ(ShownOf("frozen<map<text, frozen<list<double>>>>"),
            "x: +m? [entries: +s [key: u, value: +l [item: g]]]");
}

// A scan's own order, with a column twice; keys are never null.
TEST(ArrowSchema, HasAFieldForEachColumn) {
  const auto table = TableOf("int");
  Owned<ArrowSchema> schema;
  ASSERT_TRUE(ExportArrowSchema(*table, std::vector<size_t>{3, 2, 0, 1, 3}, &schema).ok());
  EXPECT_EQ(Shown(schema), ": +s [x: i?, ts: tsm:UTC, id: u, day: tdD, x: i?]");
  Owned<ArrowSchema> empty;
  ASSERT_TRUE(ExportArrowSchema(*table, {}, &empty).ok());
  EXPECT_EQ(Shown(empty), ": +s");
}

TEST(ArrowSchema, TellsTheTypesOfCql) {
  const auto table = TableOf("frozen<map<timeuuid, int>>");
  Owned<ArrowSchema> schema;
  ASSERT_TRUE(ExportArrowSchema(*table, std::vector<size_t>{0, 1, 2, 3}, &schema).ok());
  const Metadata whole = MetadataOf(schema);
  ASSERT_EQ(whole.size(), 1u);
  const auto parsed = ParseCreateTable(whole.at("cql"));
  ASSERT_TRUE(parsed.ok()) << whole.at("cql");
  EXPECT_EQ((*parsed)->ToCql(), table->ToCql());
  const auto field = [&](int i) { return MetadataOf(*schema.children[i]); };
  EXPECT_EQ(field(0), (Metadata{{"cql", "text"}, {"cistern.role", "entity"}}));
  EXPECT_EQ(field(1), (Metadata{{"cql", "date"}, {"cistern.role", "bucket"}}));
  EXPECT_EQ(field(2), (Metadata{{"cql", "timestamp"}, {"cistern.role", "clustering"}}));
  EXPECT_EQ(field(3),
            (Metadata{{"cql", "frozen<map<timeuuid, int>>"}, {"cistern.role", "regular"}}));
  const ArrowSchema& entries = *schema.children[3]->children[0];
  EXPECT_EQ(entries.metadata, nullptr);
  EXPECT_EQ(MetadataOf(*entries.children[0]),
            (Metadata{{"cql", "timeuuid"},
                      {"ARROW:extension:name", "arrow.uuid"},
                      {"ARROW:extension:metadata", ""}}));
}

TEST(ArrowSchema, AColumnOfNoTableIsRefused) {
  Owned<ArrowSchema> schema;
  const Status s = ExportArrowSchema(*TableOf("text"), std::vector<size_t>{0, 4}, &schema);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s.message(), "table plant.t has no column number 4");
  EXPECT_EQ(schema.release, nullptr);
}

TEST(ArrowSchema, ReleasesOnceAndMoves) {
  auto table = TableOf("frozen<list<int>>");
  ArrowSchema schema;
  ASSERT_TRUE(ExportArrowSchema(*table, std::vector<size_t>{0, 3}, &schema).ok());
  table.reset();  // nothing of it is pointed to
  Owned<ArrowSchema> child;
  MoveTo<ArrowSchema>(schema.children[1], &child);
  Owned<ArrowSchema> moved;
  MoveTo<ArrowSchema>(&schema, &moved);
  EXPECT_EQ(Shown(*moved.children[0]), "id: u");
  moved.release(&moved);
  EXPECT_EQ(moved.release, nullptr);
  EXPECT_EQ(Shown(child), "x: +l? [item: i]");  // it outlives its parent
}

}  // namespace
}  // namespace cistern
