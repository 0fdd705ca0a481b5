// Store: everything that is on disk, behind one door: journal, spill families, meta.
#ifndef CISTERN_STORAGE_STORE_H_
#define CISTERN_STORAGE_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/engine.h"
#include "cistern/result.h"
#include "storage/catalog_copy.h"
#include "storage/damage.h"
#include "storage/journal.h"
#include "storage/meta_records.h"
#include "storage/outbox.h"
#include "storage/push_records.h"
#include "storage/seal_resend.h"
#include "storage/spill_set.h"
#include "storage/store_db.h"
#include "storage/store_opener.h"

namespace cistern {

// One step of the life of segments: what the batch that makes it true contains.
struct SpillCommit {
  uint64_t family_id = 0;
  FamilyPtr family;                 // of family_id
  uint8_t tier = 0;                 // of the family, constant over its life
  std::vector<uint64_t> rotations;  // sequences of the pages that begin to count
  uint64_t version_count = 0;       // in those pages
  uint64_t byte_count = 0;
  std::optional<uint64_t> superseded_family;  // its segments stop counting
  StateRecord state;                          // as of this commit
};

// What an opening found damaged in meta and could do without. The record stays as it is,
// and so does its family: nothing is dropped, nothing made up.
struct DamagedRecord {
  std::string what;        // which record, what is wrong with it, what follows, what to do
  uint64_t family_id = 0;  // of a spill record
  FamilyPtr family;        // its segments are not read; null: a boot record, or no such family
};

// One seal round: what the batch that makes it true contains.
struct SealCommit {
  uint64_t window_id = 0;
  FamilyPtr window;  // of window_id
  WindowSpan span;
  struct Bucket {
    BucketKey key;
    uint64_t seal = 0;  // number of its segment in the window
    Manifest manifest;
  };
  std::vector<Bucket> buckets;
  std::map<uint64_t, uint64_t> sealed_counts;  // versions that they had, by spill family
  std::set<uint64_t> awaited;                  // WindowRecord::awaited
  std::vector<WindowDictionary> dictionaries;  // that the round has written, by number
  uint64_t versions_brought = 0;               // that come from no spill family: salvage
};

// The same for the copy of the catalog.
[[nodiscard]] SealRound RoundOf(const SealCommit& commit);

// Windows made one: what the batch that makes it true contains.
struct WindowMerge {
  uint64_t target_id = 0;
  FamilyPtr target;  // of target_id; new
  WindowSpan span;   // holds those of the sources
  std::vector<std::shared_ptr<const WindowFamily>> sources;
  WindowRecord sums;  // of the manifests under target_id
};

// What became of the rows of a window that is no more.
enum class Ending : uint8_t {
  kExpired,  // their time was over
  kShed,     // they were given up before it was
};

// A window whose column family was dropped.
struct DroppedWindow {
  bool was_merged = false;  // its buckets are in another one
};

// Threads: the journal has its own rules; meta writes may come from any thread; spill
// commits, creation and drops belong to the one maintenance actor.
class Store {
 public:
  // Opens or creates. `report` tells what recovery had to do. kCorruption names a damaged
  // record without which nothing can be read: the state record, a table's.
  [[nodiscard]] static Result<std::unique_ptr<Store>> Open(const StoreConfig& config,
                                                           RecoveryReport* report);

  [[nodiscard]] Journal& journal() { return *journal_; }
  [[nodiscard]] SpillSet& spills() { return spills_; }
  [[nodiscard]] StateRecord state() const;
  [[nodiscard]] const TableRecords& tables_at_open() const { return tables_; }
  // Index 0 is unused; boot numbers are never reused.
  [[nodiscard]] const std::vector<BootRecord>& boots_at_open() const { return boots_; }
  [[nodiscard]] const std::vector<DamagedRecord>& damaged_records() const { return damaged_; }
  // What is known of rows that cannot be read: of readable records' families and of others.
  [[nodiscard]] Damage& damage() { return damage_; }
  // Row versions that no readable record accounts for: those of the damaged ones.
  [[nodiscard]] uint64_t versions_quarantined() const { return versions_quarantined_; }
  [[nodiscard]] const std::string& store_id() const { return db_->opened().store_id; }

  // Synced writes of single records.
  // The next version of a table's declaration; of a table that is new, version 0.
  [[nodiscard]] Status PutTable(uint32_t table_id, uint32_t schema_version,
                                const TableRecord& record);
  [[nodiscard]] Status PutBoot(uint32_t boot, const BootRecord& record);
  // What is known of time from now on. Not while segments are being committed.
  [[nodiscard]] Status PutClock(const ClockRecord& record);

  // A number above every one given before, also after a crash: for rotations and families.
  [[nodiscard]] Result<uint64_t> NextSequence();

  // kNoSpace unless the device has room for operations that write the MANIFEST: they
  // must not fail half way (reliability.md 0.3).
  // kIoError once the directory was renamed, removed or replaced. One call of stat.
  [[nodiscard]] Status CheckPlace() const;
  // Counts the disk budget too.
  [[nodiscard]] Status CheckHeadroom(uint64_t bytes) const;
  // Whether the disk budget, whatever the device has, leaves room for them.
  [[nodiscard]] bool BudgetHasRoomFor(uint64_t bytes) const;
  // The same for rows that come: what the ballast is to take again is not theirs.
  [[nodiscard]] Status CheckRoomForRows(uint64_t bytes) const;
  // Whether it is the disk budget that does not leave rows that room.
  [[nodiscard]] bool BudgetHasRoomForRows(uint64_t bytes) const;
  // The same as CheckHeadroom, but the budget does not stand in its way.
  [[nodiscard]] Status CheckDevice(uint64_t bytes) const;
  // Up to so much CheckHeadroom says OK. UINT64_MAX: there is no budget, and the file system does
  // not tell.
  [[nodiscard]] uint64_t RoomLeft() const;
  // All that the store has on the device, in its blocks, and what is free there; UINT64_MAX: it is
  // not told.
  [[nodiscard]] uint64_t DeviceBytes() const;
  // --- for what gives space back in the end: seals, confirmations, ends of windows. Of the
  // maintenance actor. Where there is no room, and the ballast makes it, the ballast goes but for
  // what the next opening needs; maintenance takes it again once there is plenty. kNoSpace: the
  // ballast would not suffice, and stays.
  [[nodiscard]] Status MakeRoom(uint64_t bytes);        // CheckHeadroom
  [[nodiscard]] Status MakeDeviceRoom(uint64_t bytes);  // CheckDevice
  // CheckHeadroom, for an opening: all of the ballast may go.
  [[nodiscard]] Status MakeRoomToOpen(uint64_t bytes);
  // How much room the others make by the ballast.
  [[nodiscard]] uint64_t ballast_spare_bytes() const;
  [[nodiscard]] Result<FamilyPtr> CreateSpill(uint64_t family_id);
  // Writes the batch, synced. On success the new view is returned but not yet
  // published: the caller does that together with its head.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> CommitSpill(const SpillCommit& commit);
  // The family of a new window.
  [[nodiscard]] Result<FamilyPtr> CreateWindow(uint64_t window_id);
  // Manifests, outbox entries, the window's record and those of the spill families, in one
  // synced batch. As CommitSpill. kCorruption, and nothing was written: the records of the
  // spill families do not allow for it.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> CommitSeal(const SealCommit& commit);
  // Upstream has every row of these seals: their outbox entries go, those of no other seal of
  // the bucket, with what is remembered of their pushes, their manifests keep the proof and their
  // windows count them, in one synced batch. One without an entry (confirmed before, or its window
  // has ended), or whose entry or manifest cannot be read, is passed over. As CommitSpill; null:
  // nothing was left to confirm. Not while windows are being merged. *confirmed, on success: the
  // numbers of those that were not passed over.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> ConfirmSeals(
      std::span<const ProvenSeal> seals, int64_t now_us, std::set<uint64_t>* confirmed);
  // Every segment of the family is sealed: it stops counting. As CommitSpill.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> SupersedeSpill(uint64_t family_id);
  // --- pushes (store_push.cc): what is remembered of seals in the outbox, beside that they wait
  // Remembers it of these seals, in one batch; it is synced when one is parked, as a position that
  // is lost only means that rows are sent again. Window and version count are filled in, words are
  // cut to their limit. A seal that is not in the outbox any more, or whose manifest cannot be
  // read, is passed over. As CommitSpill; null: the view is the same. kTooLarge, and nothing was
  // written: there would be more than limits::kPushRecordsMax, or a position is too long.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> PutPushes(
      std::span<const std::pair<SealName, PushRecord>> pushes);
  // Forgets it, synced: the seals wait as if they had never been pushed. As CommitSpill; null: the
  // view is the same.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> ErasePushes(
      std::span<const uint64_t> seals);
  // By seal, a copy. From any thread; it may be ahead of the view.
  [[nodiscard]] std::map<uint64_t, PushRecord> pushes() const;
  [[nodiscard]] std::optional<PushRecord> push(uint64_t seal) const;
  // Of memory, about, that they take. From any thread.
  [[nodiscard]] uint64_t push_bytes() const;
  // The same of the second copy of the catalog.
  [[nodiscard]] uint64_t catalog_copy_bytes() const {
    return copy_ == nullptr ? 0 : copy_->memory_bytes();
  }
  // One bounded step: looks at some manifests, puts the confirmed seals among them back into the
  // outbox and takes them from what their window counts as confirmed and as proved, and the level
  // of the proof from their manifests, in one synced batch. As CommitSpill; null: there were none.
  // kCorruption, and nothing was written: something cannot be read; a damaged manifest alone is
  // passed over. Not while windows are being merged.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> ResendSome(SealResend* resend);
  // --- the end of a window (store_windows.cc), in this order
  // Its buckets are gone and their row versions counted as such, in one synced batch. As
  // CommitSpill. The window is live.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> EndWindow(uint64_t window_id,
                                                                   Ending ending);
  // Drops the family of a window that has ended: its files go with the last reader. Nothing:
  // there is none.
  [[nodiscard]] Result<std::optional<DroppedWindow>> DropEndedWindow();
  // Whether a window has ended whose family is still there.
  [[nodiscard]] bool HasEndedWindow() const { return !ended_families_.empty(); }
  // The files of a dropped window are still on disk, for a reader's sake.
  [[nodiscard]] bool HoldsDroppedWindow() const;
  // Removes manifests, outbox entries and the record of a window that has ended and is
  // dropped, once no spill family that a reader may look at holds rows of it, and nobody has a
  // view in which it was live. As CommitSpill; null: there is none. Not while a spill family
  // is being rewritten.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> ForgetEndedWindow();
  // --- many windows made one (storage/window_copy.h)
  // The sources are no more and the target has all that they had, in one synced batch. As
  // CommitSpill.
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> CommitMerge(const WindowMerge& merge);
  // Drops a new window that has no record, and what else was written for it.
  [[nodiscard]] Status AbandonWindow(uint64_t window_id, const FamilyPtr& family);
  // Drops a superseded family and its record. Its files go with the last reader.
  [[nodiscard]] Status DropSpill(uint64_t family_id, const FamilyPtr& family);
  // RocksDB's own work has met a damaged file; all writes fail since then, in whatever words.
  [[nodiscard]] bool met_corruption() const { return db_->opened().met_corruption->load(); }
  // Flushes meta, or one unflushed record would pin every log file.
  [[nodiscard]] Status FlushMeta();
  // Bytes that the next flush of meta would write.
  [[nodiscard]] uint64_t MetaMemtableBytes() const;

  // RocksDB's write-ahead logs that are on the disk.
  [[nodiscard]] uint64_t log_file_count() const;
  [[nodiscard]] uint64_t log_bytes_on_disk() const;
  // Flushes meta such that every log goes in which no row of the journal lies.
  [[nodiscard]] Status ReleaseLogs();

  // The space held back for opening on a full disk (storage/ballast.h). kNoSpace, and
  // nothing is held, unless there is plenty.
  [[nodiscard]] bool ballast_held() const;
  [[nodiscard]] Status HoldBallast();

  // The highest journal sequence remembered as acknowledged, beside the database.
  [[nodiscard]] uint64_t beacon_sequence() const { return db_->opened().beacon->sequence(); }
  [[nodiscard]] AckBeacon& beacon() const { return *db_->opened().beacon; }
  // The loss is told: what a damaged ACK left in doubt is decided. Without room it stays.
  [[nodiscard]] Status EndDoubt();
  [[nodiscard]] Status WriteBeacon(uint64_t sequence) {
    return db_->opened().beacon->Write(sequence, db_->opened().fs->SyncedLogEnds());
  }

  // Fills the fields of `metrics` that the store knows.
  void AddMetrics(Metrics* metrics) const;
  [[nodiscard]] const StoreDb& db() const { return *db_; }

 private:
  explicit Store(std::shared_ptr<StoreDb> db) : db_(std::move(db)) {}
  [[nodiscard]] const std::string& directory() const { return db_->opened().config.directory; }
  // store_load.cc:
  struct FoundFamilies;
  [[nodiscard]] Status Load(bool read_only, RecoveryReport* report);
  [[nodiscard]] Status LoadMeta();
  [[nodiscard]] Status Essential(const Status& status, const std::string& prefix = {}) const;
  [[nodiscard]] Status CheckFamilies() const;
  [[nodiscard]] Status LoadRecord(std::string_view key, std::string_view value);
  [[nodiscard]] Status LoadTableRecord(uint32_t table_id, uint32_t schema_version,
                                       std::string_view value);
  [[nodiscard]] Status LoadBootRecord(uint32_t boot, std::string_view value);
  [[nodiscard]] Status LoadSpillRecord(uint64_t family_id, std::string_view value);
  [[nodiscard]] FoundFamilies TakeFamilies();
  [[nodiscard]] Status LoadSpillFamilies(FoundFamilies* found, bool may_drop);
  [[nodiscard]] uint64_t CountAccounted() const;
  void CountQuarantined();
  // Whether a reader may look at the spill family, now or later.
  [[nodiscard]] bool MayBeRead(uint64_t spill_id) const;
  void MoveToEnded(uint64_t window_id, WindowRecord record, SpillView* next);
  // The next view, with other records of some windows.
  [[nodiscard]] std::shared_ptr<SpillView> WithWindows(
      const std::map<uint64_t, WindowRecord>& records);
  void NoteFamilies(const SealCommit& commit, WindowRecord* window) const;
  // Writes the records of windows that await a family which is rewritten as another one.
  void HandOnAwaited(uint64_t from, uint64_t to, rocksdb::WriteBatch* batch,
                     std::map<uint64_t, WindowRecord>* changed) const;
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> Forget(uint64_t window_id);

  // store_push.cc:
  using PushChanges = std::map<uint64_t, std::optional<PushRecord>>;  // by seal; nothing: erased
  struct FoundEntry {
    uint64_t window_id = 0;
    Manifest manifest;
  };
  struct FoundSeal {
    SealName name;
    Manifest manifest;
  };
  [[nodiscard]] Status LoadPushes(bool read_only, RecoveryReport* report);
  [[nodiscard]] Status CheckPush(const SealName& name, const PushRecord& record) const;
  [[nodiscard]] std::map<uint64_t, uint64_t> VersionsParked() const;
  void AddToBatch(const PushChanges& changes, rocksdb::WriteBatch* batch) const;
  // What a batch has made true, here and in the next view.
  void Apply(PushChanges changes, SpillView* next);
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> CommitPushes(PushChanges changes,
                                                                      bool sync);
  // Which window's outbox has the seal, and its manifest.
  [[nodiscard]] Result<std::optional<FoundEntry>> FindEntry(const SealName& name) const;
  [[nodiscard]] Result<std::vector<FoundSeal>> FindConfirmed(SealResend* resend) const;
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> PutBack(const WindowFamily& window,
                                                                 std::span<const FoundSeal> seals);

  // store_damage.cc:
  struct LostFamily;
  void FindDamage(RecoveryReport* report);
  [[nodiscard]] std::optional<LostRotations> FindLostSpill(const SpillView& view, uint64_t id,
                                                           const LostFamily& family,
                                                           std::vector<RotationExtent> where);
  void FindLostDictionaries(const SpillView& view, RecoveryReport* report);
  [[nodiscard]] LostRotations FindLostSeals(const std::shared_ptr<const SpillView>& view,
                                            uint64_t id, const LostFamily& family);
  void NoteDamage(const std::string& what, RecoveryReport* report);

  [[nodiscard]] Status LoadWindows(FoundFamilies* found, bool may_drop, SpillView* view);
  [[nodiscard]] uint64_t BallastMissingBytes() const;
  // store_copy.cc: writes of meta, and of the copy of the catalog before. `change` is what the
  // batch does not tell of it.
  // Whether what the database does not count may be dropped.
  [[nodiscard]] Result<bool> OpenCopy();
  [[nodiscard]] std::map<std::string, std::string> RecordsToCopy(
      const std::map<std::string, std::string>& was);
  void AddSealsToCopy(uint64_t window_id, const WindowRecord& record,
                      const std::map<std::string, std::string>& was, bool lacks_versions,
                      std::map<std::string, std::string>* records) const;
  [[nodiscard]] Status CheckAgainstCopy();
  // kCorruption: the MANIFEST does not list files that count (store_listing.cc). `is_ahead`: the
  // copy counts more than the database.
  [[nodiscard]] Status CheckListed(const CatalogContent& copy, bool is_ahead) const;
  // store_cut.cc: what the log has lost, taken back from the copy. In memory, and in `batch` for
  // the database.
  // The copy's; nothing: it has none, or the database is ahead of it.
  [[nodiscard]] std::optional<StateRecord> StateInCopy(const CatalogContent& copy) const;
  [[nodiscard]] bool IsCopyAhead(const CatalogContent& copy) const;
  // Whether the database has lost changes that the copy knows.
  [[nodiscard]] Result<bool> IsCut(const CatalogContent& copy) const;
  // Whether a record up to `floor` is missing that the database does not call spilled.
  [[nodiscard]] Result<bool> JournalLacks(uint64_t floor) const;
  [[nodiscard]] bool HasWindowsOf(const CatalogContent& copy) const;
  [[nodiscard]] Status TakeBack(const CatalogContent& copy, rocksdb::WriteBatch* batch);
  void TakeBackEnds(const CatalogContent& copy, const StateRecord& told,
                    rocksdb::WriteBatch* batch);
  [[nodiscard]] Status TakeBackDeclarations(const CatalogContent& copy,
                                            rocksdb::WriteBatch* batch);
  void TakeBackNumbers(const StateRecord& told);
  [[nodiscard]] Status TakeBackSpills(const CatalogContent& copy, rocksdb::WriteBatch* batch);
  // Whether the copy has more of the family than the database.
  [[nodiscard]] Result<bool> TakeBackSpill(const std::string& key, const std::string& value,
                                           rocksdb::WriteBatch* batch);
  [[nodiscard]] Status WriteTakenBack(rocksdb::WriteBatch* batch);
  // Counts what logs say of windows; all windows where damaged records were passed over.
  // kCorruption: one counts seals that are not there, and the copy knows them.
  [[nodiscard]] Status RecountWindows(const CatalogContent& copy);
  [[nodiscard]] Status Recount(uint64_t window_id, const CatalogContent& copy,
                               rocksdb::WriteBatch* batch);
  void FlushLoggedMeta();
  // Where nothing is lost.
  [[nodiscard]] Status TakeBackBesideCrash(const CatalogContent& copy);
  // `may_drop`: files that no window needs any more go.
  void KeepEndedSeals(bool may_drop);
  void CopyEndedSeals(uint64_t window_id);
  // Whether a spill family that may be read needs the window's manifests.
  [[nodiscard]] bool HasSourceToRead(const WindowRecord& record) const;
  [[nodiscard]] Status WriteMeta(rocksdb::WriteBatch* batch, bool sync, const char* what,
                                 CatalogChange change = {});
  [[nodiscard]] Status WriteSynced(rocksdb::WriteBatch* batch, const char* what,
                                   CatalogChange change = {});
  [[nodiscard]] Status PutMeta(const std::string& key, const std::string& value, bool sync);

  std::shared_ptr<StoreDb> db_;
  std::unique_ptr<Journal> journal_;
  SpillSet spills_;
  FamilyPtr meta_;
  std::unique_ptr<CatalogCopy> copy_;              // null when read-only
  TableRecords tables_;                            // constant after Open
  std::vector<BootRecord> boots_;                  // constant after Open
  std::vector<DamagedRecord> damaged_;             // constant after Open
  uint64_t versions_quarantined_ = 0;              // constant after Open
  Damage damage_;
  std::map<uint64_t, SpillRecord> spill_records_;  // maintenance only
  std::map<uint64_t, WindowRecord> window_records_;  // maintenance only
  std::map<uint64_t, FamilyPtr> ended_families_;     // of ended windows, to be dropped; the same
  std::map<uint64_t, std::weak_ptr<Family>> held_spills_;  // dropped ones; the same
  std::vector<std::weak_ptr<Family>> held_windows_;        // the same
  // Windows that ended since the store was opened, with the number of the first view that does
  // not have them as live; the same.
  std::map<uint64_t, uint64_t> ended_by_view_;

  mutable std::mutex pushes_mutex_;
  std::map<uint64_t, PushRecord> pushes_;  // by seal; changed by maintenance

  mutable std::mutex state_mutex_;
  StateRecord state_;
  uint64_t next_sequence_ = 1;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_H_
