// The file ACK damaged, alone and beside damage of the log: what an opening says of it.
#include <algorithm>
#include <functional>

#include "cistern/salvage.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 200;
constexpr size_t kSlotBytes = 512;

class LostAck : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    before_ = Read("ACK");
    for (int i = 0; i < kRows; ++i) {
      MustAppend("a", kStartMs + i, i);
      clock_->AdvanceMicros(1'100'000);
      ASSERT_TRUE(engine_->Tick({100}).ok());  // the beacon follows
    }
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return directory() + "/" + name; }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  void FlipBit(const std::string& name, size_t at) const {
    std::string bytes = Read(name);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    Write(name, bytes);
  }
  // In the middle of the log with the most bytes.
  void DamageLog() const {
    std::string largest;
    for (const auto& entry : fs::directory_iterator(directory())) {
      if (entry.path().extension() != ".log") continue;
      const std::string name = entry.path().filename().string();
      if (largest.empty() || entry.file_size() > fs::file_size(Path(largest))) largest = name;
    }
    ASSERT_FALSE(largest.empty());
    FlipBit(largest, fs::file_size(Path(largest)) / 2);
  }
  static bool Names(const RecoveryReport& report, const std::string& words) {
    return std::any_of(report.notes.begin(), report.notes.end(), [&](const std::string& note) {
      return note.find(words) != std::string::npos;
    });
  }
  void OpenReadOnly() {
    EngineOptions options = options_;
    options.read_only = true;
    auto opened = TryOpen(options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
  }

  // Of the store as it is; the copy is removed.
  [[nodiscard]] SalvageReport Salvaged() const {
    const std::string to = (fs::path(temp_.path()) / "salvaged").string();
    const auto report = Salvage(directory(), to, {.clock = clock_});
    fs::remove_all(to);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *report : SalvageReport();
  }

  std::string before_;  // ACK as it was before the rows
};

// A host that writes no rows leaves it at that: rot in this log is no torn end.
TEST_F(LostAck, TheFirstOpeningNotesItsLog) {
  fs::remove_all(directory());
  Open();
  EXPECT_NE(Core()->store().beacon().ends().log_number, 0u);
}

TEST_F(LostAck, OneFlippedBitCostsNothingOfIt) {
  FlipBit("ACK", 60);
  FlipBit("ACK", kSlotBytes + 60);
  DamageLog();
  Open();
  const RecoveryReport report = engine_->Recovery();
  EXPECT_TRUE(Names(report, "ACK")) << "damage of it is named";
  EXPECT_TRUE(report.recovered_with_loss);
  EXPECT_GT(report.lost_sequence_first, 1u);
  EXPECT_EQ(report.lost_sequence_last, static_cast<uint64_t>(kRows));
  ExpectSound();
}

TEST_F(LostAck, BesideADamagedLogRowsCountAsLost) {
  const std::string whole = Read("ACK");
  const std::vector<std::pair<const char*, std::function<void()>>> kinds = {
      {"both slots", [&] {
         for (const size_t at : {60u, 316u, 572u, 828u}) FlipBit("ACK", at);
       }},
      {"the newer slot or the older one", [&] {
         for (const size_t at : {60u, 316u}) FlipBit("ACK", at);
       }},
      {"the other slot", [&] {
         for (const size_t at : {572u, 828u}) FlipBit("ACK", at);
       }},
      {"missing", [&] { fs::remove(Path("ACK")); }},
      {"empty", [&] { Write("ACK", ""); }},
      {"half", [&] { Write("ACK", whole.substr(0, kSlotBytes)); }},
      {"of another store", [&] {
         const TempDir other("cistern-other");
         { ASSERT_TRUE(Engine::Open(other.path() + "/s", options_).ok()); }
         fs::copy_file(other.path() + "/s/ACK", Path("ACK"), fs::copy_options::overwrite_existing);
       }},
  };
  DamageLog();
  const TempDir kept("cistern-kept");
  fs::copy(directory(), kept.path() + "/store", fs::copy_options::recursive);
  for (const bool read_only : {true, false}) {
    for (const auto& [name, damage] : kinds) {
      fs::remove_all(directory());
      fs::copy(kept.path() + "/store", directory(), fs::copy_options::recursive);
      damage();
      if (read_only) OpenReadOnly();
      else Open();
      const RecoveryReport report = engine_->Recovery();
      EXPECT_FALSE(report.clean) << name;
      EXPECT_TRUE(Names(report, "ACK")) << name;
      EXPECT_TRUE(report.recovered_with_loss) << name;
      EXPECT_GT(report.lost_sequence_first, 1u) << name;
      EXPECT_EQ(report.lost_sequence_last, 0u) << name << ": up to where is not known";
      EXPECT_TRUE(engine_->GetMetrics().recovered_with_loss) << name;
      EXPECT_TRUE(engine_->Close().ok()) << name;
      engine_.reset();
      if (read_only) continue;
      Open();  // it is told once
      EXPECT_TRUE(engine_->Recovery().clean) << name << ": " << engine_->Recovery().notes.front();
      EXPECT_TRUE(engine_->Close().ok()) << name;
      engine_.reset();
    }
  }
}

// Each row is a record of the journal.
TEST_F(LostAck, SalvageCountsTheRecordsThatAreMissing) {
  {
    const SalvageReport whole = Salvaged();
    EXPECT_TRUE(whole.knows_losses());
    ASSERT_EQ(whole.tables.size(), 1u);
    EXPECT_EQ(whole.tables[0].versions_saved, static_cast<uint64_t>(kRows));
  }
  const std::string ack = Read("ACK");
  fs::remove(Path("ACK"));
  {
    const SalvageReport unknown = Salvaged();
    EXPECT_FALSE(unknown.journal_records_lost.has_value());
    EXPECT_FALSE(unknown.knows_losses()) << "whether rows are missing";
    EXPECT_FALSE(unknown.complete());
  }
  Write("ACK", ack);
  DamageLog();
  {
    const SalvageReport cut = Salvaged();
    EXPECT_FALSE(cut.knows_losses());
    ASSERT_EQ(cut.tables.size(), 1u);
    EXPECT_EQ(cut.tables[0].versions_lost, 0u);
    EXPECT_GT(cut.journal_records_lost.value_or(0), 0u);
    EXPECT_EQ(cut.tables[0].versions_saved + cut.journal_records_lost.value_or(0),
              static_cast<uint64_t>(kRows));
  }
  fs::remove(Path("ACK"));
  EXPECT_FALSE(Salvaged().journal_records_lost.has_value()) << "up to where is not known";
}

TEST_F(LostAck, AloneItIsNamedAndNothingCountsAsLost) {
  FlipBit("ACK", 60);
  FlipBit("ACK", 316);
  Open();
  EXPECT_FALSE(engine_->Recovery().clean);
  EXPECT_TRUE(Names(engine_->Recovery(), "ACK"));
  EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(ScanAll("a").size(), static_cast<size_t>(kRows));
  Reopen();
  EXPECT_TRUE(engine_->Recovery().clean);
}

TEST_F(LostAck, OneThatWasPutBackIsOlderThanTheStore) {
  Open();  // a new MANIFEST
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  Write("ACK", before_);
  DamageLog();
  Open();
  EXPECT_TRUE(Names(engine_->Recovery(), "ACK is older"));
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
}

// The process ends after the repair of the log and before anybody was told.
TEST_F(LostAck, TheLossIsToldAfterAnOpeningThatToldNobody) {
  fs::remove(Path("ACK"));
  DamageLog();
  {
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    auto opened = OpenStore(config);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->Close().ok());
  }
  Open();
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
  EXPECT_TRUE(Names(engine_->Recovery(), "up to where is not known"));
}

}  // namespace
}  // namespace cistern::testing
