// Tokens against those that two independent drivers and Cassandra's own tests give.
#include "engine/cql/token.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/hex.h"

namespace cistern::cql {
namespace {

using testing::FromHex;

std::string Repeated(std::string_view hex, int times) {
  std::string bytes;
  for (int i = 0; i < times; ++i) bytes += FromHex(hex);
  return bytes;
}

TEST(Token, IsCassandrasOfKnownKeys) {
  struct Known {
    std::string key;
    int64_t token;
  };
  const std::vector<Known> all = {
      {"", std::numeric_limits<int64_t>::min()},
      {"a", -8839064797231613815},
      {"123", -7468325962851647638},
      {"sensor-1", 5179293057416524792},
      {"hello, world", 3760413751763713166},
      {Repeated("00ff10fa99", 10), 5837342703291459765},
      {Repeated("fe", 8), -8927430733708461935},
      {Repeated("10", 8), 1446172840243228796},
      {FromHex("00000000"), -3485513579396041028},
      {FromHex("00000001"), -4069959284402364209},
      {FromHex("ffffffff"), 7297452126230313552},
      {FromHex("0000000000000000"), 2945182322382062539},
      {FromHex("0000000000000001"), 6292367497774912474},
      {Repeated("ff", 8), 7071048584287372947},
      {FromHex("80"), -5284281814142962636},
      {Repeated("ff", 15), -2195530867418009455},
      {Repeated("ff", 16), -2824192546314762522},
      {Repeated("ff", 17), -4128212798341382003},
      {FromHex("00104327529fb645dd00b883ec39ae448bb800000400066a6b00"), -9223371632693506265},
  };
  for (const Known& known : all) EXPECT_EQ(TokenOf(known.key), known.token) << known.key.size();
  std::string high;
  for (int byte = 0xe0; byte <= 0xff; ++byte) high.push_back(static_cast<char>(byte));
  EXPECT_EQ(TokenOf(high), 1006116951175961861);
}

TEST(PartitionKey, OfOneColumnIsItsValue) {
  const std::vector<std::string_view> one = {"sensor-1"};
  EXPECT_EQ(PartitionKeyBytes(one), "sensor-1");
}

TEST(PartitionKey, OfSeveralColumnsEndsEach) {
  const std::string day = FromHex("00004d0b");
  const std::string instant = FromHex("0000018cc251f400");
  const std::vector<std::string_view> by_day = {"sensor-1", day};
  EXPECT_EQ(PartitionKeyBytes(by_day), FromHex("000873656e736f722d3100000400004d0b00"));
  EXPECT_EQ(TokenOf(PartitionKeyBytes(by_day)), 4077700807802549524);
  const std::vector<std::string_view> by_instant = {"sensor-1", instant};
  EXPECT_EQ(TokenOf(PartitionKeyBytes(by_instant)), -2398575934461280189);
  const std::vector<std::string_view> by_text = {"gw-01", "2024-01-01"};
  EXPECT_EQ(TokenOf(PartitionKeyBytes(by_text)), -4195641874692824458);
}

}  // namespace
}  // namespace cistern::cql
