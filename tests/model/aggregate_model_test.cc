// Aggregates and filtered scans beside what a brute force makes of the unfiltered scan, under
// random overwrites, partial updates, TTLs that end meanwhile, deletes, rotations, seals,
// amendments and altered declarations. CISTERN_SEED replays a run,
// CISTERN_AGGREGATE_MODEL_RUNS says how many there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/cql/value_text.h"
#include "lib/row/row_order.h"
#include "tests/engine/engine_fixture.h"
#include "tests/model/aggregate_brute_force.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kRangeMs = 12 * kHourMs;
constexpr size_t kOperations = 60;

struct Variant {
  const char* columns;  // behind ts
  const char* key;
  const char* comment;
  const char* options;
};
constexpr Variant kVariants[] = {
    {"", "((sensor, part), ts)", "bucket part = 1 hour", ""},
    {"", "((sensor, part), ts)", "bucket part = 6 hours", " AND default_time_to_live = 40000"},
    {"seq int,", "((sensor, part), ts, seq)", "bucket part = 2 hours", ""},
    {"shard smallint,", "((sensor, part, shard), ts)",
     "bucket part = 2 hours; split shard = hash 3", ""},
};

std::string TableOf(const Variant& variant, bool has_extra) {
  return std::string("CREATE TABLE plant.pumps (sensor text, part timestamp, ts timestamp, ") +
         variant.columns +
         " temp double, level float, total bigint, small tinyint, state text, ok boolean," +
         (has_extra ? " extra double," : "") + " PRIMARY KEY " + variant.key +
         ") WITH comment = 'cistern: " + variant.comment + "'" + variant.options;
}

class AggregateModel : public EngineFixture {
 protected:
  void SetUp() override {}

  void Begin(uint64_t seed) {
    rng_ = Rng(seed);
    variant_ = &kVariants[rng_.Below(std::size(kVariants))];
    engine_.reset();
    directory_ = std::string(temp_.path()) + "/run-" + std::to_string(seed);
    clock_->SetWallMicros(kStartUs + 2 * kRangeMs * 1000);
    options_.memory_budget_bytes = 32 << 20;
    has_extra_ = false;
    Open();
    ASSERT_NE(engine_, nullptr);
    const Status made = engine_->CreateTable(TableOf(*variant_, false));
    ASSERT_TRUE(made.ok()) << made.ToString();
    schema_ = engine_->ListTables().front();
  }

  std::string RandomSensor() { return std::string(1, static_cast<char>('a' + rng_.Below(3))); }
  int64_t RandomTime() { return kStartMs + rng_.Between(0, kRangeMs / 1000 - 1) * 1000; }

  double RandomDouble() {
    if (rng_.OneIn(400)) return std::nan("");
    if (rng_.OneIn(400)) return rng_.OneIn(2) ? HUGE_VAL : -HUGE_VAL;
    if (rng_.OneIn(200)) return -0.0;
    if (!wild_) return static_cast<double>(rng_.Between(-500, 5000)) / 100;
    const auto unit = static_cast<double>(rng_.Between(-99, 99));
    return std::ldexp(unit, static_cast<int>(rng_.Between(-300, 300)));
  }

  void SetValue(RowBatch* batch, size_t c) {
    const ColumnType& type = schema_->columns[c].type;
    Status s;
    switch (type.kind) {
      case CqlType::kDouble: s = batch->SetDouble(c, RandomDouble()); break;
      case CqlType::kFloat:
        s = batch->SetFloat(c, static_cast<float>(rng_.Between(-900, 900)) / 10);
        break;
      case CqlType::kText: s = batch->SetBytes(c, rng_.OneIn(4) ? "warn" : "ok"); break;
      case CqlType::kBoolean: s = batch->SetInt(c, rng_.Between(0, 1)); break;
      case CqlType::kBigint: s = batch->SetInt(c, rng_.Between(-1'000'000, 9'000'000'000)); break;
      default: s = batch->SetInt(c, rng_.Between(-100, 100)); break;
    }
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  void AddKey(RowBatch* batch, const std::string& sensor, int64_t time) {
    ASSERT_TRUE(batch->SetBytes(0, sensor).ok());
    ASSERT_TRUE(batch->SetInt(schema_->time_column(), time).ok());
    if (schema_->clustering_columns.size() > 1) {
      ASSERT_TRUE(batch->SetInt(schema_->clustering_columns[1], rng_.Between(0, 1)).ok());
    }
  }

  // Rows from `time` on, whole or in part.
  void AppendRows(int64_t time, size_t count, bool whole) {
    RowBatch batch(schema_);
    const std::string sensor = RandomSensor();
    const int64_t spacing = 1000 * rng_.Between(1, 12);
    const uint32_t ttl = rng_.OneIn(4) ? static_cast<uint32_t>(rng_.Between(100, 9000)) : 0;
    wild_ = rng_.OneIn(6);
    for (size_t i = 0; i < count && time < kStartMs + kRangeMs; ++i, time += spacing) {
      batch.BeginRow(whole || rng_.OneIn(2) ? RowKind::kInsert : RowKind::kUpdate);
      AddKey(&batch, sensor, time);
      for (const size_t c : schema_->regular_columns) {
        const bool is_last = c == schema_->regular_columns.back();
        if (!whole && !is_last && rng_.OneIn(2)) continue;
        if (rng_.OneIn(whole ? 60 : 4) && !is_last) {
          ASSERT_TRUE(batch.SetNull(c).ok());
        } else {
          SetValue(&batch, c);
        }
      }
      if (ttl > 0) {
        ASSERT_TRUE(batch.SetTtl(ttl).ok());
      }
      const Status ended = batch.EndRow();
      ASSERT_TRUE(ended.ok()) << ended.ToString();
    }
    if (batch.row_count() == 0) return;
    const auto appended = engine_->Append(batch, {Durability::kLog});
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }

  void DeleteSomething() {
    const EntityKey entity = Entity(RandomSensor());
    Status s;
    if (rng_.OneIn(3)) {
      s = engine_->DeleteBucket(schema_->name, entity, RandomTime()).status();
    } else if (rng_.OneIn(2)) {
      const int64_t from = RandomTime();
      s = engine_->DeleteRange(schema_->name, entity,
                               {from, from + rng_.Between(1, 2 * kHourMs)}).status();
    } else {
      RowBatch batch(schema_);
      batch.BeginRow(RowKind::kDeleteRow);
      AddKey(&batch, RandomSensor(), RandomTime());
      ASSERT_TRUE(batch.EndRow().ok());
      s = engine_->Append(batch).status();
    }
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  void Alter() {
    has_extra_ = !has_extra_;
    const Status s = engine_->AlterTable(TableOf(*variant_, has_extra_));
    ASSERT_TRUE(s.ok()) << s.ToString();
    schema_ = engine_->ListTables().front();
  }

  void Operate() {
    switch (rng_.Below(16)) {
      case 0: case 1: case 2: case 3: case 4:
        return AppendRows(RandomTime(), 100 + rng_.Below(900), true);
      case 5: return AppendRows(RandomTime(), 3000, true);
      case 6: case 7: return AppendRows(RandomTime(), 1 + rng_.Below(20), false);
      case 8: return AppendRows(RandomTime(), 1, true);
      case 9: return DeleteSomething();
      case 10: return Rotate();
      case 11: case 12: return SealAll();
      case 13: return clock_->AdvanceSeconds(rng_.Between(1, 5000));
      case 14: return rng_.OneIn(3) ? Alter() : Rotate();
      default: return rng_.OneIn(3) ? Reopen() : SealAll();
    }
  }

  // --- reading

  std::vector<Cells> AllRows(const EntityKey& entity, int64_t from, int64_t to,
                           std::vector<Condition> where = {}) {
    ScanRequest request;
    request.table = schema_->name;
    request.entity = entity;
    request.from = from;
    request.to = to;
    request.where = std::move(where);
    request.batch_rows_max = 1 + rng_.Below(2000);
    const auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    std::vector<Cells> rows;
    ResultBatch batch;
    while (cursor.ok() && (*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        Cells row;
        for (const ColumnData& c : batch.columns) {
          if (c.state(i) != CellState::kValue) row.emplace_back();
          else if (c.lane == Lane::kFixed) row.emplace_back(Cell{c.fixed[i], {}});
          else row.emplace_back(Cell{0, std::string(c.bytes(i))});
        }
        rows.push_back(std::move(row));
      }
    }
    EXPECT_TRUE(cursor.ok() && (*cursor)->status().ok());
    return rows;
  }

  AggregateRequest RandomRequest() {
    AggregateRequest request;
    request.table = schema_->name;
    if (!rng_.OneIn(3)) request.entities.push_back(Entity(RandomSensor()));
    const bool is_aligned = rng_.OneIn(2);
    request.from = is_aligned ? kStartMs : RandomTime() + rng_.Between(-5, 5);
    request.to = is_aligned ? kStartMs + kRangeMs : request.from + rng_.Between(1, kRangeMs);
    const int64_t steps[] = {kHourMs, 2 * kHourMs, 6 * kHourMs, 24 * kHourMs, kHourMs / 4, 7'001,
                             rng_.Between(1000, kRangeMs)};
    request.step = steps[rng_.Below(std::size(steps))];
    if (rng_.OneIn(4)) TakeUnequalSteps(&request);
    request.batch_steps_max = 1 + rng_.Below(300);
    std::vector<AggregateColumn> all;
    for (size_t c = 0; c < schema_->columns.size(); ++c) {
      const ColumnSpec& spec = schema_->columns[c];
      if (spec.role != ColumnRole::kClustering && spec.role != ColumnRole::kRegular) continue;
      for (int f = 0; f <= static_cast<int>(AggregateFunction::kLast); ++f) {
        const auto function = static_cast<AggregateFunction>(f);
        const bool is_sum =
            function == AggregateFunction::kSum || function == AggregateFunction::kAvg;
        const bool has_sum =
            spec.type.kind >= CqlType::kTinyint && spec.type.kind <= CqlType::kDouble;
        if (!is_sum || has_sum) all.push_back({spec.name, function});
      }
    }
    const bool is_narrow = rng_.OneIn(2);
    for (size_t n = is_narrow ? 1 : 1 + rng_.Below(10); n > 0; --n) {
      request.of.push_back(all[rng_.Below(all.size())]);
    }
    return request;
  }

  // Between random times.
  void TakeUnequalSteps(AggregateRequest* request) {
    std::vector<int64_t> bounds = {INT64_MIN, INT64_MAX};
    for (size_t n = 1 + rng_.Below(20); n > 0; --n) bounds.push_back(RandomTime());
    std::sort(bounds.begin(), bounds.end());
    request->step = 0;
    request->step_of = [bounds](int64_t time) {
      const auto after = std::upper_bound(bounds.begin(), bounds.end() - 1, time);
      return AggregateStep{*(after - 1), *after - (*after == INT64_MAX ? 0 : 1)};
    };
  }

  // Conditions on what rows have, and groups by what has few values.
  void ChooseAndGroup(AggregateRequest* request, const std::vector<Cells>& rows) {
    if (rng_.OneIn(3)) request->where.push_back(RandomCondition(rows));
    if (!rng_.OneIn(3)) return;
    std::vector<std::string> names = {"state", "ok", "small"};
    if (schema_->FindColumn("seq")) names.push_back("seq");
    for (size_t n = 1 + rng_.Below(2); n > 0; --n) {
      const size_t at = rng_.Below(names.size());
      request->group_by.push_back(names[at]);
      names.erase(names.begin() + static_cast<ptrdiff_t>(at));
    }
  }

  static int64_t StepOf(int64_t time, const AggregateRequest& request) {
    if (request.step_of) return request.step_of(time).first;
    const int64_t step = request.step;
    return (time / step - (time % step < 0 ? 1 : 0)) * step;
  }

  struct Line {
    int64_t start = 0;
    Cells group;
    std::vector<Cells> rows;
  };
  using Lines = std::vector<Line>;

  // What the rows, in order of time, make: by step, then by group, those without a value first.
  Lines LinesOf(const AggregateRequest& request, const std::vector<Cells>& rows) {
    std::map<std::string, Line> found;
    for (const Cells& row : rows) {
      if (!std::all_of(request.where.begin(), request.where.end(),
                       [&](const Condition& c) { return Meets(c, row); })) continue;
      Line line{StepOf(row[schema_->time_column()]->fixed, request), {}, {}};
      std::string key = std::to_string(line.start);
      for (const std::string& name : request.group_by) {
        const size_t c = *schema_->FindColumn(name);
        line.group.push_back(row[c]);
        key += row[c] ? "|" + TextOf(schema_->columns[c].type, *row[c]) : "|";
      }
      found.try_emplace(key, line).first->second.rows.push_back(row);
    }
    Lines lines;
    for (auto& [key, line] : found) lines.push_back(std::move(line));
    std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
      if (a.start != b.start) return a.start < b.start;
      for (size_t k = 0; k < a.group.size(); ++k) {
        if (!a.group[k] || !b.group[k]) {
          if (a.group[k].has_value() != b.group[k].has_value()) return b.group[k].has_value();
          continue;
        }
        const ColumnType& type = schema_->columns[*schema_->FindColumn(request.group_by[k])].type;
        const auto order = Order(type, *a.group[k], *b.group[k]);
        if (order != 0) return order < 0;
      }
      return false;
    });
    std::reverse(lines.begin(), lines.end());  // they are taken from the end
    return lines;
  }

  void CompareGroup(const AggregateRequest& request, const AggregateBatch& batch, size_t i,
                    const Cells& want) {
    ASSERT_EQ(batch.groups.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      const ColumnType& type = schema_->columns[*schema_->FindColumn(request.group_by[k])].type;
      ASSERT_TRUE(SameCell(type, AggregateFunction::kFirst, want[k], batch.groups[k], i))
          << "the group's " << request.group_by[k];
    }
  }

  static std::string TextOf(const ColumnType& type, const Cell& cell) {
    std::string text;
    FormatValueText(type, cell.fixed, cell.bytes, &text);
    return text;
  }

  void CompareBatch(const AggregateRequest& request, const std::vector<ColumnType>& types,
                    const AggregateBatch& batch, Lines* want) {
    for (size_t i = 0; i < batch.starts.size(); ++i) {
      ASSERT_FALSE(want->empty()) << "a line too many: " << batch.starts[i];
      const auto& [start, group, rows] = want->back();
      ASSERT_EQ(batch.starts[i], start);
      ASSERT_NO_FATAL_FAILURE(CompareGroup(request, batch, i, group));
      for (size_t k = 0; k < request.of.size(); ++k) {
        const size_t c = *schema_->FindColumn(request.of[k].column);
        std::vector<Cell> cells;
        for (const Cells& row : rows) {
          if (row[c]) cells.push_back(*row[c]);
        }
        const AggregateFunction function = request.of[k].function;
        const auto expected = BruteForce(schema_->columns[c].type, function, cells);
        ASSERT_TRUE(SameCell(schema_->columns[c].type, function, expected, batch.columns[k], i))
            << "function " << static_cast<int>(function) << " of " << request.of[k].column
            << " in the step at " << start - kStartMs << " of " << cells.size() << " values: "
            << (expected ? TextOf(types[k], *expected) : "null") << " was expected, not "
            << TextOf(types[k], {batch.columns[k].lane == Lane::kFixed
                                     ? batch.columns[k].fixed[i] : 0, "a text"});
      }
      want->pop_back();
      ++steps_compared_;
    }
  }

  void CompareAggregate() {
    AggregateRequest request = RandomRequest();
    SCOPED_TRACE("from " + std::to_string(request.from - kStartMs) + " to " +
                 std::to_string(request.to - kStartMs) + " step " + std::to_string(request.step));
    std::vector<EntityKey> entities = request.entities;
    if (entities.empty()) {
      for (const char* name : {"a", "b", "c"}) entities.push_back(Entity(name));
    }
    std::map<std::string, std::vector<Cells>> rows;
    for (const EntityKey& entity : entities) {
      rows[entity.bytes] = AllRows(entity, request.from, request.to);
      const bool is_last = entity.bytes == entities.back().bytes;
      if (is_last && !rows[entity.bytes].empty()) ChooseAndGroup(&request, rows[entity.bytes]);
    }
    std::map<std::string, Lines> want;
    for (const auto& [entity, all] : rows) want[entity] = LinesOf(request, all);
    const auto cursor = engine_->Aggregate(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    AggregateBatch batch;
    while ((*cursor)->Next(&batch)) {
      ASSERT_NO_FATAL_FAILURE(CompareBatch(request, (*cursor)->types(), batch,
                                           &want[batch.entity.bytes]));
    }
    ASSERT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    for (const auto& [entity, lines] : want) ASSERT_TRUE(lines.empty()) << "a line is missing";
    grouped_ += request.group_by.empty() ? 0 : 1;
    chosen_ += request.where.empty() ? 0 : 1;
    const AggregateWork work = (*cursor)->work();
    work_.rows_by_manifest += work.rows_by_manifest;
    work_.rows_by_page += work.rows_by_page;
    work_.rows_decoded += work.rows_decoded;
    work_.rows_merged += work.rows_merged;
  }

  // A condition with a value that some row has, mostly.
  Condition RandomCondition(const std::vector<Cells>& rows) {
    std::vector<size_t> columns = schema_->regular_columns;
    columns.insert(columns.end(), schema_->clustering_columns.begin(),
                   schema_->clustering_columns.end());
    const size_t c = columns[rng_.Below(columns.size())];
    const ColumnType& type = schema_->columns[c].type;
    Condition condition{schema_->columns[c].name, static_cast<Comparison>(rng_.Below(6)), {}};
    const Cells& row = rows[rng_.Below(rows.size())];
    const Cell cell = row[c] ? *row[c] : Cell{0, "ok"};
    FormatValueText(type, cell.fixed, cell.bytes, &condition.value);
    return condition;
  }

  bool Meets(const Condition& condition, const Cells& row) {
    const size_t c = *schema_->FindColumn(condition.column);
    if (!row[c]) return false;
    CellValue value;
    EXPECT_TRUE(ParseValueText(schema_->columns[c].type, condition.value, &value).ok());
    const auto order = Order(schema_->columns[c].type, *row[c], {value.fixed, value.bytes});
    switch (condition.comparison) {
      case Comparison::kEqual: return order == 0;
      case Comparison::kNotEqual: return order != 0;
      case Comparison::kLess: return order < 0;
      case Comparison::kLessOrEqual: return order <= 0;
      case Comparison::kGreater: return order > 0;
      case Comparison::kGreaterOrEqual: return order >= 0;
    }
    return false;
  }

  void CompareFilter() {
    const EntityKey entity = Entity(RandomSensor());
    int64_t from = rng_.OneIn(2) ? kStartMs : RandomTime();
    int64_t to = kStartMs + kRangeMs;
    if (rng_.OneIn(3)) std::swap(from, to);
    std::vector<Cells> rows = AllRows(entity, from, to);
    if (rows.empty()) return;
    std::vector<Condition> where;
    for (size_t n = 1 + rng_.Below(2); n > 0; --n) where.push_back(RandomCondition(rows));
    std::string text;
    for (const Condition& c : where) {
      text += c.column + " ? " + c.value + "; ";
    }
    SCOPED_TRACE(text);
    std::erase_if(rows, [&](const Cells& row) {
      return !std::all_of(where.begin(), where.end(),
                          [&](const Condition& c) { return Meets(c, row); });
    });
    const std::vector<Cells> got = AllRows(entity, from, to, where);
    ASSERT_EQ(got.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t c = 0; c < rows[i].size(); ++c) {
        ASSERT_EQ(got[i][c].has_value(), rows[i][c].has_value()) << i << " " << c;
        if (!got[i][c]) continue;
        ASSERT_EQ(got[i][c]->fixed, rows[i][c]->fixed) << i << " " << c;
        ASSERT_EQ(got[i][c]->bytes, rows[i][c]->bytes) << i << " " << c;
      }
    }
    rows_filtered_ += rows.size();
  }

  Rng rng_{1};
  const Variant* variant_ = nullptr;
  bool has_extra_ = false;
  bool wild_ = false;
  AggregateWork work_;
  uint64_t steps_compared_ = 0;
  uint64_t rows_filtered_ = 0;
  uint64_t grouped_ = 0;  // aggregates with groups, that were compared
  uint64_t chosen_ = 0;   // with conditions
};

TEST_F(AggregateModel, AnswersAsTheBruteForce) {
  const uint64_t first = SeedFromEnv();
  const uint64_t runs = EnvNumber("CISTERN_AGGREGATE_MODEL_RUNS", 12);
  std::printf("CISTERN_SEED=%llu, %llu runs\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(runs));
  std::fflush(stdout);
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    ASSERT_NO_FATAL_FAILURE(Begin(seed));
    for (size_t op = 0; op < kOperations; ++op) {
      SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed) + " operation " + std::to_string(op));
      ASSERT_NO_FATAL_FAILURE(Operate());
      ASSERT_FALSE(HasFailure());
      if (op % 3 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(CompareAggregate());
      ASSERT_NO_FATAL_FAILURE(CompareAggregate());
      ASSERT_NO_FATAL_FAILURE(CompareFilter());
      ASSERT_FALSE(HasFailure());
    }
    const auto verified = engine_->Verify();
    ASSERT_TRUE(verified.ok() && verified->problems.empty()) << verified->problems.front();
  }
  const std::string told =
      std::to_string(steps_compared_) + " steps compared; rows by manifests " +
      std::to_string(work_.rows_by_manifest) + ", by pages " + std::to_string(work_.rows_by_page) +
      ", decoded " + std::to_string(work_.rows_decoded) + ", merged " +
      std::to_string(work_.rows_merged) + "; " + std::to_string(rows_filtered_) + " filtered rows";
  std::printf("%s\n", told.c_str());
  // Every way was gone.
  EXPECT_GT(work_.rows_by_manifest, 0u);
  EXPECT_GT(work_.rows_by_page, 0u);
  EXPECT_GT(work_.rows_decoded, 0u);
  EXPECT_GT(work_.rows_merged, 0u);
  EXPECT_GT(grouped_, 0u);
  EXPECT_GT(chosen_, 0u);
}

}  // namespace
}  // namespace cistern::testing
