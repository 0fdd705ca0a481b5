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

constexpr const char* kKinds[] = {"deleted", "emptied", "cut", "a bit flipped", "swapped"};
constexpr uint64_t kDeleted = 0;

class DamageFilesTest : public DamagedStoreFixture {
 protected:
  // The files that damage is done to; the others have nothing of the store.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(store_)) {
      const std::string name = entry.path().filename().string();
      const bool has_nothing = name == "RESERVE" || name == "LOG" || name == "LOCK";
      if (entry.is_regular_file() && entry.file_size() > 0 && !has_nothing) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void Prepare() {
    MakeStore();
    store_ = directory();
    fs::remove(fs::path(store_) / "RESERVE");  // made again by an opening
    for (const auto& [sensor, rows] : expected_) {
      for (const auto& row : rows) all_.insert({sensor, row});
    }
  }
  // A copy of the store is what is damaged next.
  void Copy() {
    engine_.reset();
    directory_ = (fs::path(temp_.path()) / "copy").string();
    fs::remove_all(directory_);
    fs::copy(store_, directory_, fs::copy_options::recursive);
  }
  // Returns what was done, for people.
  std::string Damage(Rng* rng, const std::string& name, uint64_t kind) {
    const fs::path path = PathOf(name);
    const uint64_t size = fs::exists(path) ? fs::file_size(path) : 0;
    std::string where;
    if (kind == kDeleted || size == 0) {
      fs::remove(path);
      kind = kDeleted;
    } else if (kind == 1) {
      Empty(name);
    } else if (kind == 2) {
      const uint64_t left = rng->Below(size);
      fs::resize_file(path, left);
      where = " to " + std::to_string(left) + " of " + std::to_string(size);
    } else if (kind == 3) {
      const uint64_t at = rng->Below(size);
      Flip(path, at, static_cast<int>(rng->Below(8)));
      where = " at " + std::to_string(at) + " of " + std::to_string(size);
    } else {
      const std::vector<std::string> names = Names();
      const std::string other = names[rng->Below(names.size())];
      if (other == name || !fs::exists(PathOf(other))) return Damage(rng, name, kDeleted);
      fs::rename(path, PathOf("swap"));
      fs::rename(PathOf(other), path);
      fs::rename(PathOf("swap"), PathOf(other));
      where = " with " + other;
      touched_.insert(other);
    }
    touched_.insert(name);
    return name + " " + kKinds[kind] + where;
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

  // Opens the copy, or salvages it where it does not open; what it gives. `told`: something was
  // said to be amiss.
  RowSet Recover(bool by_salvage, bool* told) {
    *told = false;
    if (!by_salvage) {
      auto opened = TryOpen(options_);
      if (opened.ok()) {
        engine_ = *std::move(opened);
        ++opened_;
        return ReadAll(told);
      }
      opening_ = opened.status().ToString();
    }
    const std::string to = (fs::path(temp_.path()) / "salvaged").string();
    fs::remove_all(to);
    const auto report = Salvage(directory(), to, {.clock = clock_});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) return {};
    ++salvaged_;
    *told = !report->problems.empty();
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
  // What the store gives without the file: all that a damage of it may cost.
  const RowSet& CostOf(const std::string& name) {
    const auto known = costs_.find(name);
    if (known != costs_.end()) return known->second;
    Copy();
    Remove(name);
    bool told = false;
    const RowSet rows = Recover(false, &told);
    engine_.reset();
    RowSet& cost = costs_[name];
    for (const auto& row : all_) {
      if (!rows.contains(row)) cost.insert(row);
    }
    EXPECT_TRUE(told || cost.empty()) << name;
    return cost;
  }
  void ExpectHonest(const RowSet& rows, bool told) {
    RowSet may_lack;
    for (const std::string& name : touched_) {
      const RowSet& cost = CostOf(name);
      may_lack.insert(cost.begin(), cost.end());
    }
    size_t lacking = 0;
    for (const auto& row : all_) {
      if (rows.contains(row)) continue;
      ++lacking;
      EXPECT_TRUE(may_lack.contains(row))
          << row.first << " at " << row.second.first << " is missing, and is in no damaged file";
    }
    size_t older = 0;
    for (const auto& [sensor, row] : rows) {
      if (all_.contains({sensor, row})) continue;
      ++older;
      EXPECT_TRUE(written_[sensor].contains(row)) << "a row that was never written";
    }
    // A version of before shows where the newest one, or a delete, was in the damage.
    EXPECT_TRUE(older == 0 || !may_lack.empty()) << older << " rows rose";
    EXPECT_TRUE(told || lacking + older == 0) << lacking << " rows are missing and " << older
                                              << " rose without a word";
    lacking_ += lacking > 0 ? 1 : 0;
  }

  std::string store_;
  RowSet all_;
  std::map<std::string, RowSet> costs_;
  std::set<std::string> touched_;
  std::string told_;
  std::string opening_;
  size_t opened_ = 0;
  size_t salvaged_ = 0;
  size_t lacking_ = 0;
};

// CISTERN_DAMAGES: how many. Half of them are of one file, half of two.
TEST_F(DamageFilesTest, AnyFileAloneAndInPairs) {
  const uint64_t count = EnvNumber("CISTERN_DAMAGES", 2000);
  const uint64_t seed = SeedFromEnv();
  std::printf("CISTERN_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Prepare();
  const std::vector<std::string> names = Names();
  for (uint64_t n = 0; n < count && !HasFailure(); ++n) {
    Rng rng(Mix(seed + n));
    Copy();
    touched_.clear();
    told_.clear();
    opening_.clear();
    std::string what = Damage(&rng, names[n % names.size()], rng.Below(std::size(kKinds)));
    if (rng.OneIn(2)) {
      what += ", " + Damage(&rng, names[rng.Below(names.size())], rng.Below(std::size(kKinds)));
    }
    const bool by_salvage = rng.OneIn(4);
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
              static_cast<size_t>(count), opened_, salvaged_, lacking_);
}

}  // namespace
}  // namespace cistern::testing
