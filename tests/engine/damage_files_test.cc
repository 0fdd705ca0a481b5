// Every file of a store damaged, alone and in pairs: an opening or salvage gives every row that is
// not in the damaged bytes, names what is missing, and invents nothing.
#include <cstdio>
#include <fstream>

#include "tests/engine/damaged_store_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;
using RowSet = std::set<std::pair<std::string, std::pair<int64_t, double>>>;

enum class Kind : uint8_t { kDeleted, kEmptied, kCut, kFlipped, kSwapped };
constexpr uint64_t kKindCount = 5;
constexpr const char* kKindNames[] = {"deleted", "emptied", "cut", "a bit flipped", "swapped"};

struct Mutation {
  std::string name;  // of the file
  Kind kind = Kind::kDeleted;
  uint64_t at = 0;   // the size that is left, or the byte
  std::string other = {};  // that it is swapped with
};

class DamageFilesTest : public DamagedStoreFixture {
 protected:
  // The files that damage is done to; the others have nothing of the store.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(store_)) {
      const std::string name = entry.path().filename().string();
      const bool has_nothing = name == "LOG" || name == "LOCK";
      if (entry.is_regular_file() && entry.file_size() > 0 && !has_nothing) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void Prepare() {
    MakeStore();
    store_ = directory();
    fs::remove(fs::path(store_) / "BALLAST");  // made again by an opening
    for (const auto& [sensor, rows] : expected_) {
      for (const auto& row : rows) all_.insert({sensor, row});
    }
    names_ = Names();
  }
  uint64_t SizeOf(const std::string& name) const { return fs::file_size(fs::path(store_) / name); }

  // Each file alone: deleted, emptied, cut, swapped, a bit of every nth byte; then pairs at random.
  // Of these there are as many as of the flipped bits, `count` in all.
  std::vector<std::vector<Mutation>> Plan(uint64_t count, uint64_t seed) {
    std::vector<std::vector<Mutation>> plan;
    uint64_t bytes = 0;
    for (const std::string& name : names_) {
      const uint64_t size = SizeOf(name);
      bytes += size;
      plan.push_back({{name, Kind::kDeleted}});
      plan.push_back({{name, Kind::kEmptied}});
      for (const uint64_t left : {size - 1, size / 2, uint64_t{1}}) {
        plan.push_back({{name, Kind::kCut, left}});
      }
      for (const std::string& other : names_) {
        if (name < other) plan.push_back({{name, Kind::kSwapped, 0, other}});
      }
    }
    EXPECT_LT(plan.size(), count / 2);
    const uint64_t flips = (count - std::min<uint64_t>(count, plan.size())) / 2;
    const uint64_t stride = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, flips));
    uint64_t at = seed % stride;
    for (const std::string& name : names_) {
      const uint64_t size = SizeOf(name);
      for (; at < size; at += stride) plan.push_back({{name, Kind::kFlipped, at}});
      at -= size;
    }
    for (uint64_t n = plan.size(); n < count; ++n) {
      Rng rng(Mix(seed + n));
      const uint64_t first = rng.Below(names_.size());
      const uint64_t second = (first + 1 + rng.Below(names_.size() - 1)) % names_.size();
      plan.push_back({AnyOf(&rng, names_[first]), AnyOf(&rng, names_[second])});
    }
    return plan;
  }
  Mutation AnyOf(Rng* rng, const std::string& name) const {
    const auto kind = static_cast<Kind>(rng->Below(kKindCount - 1));  // a swap is a pair by itself
    return {name, kind, rng->Below(SizeOf(name))};
  }
  // A copy of the store is what is damaged next.
  void Copy() {
    engine_.reset();
    directory_ = (fs::path(temp_.path()) / "copy").string();
    fs::remove_all(directory_);
    fs::copy(store_, directory_, fs::copy_options::recursive);
  }
  // Returns what was done, for people.
  std::string Damage(const Mutation& m) {
    const fs::path path = PathOf(m.name);
    touched_.insert(m.name);
    std::string where = " at " + std::to_string(m.at) + " of " + std::to_string(SizeOf(m.name));
    switch (m.kind) {
      case Kind::kDeleted: fs::remove(path); break;
      case Kind::kEmptied: Empty(m.name); break;
      case Kind::kCut: fs::resize_file(path, m.at); break;
      case Kind::kFlipped: Flip(path, m.at, static_cast<int>(Mix(m.at) % 8)); break;
      case Kind::kSwapped:
        fs::rename(path, PathOf("swap"));
        fs::rename(PathOf(m.other), path);
        fs::rename(PathOf("swap"), PathOf(m.other));
        where = " with " + m.other;
        touched_.insert(m.other);
        break;
    }
    return m.name + " " + kKindNames[static_cast<size_t>(m.kind)] + where;
  }
  static void Flip(const fs::path& path, uint64_t offset, int bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    char byte = 0;
    file.read(&byte, 1);
    byte = static_cast<char>(byte ^ (1 << bit));
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(&byte, 1);
  }

  // Opens the copy, and salvages it where that does not give every row; what it gives. `told`:
  // something was said to be amiss.
  RowSet Recover(bool by_salvage, bool* told) {
    *told = false;
    if (!by_salvage) {
      auto opened = TryOpen(options_);
      if (opened.ok()) {
        engine_ = *std::move(opened);
        ++opened_;
        RowSet rows = ReadAll(told);
        if (rows == all_) return rows;
        EXPECT_TRUE(*told) << "opening gives other rows without a word";
        engine_.reset();
      }
      opening_ = opened.status().ToString();
    }
    const std::string to = (fs::path(temp_.path()) / "salvaged").string();
    fs::remove_all(to);
    const auto report = Salvage(directory(), to, {.clock = clock_});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) return {};
    ++salvaged_;
    *told = *told || !report->problems.empty();
    for (const std::string& problem : report->problems) told_ += problem + "\n";
    directory_ = to;
    auto opened = TryOpen(options_);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    if (!opened.ok()) return {};
    engine_ = *std::move(opened);
    bool again = false;
    return ReadAll(&again);
  }
  RowSet ReadAll(bool* told) {
    RowSet rows;
    const RecoveryReport recovery = engine_->Recovery();
    confirmed_found_ = engine_->GetMetrics().versions_confirmed;
    *told = *told || !recovery.clean || recovery.recovered_with_loss;
    for (const std::string& note : recovery.notes) told_ += note + "\n";
    if (engine_->ListTables().empty()) return rows;
    schema_ = engine_->ListTables().front();
    for (const char* sensor : kSensors) {
      auto cursor = engine_->Scan(Request(sensor, kStartMs - kDayMs, kStartMs + 9 * kDayMs));
      EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
      if (!cursor.ok()) continue;
      Rows found;
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) AddRows(batch, &found);
      if (!(*cursor)->status().ok()) {
        *told = true;
        told_ += (*cursor)->status().ToString() + "\n";
      }
      for (const auto& row : found) rows.insert({sensor, row});
    }
    return rows;
  }
  struct Cost {
    RowSet lacking;
    bool rises = false;  // versions of before show, as newer ones or deletes were in it
    [[nodiscard]] bool nothing() const { return lacking.empty() && !rises; }
  };
  // What the store gives without the file: all that a damage of it may cost.
  const Cost& CostOf(const std::string& name) {
    const auto known = costs_.find(name);
    if (known != costs_.end()) return known->second;
    const uint64_t confirmed_found = confirmed_found_;
    Copy();
    Remove(name);
    bool told = false;
    const RowSet rows = Recover(false, &told);
    engine_.reset();
    confirmed_found_ = confirmed_found;
    Cost& cost = costs_[name];
    for (const auto& row : all_) {
      if (!rows.contains(row)) cost.lacking.insert(row);
    }
    cost.rises = !std::includes(all_.begin(), all_.end(), rows.begin(), rows.end());
    EXPECT_TRUE(told || cost.nothing()) << name;
    return cost;
  }
  void ExpectHonest(const RowSet& rows, bool told) {
    Cost may;
    for (const std::string& name : touched_) {
      const Cost& cost = CostOf(name);
      may.lacking.insert(cost.lacking.begin(), cost.lacking.end());
      may.rises = may.rises || !cost.nothing();
    }
    // What upstream has is known twice; no damage makes more of it.
    EXPECT_LE(confirmed_found_, confirmed_);
    if (may.nothing() && touched_.size() == 1) {
      EXPECT_EQ(confirmed_found_, confirmed_);
    }
    size_t lacking = 0;
    for (const auto& row : all_) {
      if (rows.contains(row)) continue;
      ++lacking;
      EXPECT_TRUE(may.lacking.contains(row))
          << row.first << " at " << row.second.first << " is missing, and is in no damaged file";
    }
    size_t older = 0;
    for (const auto& [sensor, row] : rows) {
      if (all_.contains({sensor, row})) continue;
      ++older;
      EXPECT_TRUE(written_[sensor].contains(row)) << "a row that was never written";
    }
    // A version of before shows where the newest one, or a delete, was in the damage.
    EXPECT_TRUE(older == 0 || may.rises) << older << " rows rose";
    EXPECT_TRUE(told || lacking + older == 0) << lacking << " rows are missing and " << older
                                              << " rose without a word";
    lacking_ += lacking > 0 ? 1 : 0;
  }

  std::string store_;
  std::vector<std::string> names_;
  RowSet all_;
  std::map<std::string, Cost> costs_;
  std::set<std::string> touched_;
  std::string told_;
  std::string opening_;
  uint64_t confirmed_found_ = 0;
  size_t opened_ = 0;
  size_t salvaged_ = 0;
  size_t lacking_ = 0;
};

// CISTERN_DAMAGES: how many.
TEST_F(DamageFilesTest, AnyFileAloneAndInPairs) {
  const uint64_t count = EnvNumber("CISTERN_DAMAGES", 2000);
  const uint64_t seed = SeedFromEnv();
  std::printf("CISTERN_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Prepare();
  const auto plan = Plan(count, seed);
  for (size_t n = 0; n < plan.size() && !HasFailure(); ++n) {
    Copy();
    touched_.clear();
    told_.clear();
    opening_.clear();
    std::string what;
    for (const Mutation& mutation : plan[n]) what += (what.empty() ? "" : ", ") + Damage(mutation);
    const bool by_salvage = Mix(seed + n) % 4 == 0;
    SCOPED_TRACE("damage " + std::to_string(n) + " of seed " + std::to_string(seed) + ": " + what +
                 (by_salvage ? ", salvaged" : ""));
    bool told = false;
    const RowSet rows = Recover(by_salvage, &told);
    SCOPED_TRACE(opening_ + "\n" + told_);
    engine_.reset();
    directory_ = (fs::path(temp_.path()) / "copy").string();
    ExpectHonest(rows, told);
  }
  std::printf("%zu damages: %zu opened, %zu salvaged, %zu lacked rows that were in the damage\n",
              plan.size(), opened_, salvaged_, lacking_);
}

}  // namespace
}  // namespace cistern::testing
