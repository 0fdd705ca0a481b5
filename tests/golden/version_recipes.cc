// Segments for row versions: write times, boots, expiry, deletes, units of time, statistics, pages.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "lib/base/coding.h"
#include "tests/golden/recipe.h"

namespace cistern::testing {
namespace {

// --- the worked example of FORMAT.md

constexpr char kReadingsCql[] =
    "CREATE TABLE g.readings (sensor text, day date, ts timestamp, temp double, state text, "
    "PRIMARY KEY ((sensor, day), ts))";

constexpr std::array<double, 4> kTemperatures = {21.5, 21.6, 21.4, 21.5};

void Reading(GoldenRows* rows, int64_t i, bool has_state) {
  rows->Begin((kStartMs + 1000 * i) * 1000 + 250);
  rows->Number(kStartMs + 1000 * i).Double(kTemperatures[static_cast<size_t>(i % 4)]);
  has_state ? rows->Text("OK") : rows->Absent();
}

void WorkedExample(GoldenRows* rows) {
  for (int64_t i = 0; i < 4; ++i) Reading(rows, i, i != 2);
  rows->Delete({kStartMs, kStartMs + 2000, 1'721'900'060'000'000, 0});
}

void WorkedStatistics(GoldenRows* rows) {
  for (int64_t i = 0; i < 128; ++i) Reading(rows, i, i != 0);
}

// --- a bucket of an hour, a row a second

constexpr char kHourCql[] =
    "CREATE TABLE g.hour (sensor text, day date, ts bigint, temp double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: time ts = s'";

void Hour(GoldenRows* rows) {
  Steps steps;
  int64_t tenths = 215;
  for (int64_t i = 0; i < 3600; ++i) {
    if (steps.Below(30) == 0) tenths += steps.Below(3) - 1;
    rows->Begin(i * 1'000'000 + 1500);
    rows->Number(i).Double(static_cast<double>(tenths) / 10);
  }
}

// --- the units of time, before 1970 and after; write times that follow from them, and not

constexpr char kSecondsCql[] =
    "CREATE TABLE g.seconds (id text, day date, ts bigint, v int, PRIMARY KEY ((id, day), ts)) "
    "WITH comment = 'cistern: time ts = s'";
constexpr char kMicrosCql[] =
    "CREATE TABLE g.micros (id text, day date, ts bigint, v int, PRIMARY KEY ((id, day), ts)) "
    "WITH comment = 'cistern: time ts = us'";
constexpr char kNanosCql[] =
    "CREATE TABLE g.nanos (id text, day date, ts bigint, v int, PRIMARY KEY ((id, day), ts)) "
    "WITH comment = 'cistern: time ts = ns'";
constexpr char kUuidsCql[] =
    "CREATE TABLE g.uuids (id text, day date, ts timeuuid, v int, PRIMARY KEY ((id, day), ts))";

void Around1970(GoldenRows* rows, int64_t ticks_per_second, int64_t delay_us) {
  Steps steps;
  int64_t ticks = -30 * ticks_per_second;
  for (int64_t i = 0; i < 60; ++i) {
    // Rounded down, as the format wants it.
    const int64_t per_us = ticks_per_second / 1'000'000;
    const int64_t us = per_us == 0 ? ticks * (1'000'000 / ticks_per_second)
                                   : (ticks - ((ticks % per_us) + per_us) % per_us) / per_us;
    rows->Begin(us + delay_us);
    rows->Number(ticks).Number(i);
    ticks += ticks_per_second == 1 ? 1 + steps.Below(3) : 1 + steps.Below(3'000'000'000) / 2;
  }
}
void Seconds(GoldenRows* rows) { Around1970(rows, 1, 250); }
void Micros(GoldenRows* rows) { Around1970(rows, 1'000'000, -77); }
void Nanos(GoldenRows* rows) { Around1970(rows, 1'000'000'000, 0); }

void Uuids(GoldenRows* rows) {
  constexpr uint64_t kUuid1970 = 0x01B2'1DD2'1381'4000;
  for (int64_t i = 0; i < 60; ++i) {
    const auto ticks = static_cast<uint64_t>((i - 30) * 10'000'003) + kUuid1970;
    std::string uuid;
    PutBig(&uuid, ticks << 32 | (ticks >> 16 & 0xffff'0000) | (ticks >> 48 & 0x0fff) | 0x1000);
    PutBig(&uuid, uint64_t{0x8180'0000'0000'0000} + static_cast<uint64_t>(i));
    rows->Begin(5000 + i * i);
    rows->Text(uuid).Number(i);
  }
}

// --- several versions of a key, deletes, expiry, boots

// Keys have one to three versions: the row, an update of one cell a while later, a delete of it.
void Versions(GoldenRows* rows) {
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t ts = kStartMs + 1000 * i;
    const int64_t write_us = ts * 1000 + 250;
    const auto ttl = static_cast<uint32_t>(i % 5 == 2 ? write_us / 1'000'000 + 3600 : 0);
    if (i % 3 == 0) {
      rows->Begin(write_us + 70'000'000'000, {kVersionDeleteRow, 0, 0});
      rows->Number(ts).Absent().Absent();
    }
    if (i % 2 == 0) {
      rows->Begin(write_us + 5'000'000, {0, ttl, 0});
      rows->Number(ts);
      i % 4 == 0 ? rows->Null() : rows->Double(-1.5);
      rows->Absent();
    }
    rows->Begin(write_us, {kVersionLiveness, ttl, 0});
    rows->Number(ts).Double(static_cast<double>(200 + i) / 10).Text("OK");
  }
  rows->Delete({kMin, kStartMs - 1, 1'721'900'070'000'000, 0});
  rows->Delete({kStartMs + 9000, kMax, 1'721'900'000'000'000, 0});
  rows->Delete({kStartMs + 3000, kStartMs + 5000, -5, 3});
}

// A TTL of an hour for all: expiries follow from the write times.
void TtlOfAll(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 60; ++i) {
    const int64_t write_us = (kStartMs + 1000 * i) * 1000 + steps.Below(1'000'000);
    const auto expiry_s = static_cast<uint32_t>(write_us / 1'000'000 + 3600);
    rows->Begin(write_us, {kVersionLiveness, expiry_s, 0});
    rows->Number(kStartMs + 1000 * i).Double(static_cast<double>(i)).Text("OK");
  }
}

// One second at which all expire, whenever they were written: in no order of their event times.
void ExpiryOfAll(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 60; ++i) {
    rows->Begin(1'721'900'000'000'000 + steps.Below(1'000'000'000'000),
                {kVersionLiveness, 4'294'967'294, 0});
    rows->Number(kStartMs + 1000 * i).Double(static_cast<double>(i)).Text("OK");
  }
}

// The clock was not trusted for some: their write times count from their boots, expiries are TTLs.
void Boots(GoldenRows* rows) {
  for (int64_t i = 0; i < 60; ++i) {
    const bool trusted = i >= 40;
    const int64_t write_us = trusted ? (kStartMs + 1000 * i) * 1000 : 1'000'000 * (i % 20) + 17;
    const uint32_t boot = trusted ? 0 : i < 20 ? 7 : 4'294'967'295;
    rows->Begin(write_us, {kVersionLiveness, i % 2 == 0 ? 600u : 0u, boot});
    rows->Number(kStartMs + 1000 * i).Double(20).Text("OK");
  }
  rows->Delete({kMin, kMax, 99, 4'294'967'295});
}

void DeletesAlone(GoldenRows* rows) {
  rows->schema_version = std::numeric_limits<uint32_t>::max();
  rows->journal_first = 0;
  rows->journal_last = std::numeric_limits<uint64_t>::max();
  rows->Delete({});
  rows->Delete({10, 20, 1000, 0});
  rows->Delete({-5, kMax, kMin, 4'000'000'000});
  rows->Delete({kMin, -7, kMax, 1});
  rows->Delete({kMax, kMax, 0, 0});
}

// --- statistics

constexpr char kStatisticsCql[] =
    "CREATE TABLE g.statistics (id text, day date, ts timestamp, seq int, whole bigint, "
    "tiny tinyint, short smallint, flag boolean, moment timestamp, tenths double, noise double, "
    "odd double, infinite double, wide double, huge bigint, single float, noise_single float, "
    "odd_single float, same int, same_real double, none double, name text, "
    "PRIMARY KEY ((id, day), ts, seq))";

void StatisticsRow(GoldenRows* rows, int64_t i, Steps* steps) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  rows->Number(kStartMs + 1000 * (i / 2)).Number(i % 2);
  i % 9 == 0 ? rows->Absent() : rows->Number(steps->Below(5000) - 2500);
  rows->Number(steps->Below(200) - 100).Number(-i).Number(i % 2).Number(kStartMs - i);
  rows->Double(static_cast<double>(steps->Below(900)) / 10);
  rows->Double(static_cast<double>(steps->Below(100'000)) / 997);
  rows->Double(i == 5 ? -0.0 : i == 70 ? std::nan("") : 1.0 / static_cast<double>(i + 3));
  rows->Double(i % 50 == 1 ? kInfinity : i % 50 == 2 ? -kInfinity : 0.25);
  rows->Double(i == 3 ? 1e300 : i == 4 ? 1e-300 : 1);  // the sum does not fit
  rows->Number(kMax - i);
  rows->Float(static_cast<float>(steps->Below(900)) / 10);
  rows->Float(static_cast<float>(steps->Below(100'000)) / 997);
  rows->Float(i == 9 ? -std::numeric_limits<float>::infinity() : 2.5f);
  rows->Number(-12).Double(0.1).Null();
  i % 4 == 0 ? rows->Null() : rows->Text("name");
}

void Statistics(GoldenRows* rows) {
  Steps steps;
  for (int64_t i = 0; i < 128; ++i) {
    rows->Begin((kStartMs + 1000 * i) * 1000);
    StatisticsRow(rows, i, &steps);
  }
}

// Four pages of 128 rows: of the second some expire and some live by their values alone.
void Pages(GoldenRows* rows) {
  for (int64_t i = 0; i < 512; ++i) {
    const int64_t ts = kStartMs + 1000 * i;
    const auto second = static_cast<uint32_t>(ts / 1000);
    const bool is_second = i / 128 == 1;
    rows->Begin(ts * 1000 + 250, {is_second && i % 3 == 0 ? uint8_t{0} : kVersionLiveness,
                                  is_second && i % 5 == 0 ? second + 60 : 0, 0});
    rows->Number(ts).Double(static_cast<double>(200 + i % 17) / 10).Text("OK");
  }
}

// Three pages, of which the middle one has no statistics, as a key has two versions there.
void PagesWithoutStatistics(GoldenRows* rows) {
  for (int64_t i = 0; i < 384; ++i) {
    const int64_t ts = kStartMs + 1000 * (i - (i > 200 ? 1 : 0));
    rows->Begin(ts * 1000 + (i == 201 ? 100 : 250));
    rows->Number(ts).Double(static_cast<double>(200 + i % 17) / 10).Text("OK");
  }
}

constexpr GoldenRecipe kRecipes[] = {
    {"worked-example", kReadingsCql, WorkedExample},
    {"worked-statistics-2", kReadingsCql, WorkedStatistics},
    {"hour-2", kHourCql, Hour},
    {"seconds", kSecondsCql, Seconds},
    {"micros", kMicrosCql, Micros},
    {"nanos", kNanosCql, Nanos},
    {"timeuuids", kUuidsCql, Uuids},
    {"versions", kReadingsCql, Versions},
    {"ttl", kReadingsCql, TtlOfAll},
    {"expiry", kReadingsCql, ExpiryOfAll},
    {"boots", kReadingsCql, Boots},
    {"deletes", kReadingsCql, DeletesAlone},
    {"statistics-2", kStatisticsCql, Statistics},
    {kManifestOf, kReadingsCql, Pages, 128},
    {"pages-apart-2", kReadingsCql, PagesWithoutStatistics, 128},
};

}  // namespace

std::span<const GoldenRecipe> VersionRecipes() { return kRecipes; }

}  // namespace cistern::testing
