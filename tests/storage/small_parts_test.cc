// Ballast, beacon, format file, names, prefixes, options, messages, perf levels.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/coding.h"
#include "lib/base/shell_text.h"
#include "storage/ack_beacon.h"
#include "storage/ballast.h"
#include "storage/damage_advice.h"
#include "storage/family_kind.h"
#include "storage/full_disk_advice.h"
#include "storage/info_log.h"
#include "storage/keyspace.h"
#include "storage/lock_table.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/store_format.h"
#include "storage/uncounted_reads.h"
#include "tests/storage/temp_store.h"
#include "tests/support/fault_fs.h"

namespace cistern {
namespace {

const std::string kId = "00112233445566778899aabbccddeeff";

std::unique_ptr<AckBeacon> OpenBeacon(rocksdb::FileSystem* fs, const std::string& directory,
                                      const std::string& id = kId) {
  auto beacon = AckBeacon::Open(fs, directory, id, false);
  EXPECT_TRUE(beacon.ok());
  return std::move(beacon).value();
}

TEST(AckBeacon, RemembersTheHighestSequence) {
  TempStore temp;
  auto fs = rocksdb::FileSystem::Default();
  {
    auto beacon = OpenBeacon(fs.get(), temp.root());
    EXPECT_EQ(beacon->sequence(), 0u);
    EXPECT_FALSE(beacon->note().empty());  // there was none
    for (const uint64_t sequence : {3u, 9u, 5u, 12u}) {
      EXPECT_TRUE(beacon->Write(sequence).ok());
      EXPECT_EQ(OpenBeacon(fs.get(), temp.root())->sequence(), beacon->sequence());
    }
  }
  auto beacon = OpenBeacon(fs.get(), temp.root());
  EXPECT_EQ(beacon->sequence(), 12u);
  EXPECT_TRUE(beacon->note().empty());
  EXPECT_EQ(std::filesystem::file_size(temp.root() + "/ACK"), 1024u);
}

TEST(AckBeacon, ASlotTornAtAnyByteLeavesTheOther) {
  TempStore temp;
  auto fs = rocksdb::FileSystem::Default();
  {
    auto beacon = OpenBeacon(fs.get(), temp.root());
    ASSERT_TRUE(beacon->Write(7).ok());
    ASSERT_TRUE(beacon->Write(8).ok());
  }
  const std::string before = ReadBytes(temp.root() + "/ACK");
  ASSERT_TRUE(OpenBeacon(fs.get(), temp.root())->Write(9).ok());
  const std::string after = ReadBytes(temp.root() + "/ACK");
  for (size_t cut = 0; cut <= after.size(); ++cut) {
    WriteBytes(temp.root() + "/ACK", after.substr(0, cut) + before.substr(cut));
    const uint64_t sequence = OpenBeacon(fs.get(), temp.root())->sequence();
    EXPECT_TRUE(sequence == 8 || sequence == 9) << "cut at " << cut << ": " << sequence;
  }
}

TEST(AckBeacon, AFailedWriteIsRepeatedInTheSameSlot) {
  TempStore temp;
  FaultFileSystem fs;
  auto beacon = OpenBeacon(&fs, temp.root());
  ASSERT_TRUE(beacon->Write(5).ok());
  fs.Arm({.op = FaultOp::kSync});
  EXPECT_EQ(beacon->Write(6).code(), StatusCode::kIoError);
  EXPECT_EQ(beacon->sequence(), 5u);
  EXPECT_TRUE(beacon->Write(7).ok());
  EXPECT_EQ(OpenBeacon(&fs, temp.root())->sequence(), 7u);
}

TEST(AckBeacon, DamagedTruncatedAndForeignFilesCountAsNone) {
  TempStore temp;
  auto fs = rocksdb::FileSystem::Default();
  ASSERT_TRUE(OpenBeacon(fs.get(), temp.root())->Write(5).ok());
  const std::string whole = ReadBytes(temp.root() + "/ACK");
  const std::string other = "ffffffffffffffffffffffffffffffff";
  EXPECT_EQ(OpenBeacon(fs.get(), temp.root(), other)->sequence(), 0u);
  for (const std::string& damaged :
       {std::string(), std::string(1024, '\0'), whole.substr(0, 100), whole + whole}) {
    WriteBytes(temp.root() + "/ACK", damaged);
    auto beacon = OpenBeacon(fs.get(), temp.root());
    EXPECT_EQ(beacon->sequence(), 0u);
    EXPECT_FALSE(beacon->note().empty());
    EXPECT_TRUE(beacon->Write(6).ok());
    EXPECT_EQ(OpenBeacon(fs.get(), temp.root())->sequence(), 6u);
  }
}

TEST(AckBeacon, ATruncatedFileKeepsItsValidSlotThroughTheNextTornWrite) {
  TempStore temp;
  auto fs = rocksdb::FileSystem::Default();
  for (uint64_t last = 1; last <= 4; ++last) {
    std::filesystem::remove(temp.root() + "/ACK");
    {
      auto beacon = OpenBeacon(fs.get(), temp.root());
      for (uint64_t i = 1; i <= last; ++i) ASSERT_TRUE(beacon->Write(i).ok());
    }
    // Only the first slot is left: the newest, or the one before.
    std::filesystem::resize_file(temp.root() + "/ACK", 512);
    const uint64_t kept = OpenBeacon(fs.get(), temp.root())->sequence();
    EXPECT_EQ(kept, last % 2 == 0 ? last : last - 1);
    const std::string before = ReadBytes(temp.root() + "/ACK");
    ASSERT_TRUE(OpenBeacon(fs.get(), temp.root())->Write(99).ok());
    const std::string after = ReadBytes(temp.root() + "/ACK");
    ASSERT_EQ(after.size(), 1024u);
    size_t first = 0;
    while (first < 1024 && before[first] == after[first]) ++first;
    WriteBytes(temp.root() + "/ACK",
               after.substr(0, first + 20) + before.substr(first + 20));  // torn
    EXPECT_EQ(OpenBeacon(fs.get(), temp.root())->sequence(), kept);
  }
}

TEST(Ballast, FollowsTheBudgetsWithinBounds) {
  StoreConfig config;
  config.memory_budget_bytes = 8 << 20;
  const uint64_t small = BallastBytes(config);
  EXPECT_GE(small, 2u << 20);
  config.memory_budget_bytes = 1u << 30;
  EXPECT_GE(BallastBytes(config), small);
  EXPECT_LE(BallastBytes(config), 8u << 20);
  config.disk_budget_bytes = 32 << 20;
  EXPECT_EQ(BallastBytes(config), 2u << 20);
}

TEST(Ballast, TakesRealBlocksAndGivesThemBack) {
  TempStore temp;
  auto fs = rocksdb::FileSystem::Default();
  Ballast ballast(fs.get(), temp.root(), 1 << 20);
  EXPECT_FALSE(ballast.held());
  ASSERT_TRUE(ballast.TryHold().ok());
  EXPECT_TRUE(ballast.held());
  struct stat info {};
  ASSERT_EQ(::stat((temp.root() + "/BALLAST").c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);
  EXPECT_TRUE(Ballast(fs.get(), temp.root(), 1 << 20).held());
  ASSERT_TRUE(ballast.Release().ok());
  EXPECT_TRUE(NamesIn(temp.root()).empty());
  EXPECT_TRUE(ballast.Release().ok());
}

TEST(Ballast, NoRoomLeavesNoFile) {
  TempStore temp;
  FaultFileSystem disk;
  disk.SetDiskBytes(3 << 19);  // 1.5 times
  Ballast ballast(&disk, temp.root(), 1 << 20);
  EXPECT_EQ(ballast.TryHold().code(), StatusCode::kNoSpace);
  disk.SetDiskBytes(1 << 22);
  disk.Arm({.op = FaultOp::kSync});
  EXPECT_EQ(ballast.TryHold().code(), StatusCode::kIoError);
  EXPECT_FALSE(ballast.held());
  EXPECT_TRUE(NamesIn(temp.root()).empty());
  EXPECT_TRUE(ballast.TryHold().ok());
}

TEST(StoreFormat, RoundTripsAndSeesEveryFlippedBit) {
  const StoreFormat format{.ready = true, .store_id = NewStoreId()};
  const std::string text = EncodeStoreFormat(format);
  const auto decoded = DecodeStoreFormat(text);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->store_id, format.store_id);
  EXPECT_TRUE(decoded->ready);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto result = DecodeStoreFormat(damaged);
    ASSERT_FALSE(result.ok()) << bit;
    EXPECT_TRUE(result.status().code() == StatusCode::kCorruption ||
                result.status().code() == StatusCode::kTooNew);
  }
  for (size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(DecodeStoreFormat(std::string_view(text).substr(0, cut)).ok());
  }
}

TEST(StoreFormat, ANewerVersionIsTooNewWhateverFollows) {
  EXPECT_EQ(DecodeStoreFormat("cistern store\nformat 2\nwhatever").status().code(),
            StatusCode::kTooNew);
  EXPECT_EQ(DecodeStoreFormat("cistern store\nformat 99999999999\n").status().code(),
            StatusCode::kCorruption);
}

TEST(FamilyKind, NamesAndTheirMeaning) {
  EXPECT_EQ(JournalFamilyName(0x1f), "journal-000000000000001f");
  EXPECT_EQ(FamilyKindOf(JournalFamilyName(UINT64_MAX)), FamilyKind::kJournal);
  EXPECT_EQ(FamilyNumberOf(SpillFamilyName(UINT64_MAX)), UINT64_MAX);
  EXPECT_EQ(FamilyKindOf("meta"), FamilyKind::kMeta);
  EXPECT_EQ(FamilyKindOf("default"), FamilyKind::kDefault);
  EXPECT_EQ(FamilyNumberOf("meta"), std::nullopt);
  for (const char* name : {"", "journal-", "journal-1", "spill-00000000000000zz", "Meta",
                           "journal-00000000000000001", "spill-000000000000000A"}) {
    EXPECT_EQ(FamilyKindOf(name), std::nullopt) << name;
  }
}

TEST(RocksDbOptions, FilesOfRotationsMoveDownAndAreNotRewritten) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok());
  const std::string name = SpillFamilyName(1);
  rocksdb::ColumnFamilyHandle* spill = nullptr;
  ASSERT_TRUE(
      store->db->CreateColumnFamily(store->FamilyOptions(FamilyKind::kSpill), name, &spill).ok());
  store->families[name] = spill;
  rocksdb::WriteOptions no_log;
  no_log.disableWAL = true;
  constexpr uint64_t kRotations = 40;
  for (uint64_t rotation = 1; rotation <= kRotations; ++rotation) {
    for (uint32_t page = 0; page < 20; ++page) {
      const std::string key = PageKey(rotation << kSegmentIndexBits, page);
      ASSERT_TRUE(store->db->Put(no_log, spill, key, std::string(1000, 'p')).ok());
    }
    ASSERT_TRUE(store->db->Flush({}, spill).ok());
  }
  for (int tries = 0; tries < 500; ++tries) {  // moving is background work
    std::string pending;
    ASSERT_TRUE(store->db->GetProperty(spill, "rocksdb.num-files-at-level0", &pending));
    if (std::stoul(pending) < 4) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string moved;
  ASSERT_TRUE(store->db->GetProperty(spill, "rocksdb.num-files-at-level1", &moved));
  EXPECT_GE(std::stoul(moved), kRotations - 4);
  EXPECT_LT(store->fs->bytes_written().sst, kRotations * 20 * 1100);
}

TEST(RocksDbOptions, LiveOptionsThatAreOffAreNamed) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(CheckLiveOptions(store->db.get(), store->families).ok());
  // A journal made with the options of another kind could be flushed on its own.
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_TRUE(store->db
                  ->CreateColumnFamily(store->FamilyOptions(FamilyKind::kSpill),
                                       JournalFamilyName(1), &handle)
                  .ok());
  store->families[JournalFamilyName(1)] = handle;
  const Status status = CheckLiveOptions(store->db.get(), store->families);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("disable_auto_compactions"), std::string::npos);
}

TEST(RocksDbOptions, AFamilyTakesLittleMemoryUntilItIsUsed) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok());
  EXPECT_LT(store->write_buffers->memory_usage(), 64u * 1024);
  EXPECT_LT(store->cache->GetUsage(), 64u * 1024);
}

TEST(RocksDbStatus, Translation) {
  using rocksdb::Status;
  const auto code = [](const rocksdb::Status& status) { return ToStatus(status, "there").code(); };
  EXPECT_EQ(code(Status::OK()), StatusCode::kOk);
  EXPECT_EQ(code(Status::NotFound()), StatusCode::kNotFound);
  EXPECT_EQ(code(Status::Corruption("x")), StatusCode::kCorruption);
  EXPECT_EQ(code(Status::NoSpace()), StatusCode::kNoSpace);
  EXPECT_EQ(code(Status::SpaceLimit()), StatusCode::kNoSpace);
  EXPECT_EQ(code(Status::IOError("a", "Disk quota exceeded")), StatusCode::kNoSpace);
  EXPECT_EQ(code(Status::IOError("While lock file: /s/LOCK", "Resource temporarily unavailable")),
            StatusCode::kLocked);
  EXPECT_EQ(code(Status::IOError("While lock file: /s/LOCK", "Permission denied")),
            StatusCode::kReadOnly);
  EXPECT_EQ(code(Status::IOError("a", "Read-only file system")), StatusCode::kReadOnly);
  EXPECT_EQ(code(Status::IOError("a", "Input/output error")), StatusCode::kIoError);
  EXPECT_EQ(code(Status::IOError("a", "Too many open files")), StatusCode::kTooManyOpenFiles);
  EXPECT_EQ(code(Status::IOError("a", "Too many open files in system")),
            StatusCode::kTooManyOpenFiles);
  EXPECT_EQ(code(Status::Busy()), StatusCode::kBusy);
  EXPECT_EQ(code(Status::Incomplete("stall")), StatusCode::kBusy);
  EXPECT_EQ(code(Status::ShutdownInProgress()), StatusCode::kClosed);
  EXPECT_EQ(code(Status::MemoryLimit()), StatusCode::kOutOfMemory);
  EXPECT_EQ(code(Status::InvalidArgument("x")), StatusCode::kInternal);
  EXPECT_EQ(ToStatus(Status::Corruption("bad block"), "reading page 3").message(),
            "reading page 3: Corruption: bad block");
}

// Whoever runs the tests owns the directory: what it closed to itself it can open.
TEST(RocksDbStatus, WhoIsRefusedIsToldByTheOwnerOfThePath) {
  const TempStore temp;
  const std::string directory = temp.root() + "/it's";
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  const auto advice = [&](const std::string& path, const char* why) {
    return ToStatus(rocksdb::Status::IOError("While open a file for appending: " + path, why),
                    "opening").message();
  };
  const std::string denied = advice(directory + "/000012.log", "Permission denied");
  EXPECT_NE(denied.find("run as the owner of the store, as `ls -ld " + ShellWord(directory) + "`"),
            std::string::npos) << denied;
  using std::filesystem::perms;
  std::filesystem::permissions(directory, perms::owner_read | perms::owner_exec);
  for (const std::string& path : {directory + "/000012.log", directory}) {
    const std::string closed = advice(path, "Permission denied");
    EXPECT_NE(closed.find("`chmod u+w " + ShellWord(directory) + "`"), std::string::npos) << closed;
  }
  std::filesystem::permissions(directory, perms::owner_all);
  EXPECT_NE(advice("/", "Permission denied").find("as `ls -ld /` names it"), std::string::npos);
  EXPECT_NE(advice("/none/x", "Permission denied").find("as `ls -ld DIRECTORY`"),
            std::string::npos);
  const std::string mounted = advice(directory + "/000012.log", "Read-only file system");
  EXPECT_NE(mounted.find("`findmnt -T " + ShellWord(directory) + "`"), std::string::npos)
      << mounted;
}

TEST(DamageAdvice, NamesTheStoreAsAShellTakesItAndCanBeTakenAway) {
  const std::string what = "reading it: Corruption: bad block";
  for (const char* name : {"/data/S", "it's mine", "two\nlines", "a; b `c`"}) {
    const std::string directory = name;
    const std::string message = what + SalvageAdvice(directory);
    EXPECT_NE(message.find("`cistern salvage --store " + ShellWord(directory) + " --to NEW`"),
              std::string::npos) << message;
    EXPECT_EQ(WithoutDamageAdvice(message + ", and more"), what + ", and more");
    EXPECT_EQ(WithoutDamageAdvice(message + SalvageAdvice("/scratch")), what);
    for (const std::string& advice : {RepairAdvice(directory), RepairAdvice(directory, ", gives "
                                      "that up"), QuarantineAdvice(directory)}) {
      EXPECT_NE(advice.find(" --store " + ShellWord(directory) + " --to "), std::string::npos);
      EXPECT_EQ(WithoutDamageAdvice(what + advice), what);
    }
  }
  EXPECT_EQ(WithoutDamageAdvice(what), what);
}

TEST(RocksDbStatus, WhatAFullDiskLacksDecidesTheAdvice) {
  struct statvfs disk {};
  disk.f_files = 1000;
  disk.f_favail = 0;
  disk.f_bavail = 1'000'000;
  EXPECT_NE(FullDiskAdvice(disk).find("no inode left"), std::string_view::npos);
  EXPECT_EQ(FullDiskAdvice(disk).find("free disk space"), std::string_view::npos);
  disk.f_favail = 1;
  EXPECT_NE(FullDiskAdvice(disk).find("free disk space"), std::string_view::npos);
  disk.f_files = disk.f_favail = 0;  // it makes them as it needs them
  EXPECT_NE(FullDiskAdvice(disk).find("free disk space"), std::string_view::npos);
  const TempStore temp;
  for (const std::string& path : {temp.root() + "/000012.log", std::string("/none/000012.log"),
                                  std::string("000012.log")}) {
    const auto full = rocksdb::Status::NoSpace("While appending to file: " + path,
                                               "No space left on device");
    EXPECT_NE(ToStatus(full, "journal write").message().find("free disk space"), std::string::npos);
  }
  const std::string budget =
      ToStatus(rocksdb::Status::NoSpace(std::string(kDiskBudgetWords) + "9 bytes is used up"), "x")
          .message();
  EXPECT_NE(budget.find("--disk-budget"), std::string::npos) << budget;
  EXPECT_EQ(budget.find("free disk space"), std::string::npos) << budget;
}

TEST(LockTable, WhoWaitsHidesNobodyAndHoldsNothing) {
  const std::string table =
      "1: POSIX  ADVISORY  WRITE 11 08:01:5 0 EOF\n"
      "1: -> POSIX  ADVISORY  WRITE 12 08:01:5 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 13 08:01:6 0 EOF\n"
      "3: FLOCK  ADVISORY  WRITE 14 08:01:7 0 EOF\n"
      "4: OFDLCK ADVISORY  WRITE -1 08:01:7 0 EOF\n"
      "5: DELEG\n"
      "6: POSIX  ADVISORY  READ  15 08:01:7 0 EOF\n"
      "7: POSIX  ADVISORY  WRITE 16 fd:10:18446744073709551615 0 9\n";
  const auto holder = [&table](const std::string& place) {
    std::istringstream text(table);
    return LockHolderIn(text, place);
  };
  EXPECT_EQ(holder("08:01:5"), 11);
  EXPECT_EQ(holder("08:01:6"), 0);
  EXPECT_EQ(holder("08:01:7"), 15);
  EXPECT_EQ(holder("fd:10:18446744073709551615"), 16);
  EXPECT_EQ(holder("08:01:18"), 0);
}

TEST(LockTable, KnowsTheHolderOfARealLock) {
  TempStore temp;
  const std::string path = temp.root() + "/held";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  EXPECT_EQ(LockHolderOf(path), 0);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(file, F_SETLK, &whole), 0);
  EXPECT_EQ(LockHolderOf(path), ::getpid());
  ::close(file);
  EXPECT_EQ(LockHolderOf(temp.root() + "/none"), 0);
}

TEST(InfoLog, EscapesBoundsAndForwards) {
  TempStore temp;
  auto clock = std::make_shared<FakeClock>();
  std::vector<std::string> heard;
  InfoLog log(rocksdb::FileSystem::Default(), temp.root(),
              [&](LogLevel level, std::string_view line) {
                EXPECT_EQ(level, LogLevel::kWarning);
                heard.emplace_back(line);
              },
              clock);
  rocksdb::Info(&log, "not for the log");
  rocksdb::Warn(&log, "evil\n%s\x1b[31m", "2024 error fake line");
  EXPECT_EQ(heard, std::vector<std::string>{"evil\\x0a2024 error fake line\\x1b[31m"});
  EXPECT_EQ(ReadBytes(temp.root() + "/LOG"),
            "1704067200000000 warning evil\\x0a2024 error fake line\\x1b[31m\n");
  // For days, as fast as it may.
  const std::string line(5000, 'x');
  for (int i = 0; i < 3000; ++i) {
    clock->AdvanceSeconds(60);
    rocksdb::Warn(&log, "%s", line.c_str());
  }
  EXPECT_EQ(NamesIn(temp.root()), (std::set<std::string>{"LOG", "LOG.1"}));
  for (const char* name : {"/LOG", "/LOG.1"}) {
    EXPECT_LE(std::filesystem::file_size(temp.root() + name), limits::kInfoLogBytesMax / 2);
  }
}

TEST(InfoLog, AFloodIsCountedNotWritten) {
  TempStore temp;
  auto clock = std::make_shared<FakeClock>();
  InfoLog log(rocksdb::FileSystem::Default(), temp.root(), nullptr, clock);
  for (int i = 0; i < 1000; ++i) rocksdb::Warn(&log, "the same");
  clock->AdvanceSeconds(61);
  rocksdb::Warn(&log, "last");
  const std::string text = ReadBytes(temp.root() + "/LOG");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 122);
  EXPECT_NE(text.find("880 lines left out"), std::string::npos);
}

TEST(InfoLog, AFullDiskIsSilent) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  InfoLog log(disk, temp.root(), nullptr, std::make_shared<FakeClock>());
  for (const auto op : {FaultOp::kCreate, FaultOp::kWrite}) {
    disk->Arm({.op = op, .forever = true, .error = FaultError::kNoSpace});
    for (int i = 0; i < 10; ++i) rocksdb::Error(&log, "lost");
    disk->Disarm();
  }
  rocksdb::Error(&log, "kept");
  EXPECT_NE(ReadBytes(temp.root() + "/LOG").find("kept"), std::string::npos);
}

TEST(UncountedReads, LeaveTheThreadsPerfLevelAsItWas) {
  const rocksdb::PerfLevel before = rocksdb::GetPerfLevel();
  for (const auto level : {rocksdb::PerfLevel::kDisable, rocksdb::PerfLevel::kEnableCount,
                           rocksdb::PerfLevel::kEnableTime}) {
    rocksdb::SetPerfLevel(level);
    {
      const UncountedReads outer;
      EXPECT_EQ(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kDisable);
      { const UncountedReads inner; }
      EXPECT_EQ(rocksdb::GetPerfLevel(), rocksdb::PerfLevel::kDisable);
    }
    EXPECT_EQ(rocksdb::GetPerfLevel(), level);
  }
  rocksdb::SetPerfLevel(before);
}

}  // namespace
}  // namespace cistern
