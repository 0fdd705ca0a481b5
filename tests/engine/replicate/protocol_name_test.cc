// The names of types in the metadata of answers. Those of vectors are as Cassandra 5.0 writes them
// (VectorType.toString), which has blanks around the last comma alone.
#include "engine/replicate/protocol_name.h"

#include <gtest/gtest.h>

#include <string>

#include "cistern/schema.h"

namespace cistern::replicate {
namespace {

// Of a column of the type, in keyspace plant.
std::string NameOf(const std::string& type) {
  const auto table = ParseCreateTable(
      "CREATE TYPE plant.spot (x double, \"Y\" set<int>);\n"
      "CREATE TABLE plant.t (e text, day date, ts timestamp, v " + type +
      ", PRIMARY KEY ((e, day), ts))");
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? ProtocolName((*table)->columns[3].type, "plant") : "";
}

TEST(ProtocolName, SaysNothingOfFrozen) {
  EXPECT_EQ(NameOf("varchar"), "text");
  EXPECT_EQ(NameOf("duration"), "duration");
  EXPECT_EQ(NameOf("map<text, int>"), "map<text, int>");
  EXPECT_EQ(NameOf("frozen<list<frozen<set<inet>>>>"), "list<set<inet>>");
  EXPECT_EQ(NameOf("tuple<int, frozen<tuple<text>>>"), "tuple<int, tuple<text>>");
}

TEST(ProtocolName, NamesUserDefinedTypesWithTheirKeyspace) {
  EXPECT_EQ(NameOf("frozen<spot>"), "plant.spot");
  EXPECT_EQ(NameOf("map<int, frozen<spot>>"), "map<int, plant.spot>");
}

TEST(ProtocolName, TellsTheClassOfAVector) {
  const std::string package = "org.apache.cassandra.db.marshal.";
  EXPECT_EQ(NameOf("vector<float, 3>"),
            "'" + package + "VectorType(" + package + "FloatType , 3)'");
  EXPECT_EQ(NameOf("set<vector<blob, 1>>"),
            "set<'" + package + "VectorType(" + package + "BytesType , 1)'>");
  EXPECT_EQ(NameOf("vector<vector<smallint, 2>, 3>"),
            "'" + package + "VectorType(" + package + "VectorType(" + package +
                "ShortType , 2) , 3)'");
  EXPECT_EQ(NameOf("vector<tuple<frozen<list<date>>, varint>, 2>"),
            "'" + package + "VectorType(" + package + "TupleType(" + package + "ListType(" +
                package + "SimpleDateType)," + package + "IntegerType) , 2)'");
  EXPECT_EQ(NameOf("vector<frozen<map<ascii, time>>, 2>"),
            "'" + package + "VectorType(" + package + "FrozenType(" + package + "MapType(" +
                package + "AsciiType," + package + "TimeType)) , 2)'");
  EXPECT_EQ(NameOf("vector<frozen<spot>, 2>"),
            "'" + package + "VectorType(" + package + "FrozenType(" + package +
                "UserType(plant,73706f74,78:" + package + "DoubleType,59:" + package + "SetType(" +
                package + "Int32Type))) , 2)'");
}

}  // namespace
}  // namespace cistern::replicate
