// Every file of a store damaged, alone and in pairs: an opening or salvage gives every row that is
// not in the damaged bytes, names what is missing, and invents nothing.
#include <cstdio>
#include <tuple>

#include "lib/row/row_order.h"
#include "storage/keyspace.h"
#include "storage/outbox.h"
#include "storage/seal_reader.h"
#include "storage/version_source.h"
#include "tests/engine/damaged_store_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;
using RowSet = std::set<std::pair<std::string, std::pair<int64_t, double>>>;
// A row version: its entity, its time and its write timestamp; a delete has its end for a time.
using VersionSet = std::set<std::tuple<std::string, int64_t, int64_t>>;
// Of an SST file: the start of each bucket of which it has a header or a page, by entity.
using BucketSet = std::set<std::pair<std::string, int64_t>>;

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
    FindBuckets();
    Copy();
    auto opened = TryOpen(options_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
    confirmed_set_ = ReadConfirmed();
    EXPECT_EQ(confirmed_set_.size(), confirmed_);
    engine_.reset();
    directory_ = store_;
  }
  // What each SST file has, told by its keys alone and by nothing that an engine makes of them.
  // A page's bucket is in the header of its segment, which may be in another file.
  void FindBuckets() {
    using SegmentOf = std::pair<std::string, uint64_t>;  // the family, and the number
    std::map<SegmentOf, std::pair<std::string, int64_t>> segments;
    std::vector<std::pair<std::string, SegmentOf>> pages;
    for (const std::string& name : FilesOf(FileKind::kSst)) {
      rocksdb::SstFileReader reader((rocksdb::Options()));
      ASSERT_TRUE(reader.Open(PathOf(name)).ok());
      const std::string family = reader.GetTableProperties()->column_family_name;
      buckets_[name];
      if (!family.starts_with("spill-") && !family.starts_with("window-")) continue;
      const std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator({}));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        const std::string_view key = it->key().ToStringView();
        if (const auto bucket = ParseHeaderKey(key)) {
          ByteReader in(it->value().ToStringView(), "header");
          const uint64_t id =
              GetBig<uint64_t>(key.data()) << kSegmentIndexBits | in.ReadVarint("index");
          segments[{family, id}] = {bucket->entity, bucket->start_s};
          buckets_[name].insert({bucket->entity, bucket->start_s});
        } else if (key.size() == PageKey(0, 0).size() && key[8] == PageKey(0, 0)[8]) {
          pages.push_back({name, {family, GetBig<uint64_t>(key.data() + 9)}});
        }
      }
    }
    for (const auto& [name, segment] : pages) buckets_[name].insert(segments.at(segment));
    EXPECT_GT(pages.size(), 0u);
  }
  // Whether the file may have the row: an SST file of its bucket, or a log, of what is in the
  // journal alone. All else is known twice.
  bool MayHold(const std::string& name, const RowSet::value_type& row) {
    if (FileKindOf(name) == FileKind::kWal) return row.second.first >= kStartMs + kDays * kDayMs;
    const auto known = buckets_.find(name);
    if (known == buckets_.end()) return false;
    const int64_t day = row.second.first - row.second.first % kDayMs;
    return known->second.contains({Entity(row.first).bytes, day / 1000});
  }
  // What upstream has of the open store, as far as it can be read.
  VersionSet ReadConfirmed() {
    VersionSet versions;
    const auto view = Core()->store().spills().view();
    const TablePtr table = Core()->tables().List().front();
    const std::vector<bool> wanted(table->schema->columns.size(), true);
    ManifestWalker manifests(view, "");
    while (true) {
      const auto item = manifests.Next();
      if (!item.ok() || !*item) break;
      const auto& [window, bucket, seal, manifest] = **item;
      const Result<bool> waits = IsInOutbox(view->meta, window->id, {bucket, seal});
      if (!waits.ok() || *waits) continue;
      auto segment = ReadSealedSegment(window, bucket, seal);
      if (!segment.ok()) continue;
      const uint32_t pages = static_cast<uint32_t>(segment->header.pages.size());
      for (const RangeDelete& d : segment->header.deletes) {
        versions.insert({bucket.entity, d.to, d.write_us});
      }
      const SegmentPages reader(table, table->schema_version,
                                std::make_shared<const SegmentRef>(*std::move(segment)), &wanted);
      for (uint32_t page = 0; page < pages; ++page) {
        const auto rows = reader.Read(page);
        if (!rows.ok()) continue;
        for (size_t i = 0; i < rows->row_count; ++i) {
          versions.insert(
              {bucket.entity, EventTime(*table->schema, *rows, i), rows->write_us[i]});
        }
      }
    }
    return versions;
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
      case Kind::kFlipped:
        FlipBit(path.string(), static_cast<int64_t>(m.at), static_cast<int>(Mix(m.at) % 8));
        break;
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
    confirmed_found_ = engine_->ListTables().empty() ? VersionSet() : ReadConfirmed();
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
    const VersionSet confirmed_found = confirmed_found_;
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
    for (const auto& row : cost.lacking) {
      EXPECT_TRUE(MayHold(name, row)) << name << " is gone, and with it " << row.first << " at "
                                      << row.second.first << ", which it never had";
    }
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
    EXPECT_TRUE(std::includes(confirmed_set_.begin(), confirmed_set_.end(),
                              confirmed_found_.begin(), confirmed_found_.end()))
        << "what upstream never had counts as confirmed";
    if (may.nothing() && touched_.size() == 1) {
      EXPECT_EQ(confirmed_found_, confirmed_set_);
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
  VersionSet confirmed_set_;                 // of the store before any damage
  VersionSet confirmed_found_;
  std::map<std::string, BucketSet> buckets_;  // by SST file
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
