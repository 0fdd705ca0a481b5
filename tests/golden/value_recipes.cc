// Segments for the values: every encoding in every form, every type, cells that are missing.
#include <array>
#include <bit>
#include <initializer_list>
#include <limits>
#include <string>

#include "lib/base/coding.h"
#include "lib/segment/segment_format.h"
#include "tests/golden/recipe.h"

namespace cistern::testing {
namespace {

// --- integer streams

constexpr char kIntegersCql[] =
    "CREATE TABLE g.integers (id text, day date, ts timestamp, few_bits int, walk bigint, "
    "faster bigint, multiples int, spikes int, walk_jumps bigint, runs int, any_bits bigint, "
    "half_bits bigint, constant int, few bigint, flag boolean, tiny tinyint, short smallint, "
    "moment timestamp, today date, clock time, PRIMARY KEY ((id, day), ts))";

void FillIntegers(GoldenRows* rows, int64_t count) {
  Steps steps;
  int64_t walk = 5000;
  int64_t jumps = -1'000'000;
  const std::array<int64_t, 4> few = {kMin, -987'654'321'012'345, 77, kMax - 5};
  for (int64_t i = 0; i < count; ++i) {
    walk += steps.Below(16) - 4;
    jumps += 10 + steps.Below(4) + (i % 71 == 70 ? 40'000'000'000 : 0);
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i).Number(steps.Below(1000)).Number(walk);
    rows->Number(i * i * 37 + i).Number(250 * steps.Below(60) - 4000);
    rows->Number(i % 90 == 7 ? 2'000'000'000 : steps.Below(20)).Number(jumps);
    rows->Number(i / 40 * (i / 40) * 17'389 % 1013);
    rows->Number(static_cast<int64_t>(steps.Bits())).Number(steps.Below(uint64_t{1} << 31));
    rows->Number(-7).Number(few[static_cast<size_t>(steps.Below(4))]).Number(i / 25 % 2);
    rows->Number(steps.Below(256) - 128).Number(steps.Below(65'536) - 32'768);
    rows->Number(kStartMs - 40 * steps.Below(1000)).Number(19'929 + i / 100);
    rows->Number(86'399'999'999'999 - 1'000'000 * i);
  }
}
void Integers60(GoldenRows* rows) { FillIntegers(rows, 60); }
void Integers360(GoldenRows* rows) { FillIntegers(rows, 360); }

// The ends of the ranges: widths of 64 bits, steps that wrap around.
constexpr char kRangesCql[] =
    "CREATE TABLE g.ranges (id text, day date, ts timestamp, a bigint, b int, c smallint, "
    "d tinyint, e boolean, f time, g date, h float, i double, PRIMARY KEY ((id, day), ts))";

void Ranges(GoldenRows* rows) {
  for (int64_t i = 0; i < 4; ++i) {
    const bool low = i % 2 == 0;
    rows->Begin(low ? kMin : kMax);
    rows->Number(kStartMs + i).Number(low ? kMin : kMax).Number(low ? INT32_MIN : INT32_MAX);
    rows->Number(low ? INT16_MIN : INT16_MAX).Number(low ? INT8_MIN : INT8_MAX).Number(low ? 0 : 1);
    rows->Number(low ? 0 : 86'399'999'999'999).Number(low ? INT32_MIN : INT32_MAX);
    rows->Float(low ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::max());
    rows->Double(low ? std::numeric_limits<double>::denorm_min()
                     : -std::numeric_limits<double>::max());
  }
}

// --- floats and doubles

constexpr char kDecimalsCql[] =
    "CREATE TABLE g.decimals (id text, day date, ts timestamp, tenths double, odd double, "
    "of_floats double, printed double, of_noise double, noise double, levels double, "
    "decimal_levels double, float_levels double, decimal_floats double, printed_levels double, "
    "noise_levels double, hundredths float, odd_floats float, noise_floats float, "
    "levels_floats float, decimal_levels_floats float, PRIMARY KEY ((id, day), ts))";

// f, from 1 to below 10, as text of 12 significant digits tells it.
double Printed(float f) {
  return static_cast<double>(static_cast<int64_t>(static_cast<double>(f) * 1e11 + 0.5)) / 1e11;
}

double Odd(int64_t i, int64_t tenths) {
  switch (i % 60) {
    case 3: return -0.0;
    case 17: return std::numeric_limits<double>::infinity();
    case 31: return -std::numeric_limits<double>::infinity();
    case 44: return std::bit_cast<double>(uint64_t{0x7ff8'0000'0000'0001});
    default: return static_cast<double>(tenths) / 10;
  }
}

float OddFloat(int64_t i, int64_t tenths) {
  switch (i % 60) {
    case 5: return -0.0f;
    case 21: return std::numeric_limits<float>::infinity();
    case 50: return std::bit_cast<float>(uint32_t{0xffc0'1234});
    default: return static_cast<float>(tenths) / 10;
  }
}

void FillDecimals(GoldenRows* rows, int64_t count) {
  Steps steps;
  double noise = 20;
  std::array<double, 12> levels;
  for (double& level : levels) level = static_cast<double>(steps.Below(1'000'000'000)) / 7777.0;
  const auto decimal = [](int64_t d) { return static_cast<double>(d) / 1e9; };
  const auto single = [](double d) { return static_cast<double>(static_cast<float>(d)); };
  for (int64_t i = 0; i < count; ++i) {
    noise += static_cast<double>(steps.Below(1000) - 500) / 997;
    const double level = levels[static_cast<size_t>(steps.Below(levels.size()))];
    const int64_t hundredths = 100 + steps.Below(900);
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i).Double(static_cast<double>(steps.Below(3000)) / 10);
    rows->Double(Odd(i, steps.Below(400))).Double(single(static_cast<double>(hundredths) / 100));
    rows->Double(Printed(static_cast<float>(hundredths) / 100)).Double(single(noise));
    rows->Double(noise).Double(level).Double(decimal(static_cast<int64_t>(level * 1e9)));
    const int64_t thousandths = static_cast<int64_t>(level) * 997 % 10'000'000;
    rows->Double(single(level)).Double(single(static_cast<double>(thousandths) / 1000));
    rows->Double(Printed(1 + static_cast<float>(level) / 65'536));
    rows->Double(1e300 * level);
    rows->Float(static_cast<float>(hundredths) / 100).Float(OddFloat(i, steps.Below(400)));
    rows->Float(static_cast<float>(noise)).Float(static_cast<float>(level));
    rows->Float(static_cast<float>(thousandths) / 1000);
  }
}
void Decimals60(GoldenRows* rows) { FillDecimals(rows, 60); }
void Decimals360(GoldenRows* rows) { FillDecimals(rows, 360); }

// --- zstd

constexpr char kZstdCql[] =
    "CREATE TABLE g.zstd (id text, day date, ts timestamp, whole bigint, half int, real double, "
    "single float, line text, sentence text, PRIMARY KEY ((id, day), ts))";

// Bytes of few kinds, in too many combinations for a list of values.
int64_t Mixed(Steps* steps) {
  constexpr std::array<int64_t, 3> kTop = {0x05, 0x23, 0x3e};
  int64_t bits = kTop[static_cast<size_t>(steps->Below(3))] << 24;
  bits |= steps->Below(2) == 0 ? 0x11'0000 : 0x80'0000;
  bits |= 17 * steps->Below(15) << 8;
  return bits | 13 * steps->Below(15);
}

void Zstd(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 160; ++i) {
    const int64_t high = Mixed(&steps);
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i).Number(-(high << 32 | Mixed(&steps)));
    rows->Number(Mixed(&steps) - 0x1000'0000).Number(high << 32 | Mixed(&steps));
    rows->Number(Mixed(&steps));
    const std::string pump = std::to_string(steps.Below(100'000));
    rows->Text("pump " + pump + " reports pressure " + std::to_string(steps.Below(1000)) + " kPa");
    rows->Text("the valve of line " + std::to_string(steps.Below(9)) +
               " was opened by hand and closed again by its controller");
  }
}

// --- text

constexpr char kTextsCql[] =
    "CREATE TABLE g.texts (id text, day date, ts timestamp, state text, name ascii, odd text, "
    "data blob, at timeuuid, any uuid, PRIMARY KEY ((id, day), ts))";

// A uuid of the fields of version 1.
std::string Timeuuid(uint64_t ticks, uint64_t low) {
  std::string uuid;
  PutBig(&uuid, ticks << 32 | (ticks >> 16 & 0xffff'0000) | (ticks >> 48 & 0x0fff) | 0x1000);
  PutBig(&uuid, low);
  return uuid;
}
constexpr uint64_t kUuid1970 = 0x01B2'1DD2'1381'4000;

// Lines of a log, a column of few long values, and one that the dictionary does not help.
constexpr char kTrainedCql[] =
    "CREATE TABLE g.trained (id text, day date, ts timestamp, line text, unit text, odd blob, "
    "PRIMARY KEY ((id, day), ts))";
void Trained(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 60; ++i) {
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i);
    if (i % 9 == 4) {
      rows->Null();
    } else {
      rows->Text(GoldenLine(&steps));
    }
    rows->Text(i % 2 == 0 ? "modbus: read of register 1, unit 7 does not answer"
                          : "watchdog: no heartbeat of task 2 for 5 s");
    std::string odd;
    PutBig(&odd, steps.Bits());
    rows->Text(odd);
  }
}

void Texts(GoldenRows* rows) {
  Steps steps;
  const std::array<const char*, 3> states = {"OK", "warn", ""};
  for (int64_t i = 0; i < 60; ++i) {
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i).Text(states[static_cast<size_t>(steps.Below(3))]);
    rows->Text("k" + std::to_string(steps.Below(1'000'000)));
    rows->Text(i % 7 == 0 ? "Gr\xc3\xb6\xc3\x9f" "e \"A|B\\\"" : std::string(1, '\0').append("\n"));
    std::string data(static_cast<size_t>(steps.Below(6)), '\0');
    for (char& c : data) c = static_cast<char>(steps.Below(256));
    rows->Text(data);
    const auto ticks = static_cast<uint64_t>(kStartMs * 10'000 + i * 5'000'000) + kUuid1970;
    rows->Text(Timeuuid(ticks, 0x8001'0203'0405'0607));
    std::string any;
    PutBig(&any, steps.Bits());
    PutBig(&any, steps.Bits());
    rows->Text(any);
  }
}

// --- every type

constexpr char kTypesCql[] =
    "CREATE TABLE g.types (id text, day date, ts timestamp, tag text, t_boolean boolean, "
    "t_tinyint tinyint, t_smallint smallint, t_int int, t_bigint bigint, t_float float, "
    "t_double double, t_text text, t_ascii ascii, t_blob blob, t_timestamp timestamp, t_date date, "
    "t_time time, t_uuid uuid, t_timeuuid timeuuid, t_inet inet, t_decimal decimal, "
    "t_varint varint, t_list frozen<list<int>>, t_set frozen<set<text>>, "
    "t_map frozen<map<text, double>>, PRIMARY KEY ((id, day), ts, tag)) "
    "WITH CLUSTERING ORDER BY (ts DESC, tag ASC)";

// An element of a collection: its length and its bytes.
std::string Element(std::string_view bytes) {
  std::string out;
  PutBig(&out, static_cast<int32_t>(bytes.size()));
  return out.append(bytes);
}
template <typename T>
std::string Big(T value) {
  std::string out;
  PutBig(&out, value);
  return out;
}

std::string MapOf(int64_t i) {
  return Big(int32_t{2}) + Element("a") + Element(Big(std::bit_cast<int64_t>(0.5))) +
         Element("b") + Element(Big(std::bit_cast<int64_t>(static_cast<double>(i))));
}

// Two rows of each event time. Where rows ascend by it tags descend: the declared order, turned
// around.
void FillTypes(GoldenRows* rows, int64_t count) {
  Steps steps;
  for (int64_t i = 0; i < count; ++i) {
    rows->Begin((kStartMs + 1000 * (i / 2)) * 1000 + steps.Below(3000));
    rows->Number(kStartMs + 1000 * (i / 2)).Text(i % 2 == 0 ? "b" : "a").Number(i % 3 == 0 ? 1 : 0);
    rows->Number(i - 30).Number(-300 * i).Number(70'000 * i).Number(-(int64_t{1} << 40) * i);
    rows->Float(static_cast<float>(i) / 4).Double(static_cast<double>(i) / 8);
    rows->Text("text " + std::to_string(i)).Text("ascii").Text(Big(static_cast<uint16_t>(i)));
    rows->Number(kStartMs + i).Number(19'929 - 400 * i).Number(1'000'000'007 * i);
    const std::string high = Big(steps.Bits());
    rows->Text(high + Big(steps.Bits()));
    rows->Text(Timeuuid(kUuid1970 + static_cast<uint64_t>(i), 0x80ff'0000'0000'0001));
    rows->Text(i % 2 == 0 ? Big(static_cast<uint32_t>(0xC0A8'0001 + i))
                          : Big(uint64_t{0x2001'0db8'0000'0000}) + Big(static_cast<uint64_t>(i)));
    rows->Text(Big(int32_t{2}) + Big(static_cast<int16_t>(i * 101)));
    rows->Text(Big(static_cast<int16_t>(-i)));
    rows->Text(Big(int32_t{1}) + Element(Big(static_cast<int32_t>(i))));
    rows->Text(Big(int32_t{1}) + Element("x")).Text(MapOf(i));
  }
}
void Types1(GoldenRows* rows) { FillTypes(rows, 1); }
void Types60(GoldenRows* rows) { FillTypes(rows, 60); }

// --- cells without a value

constexpr char kMissingCql[] =
    "CREATE TABLE g.missing (id text, day date, ts timestamp, some int, some_text text, "
    "never double, deleted text, no_value bigint, no_text text, PRIMARY KEY ((id, day), ts))";

void Missing(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 60; ++i) {
    rows->Begin((kStartMs + 500 * i) * 1000 + 250);
    rows->Number(kStartMs + 500 * i);
    i % 3 == 0 ? rows->Absent() : rows->Number(steps.Below(9));
    i % 5 == 1 ? rows->Null() : i % 7 == 0 ? rows->Absent() : rows->Text(i % 2 == 0 ? "on" : "off");
    rows->Absent().Null();
    i % 2 == 0 ? rows->Absent() : rows->Null();
    i < 9 ? rows->Null() : rows->Absent();
  }
}

// --- by hand: what readers take and no writer chooses, or did not when it was made

constexpr char kByHandCql[] =
    "CREATE TABLE g.by_hand (id text, day date, ts timestamp, plain_double double, "
    "plain_float float, patched_steps bigint, patched_constant int, levels double, state text, "
    "PRIMARY KEY ((id, day), ts))";

void ByHand(GoldenRows* rows) {
  constexpr std::array<int64_t, 4> kPatchedSteps = {10, 13, 16, 119};
  for (int64_t i = 0; i < 4; ++i) {
    rows->Begin(1000);
    rows->Number(i).Double(1.5).Float(std::bit_cast<float>(static_cast<uint32_t>(i)));
    rows->Number(kPatchedSteps[static_cast<size_t>(i)]).Number(i == 2 ? 9 : 7).Double(1.5);
    rows->Text(i == 1 ? "" : "on");
  }
}

std::string Bytes(std::initializer_list<uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::string ByHandPage() {
  std::string constant = Bytes({0x00});  // a stream of the bits of 1.5
  PutSigned(&constant, std::bit_cast<int64_t>(1.5));
  std::string page = Bytes({0xa1, 0, 4, 7, 0x00, 0xd0, 0x0f, 1});
  const auto put = [&page](uint8_t encoding, const std::string& values) {
    page.push_back(static_cast<char>(encoding));
    PutVarint(&page, values.size());
    page += values;
  };
  put(1, Bytes({0x01, 0, 2}));
  put(1, constant);
  put(1, Bytes({0x01, 0, 2}));
  // Steps of steps in two bits times 3 from -6 on, the second one patched: 0 and 100.
  put(1, Bytes({0x2e, 20, 6, 11, 3, 0x02, 1, 0x00, 2, 0x00, 0xc8, 0x01}));
  put(1, Bytes({0x08, 14, 1, 0x00, 4, 0x00, 18}));  // 7, of which the third one is 9
  put(10, Bytes({2, 1}) + constant + Bytes({0x00, 0}));
  // Four entries: one three times, of which one is nobody's.
  put(8, Bytes({4, 0x20, 0, 0xa2, 0x00}) + "ononon" + Bytes({0x20, 0, 0x24}));
  segment_format::AppendChecksum(&page);
  return page;
}

constexpr GoldenRecipe kRecipes[] = {
    {"integers-60", kIntegersCql, Integers60},
    {"integers-360", kIntegersCql, Integers360},
    {"ranges", kRangesCql, Ranges},
    {"decimals-60", kDecimalsCql, Decimals60},
    {"decimals-360", kDecimalsCql, Decimals360},
    {"zstd", kZstdCql, Zstd, 4096, true},
    {"texts-2", kTextsCql, Texts},
    {"types-1", kTypesCql, Types1},
    {"types-60-2", kTypesCql, Types60},
    {"missing-2", kMissingCql, Missing},
    {"by-hand", kByHandCql, ByHand, 4096, false, ByHandPage},
    {"trained", kTrainedCql, Trained, 20, true, nullptr, true},
};

}  // namespace

std::string GoldenLine(Steps* steps) {
  constexpr std::array<const char*, 4> kLines = {
      "modbus: read of register %, unit 7 does not answer", "uplink: connection lost, attempt %",
      "watchdog: no heartbeat of task % for 5 s", "storage: wrote % blocks"};
  std::string line = kLines[static_cast<size_t>(steps->Below(4))];
  return line.replace(line.find('%'), 1, std::to_string(steps->Below(65'536)));
}

std::span<const GoldenRecipe> ValueRecipes() { return kRecipes; }

}  // namespace cistern::testing
