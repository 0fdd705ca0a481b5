#include "engine/seal/sealer.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/meta_merge.h"
#include "storage/rocksdb_options.h"
#include "storage/seal_reader.h"
#include "storage/window_dictionaries.h"

namespace cistern {

namespace {

constexpr size_t kStepBytes = 128 * 1024;          // encoded, after which a step ends
constexpr size_t kStepPages = 32;                  // the same
constexpr size_t kStepChecks = 64;                 // pages read back in a step
// Beside the pages: a family, the log, and some records of the round.
constexpr uint64_t kHeadroomBytes = 2ull << 20;
constexpr uint64_t kRecordsIncludedBytes = 512ull << 10;
constexpr uint64_t kRoundBytesMin = 1ull << 20;        // of what is sealed: spilled pages
constexpr uint64_t kShortRoundBytesMin = 128ull << 10;  // the same, where room is short
constexpr uint64_t kEnoughBytes = 1ull << 30;           // with room for so much nothing is cut
constexpr uint64_t kMemtableBytesMax = 8ull << 20;  // what a flush may still have to write
constexpr uint64_t kRecordBytes = 64 * 1024;       // of the log, to drop a window

// What a round leaves beside its files: its end flushes meta, which RocksDB may merge then.
uint64_t HeadroomBytes(Store& store) {
  return kHeadroomBytes + MergeBytesBehindFlush(store);
}

// What a round may need of its files, and once more while RocksDB merges them.
uint64_t FilesOf(uint64_t round_bytes) { return 2 * round_bytes; }

// A round whose pages and headers fit the memtable is one file, and mostly they do. Several have
// their keys between one another's, and RocksDB would merge them: all of it written twice.
uint64_t RoundBytesFor(const StoreDb& db) {
  return std::max<uint64_t>(SpillBufferBytes(db.opened().config) / 4 * 3, kRoundBytesMin);
}

SequenceIntervals RotationsOf(const std::vector<SegmentRef>& segments) {
  std::vector<uint64_t> rotations;
  rotations.reserve(segments.size());
  for (const SegmentRef& s : segments) rotations.push_back(RotationOf(s.id));
  return IntervalsOf(std::move(rotations));
}

}  // namespace

void Sealer::ChargeWindows() {
  const auto view = store_->spills().view();
  const bool have_dictionaries =
      std::any_of(view->windows.begin(), view->windows.end(),
                  [](const auto& w) { return !w->record.dictionaries.empty(); });
  charge_.Set(view->windows.size() * limits::kWindowFamilyBytes +
              (have_dictionaries ? DictionaryCache::kBytesMax : 0));
}

// The round takes its number before it looks: what is spilled from here on has a higher one
// and is not sealed by it.
Status Sealer::Begin(const SealScope& scope, int64_t now_us) {
  CISTERN_CHECK(idle());
  scope_ = scope;
  began_s_ = now_us / 1'000'000;
  why_given_up_ = Status::Ok();
  is_through_ = !boots_->complete();  // rows wait for their time
  if (is_through_) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(DropWrittenSpare());
  CISTERN_ASSIGN_OR_RETURN(round_, store_->NextSequence());
  planner_.Begin(scope, now_us, SizeOfRound());
  phase_ = Phase::kPlan;
  return Status::Ok();
}

RoundSize Sealer::SizeOfRound() {
  const uint64_t room = store_->RoomLeft();
  const uint64_t most = room + std::min(store_->ballast_spare_bytes(), UINT64_MAX - room);
  RoundSize size;
  size.bucket_bytes_max = BytesIn(room);
  size.run_bytes_max = BytesIn(most);
  size.bytes = std::min(RoundBytesFor(store_->db()), size.bucket_bytes_max);
  // The ballast goes for a small round, and for a run that cannot be less.
  if (size.bytes < kShortRoundBytesMin) {
    size.bytes = std::min(kShortRoundBytesMin, size.run_bytes_max);
  }
  size.record_bytes_max = kRecordsIncludedBytes + (room - std::min(room, RoomFor(size.bytes, 0)));
  return size;
}

// What a round of so many spilled bytes asks for, that writes so much of records.
uint64_t Sealer::RoomFor(uint64_t round_bytes, uint64_t record_bytes) {
  return HeadroomBytes(*store_) + room_.Ask(FilesOf(round_bytes), began_s_) +
         (record_bytes - std::min(record_bytes, kRecordsIncludedBytes));
}

// The largest round, but for its records, that the room suffices for.
uint64_t Sealer::BytesIn(uint64_t room_bytes) {
  uint64_t bytes = 0;
  for (uint64_t more = kEnoughBytes; more > 0; more /= 2) {
    if (RoomFor(bytes + more, 0) <= room_bytes) bytes += more;
  }
  return bytes < kEnoughBytes ? bytes : UINT64_MAX;
}

Status Sealer::Plan() {
  const Result<bool> more = planner_.Step();
  if (!more.ok()) {
    if (!IsDamage(more.status())) return more.status();
    is_through_ = true;  // it would meet the same again
    return GiveUp(more.status());
  }
  if (*more) return Status::Ok();
  plan_ = planner_.TakePlan();
  if (!plan_.candidates.empty()) return BeginWriting();
  if (const uint64_t bytes = passed_over_bytes(); bytes != 0) {
    Status room = store_->CheckHeadroom(RoomFor(bytes, 0));
    return GiveUp(!room.ok() ? std::move(room)
                             : Status::NoSpace(Concat({"there was no room to seal ", bytes,
                                                       " bytes of a bucket"})));
  }
  is_through_ = true;
  said_full_ = false;
  trouble_ = Status::Ok();
  phase_ = Phase::kIdle;
  return Status::Ok();
}

Status Sealer::BeginWriting() {
  Status room = store_->MakeRoom(RoomFor(plan_.byte_count, plan_.record_bytes));
  if (!room.ok()) return GiveUp(std::move(room));
  written_.clear();
  next_check_ = 0;
  span_ = plan_.span;
  window_ = plan_.window;
  window_is_new_ = window_ == nullptr;
  if (window_is_new_ && spare_ != nullptr) {
    window_ = std::exchange(spare_, nullptr);
  } else if (window_is_new_) {
    CISTERN_ASSIGN_OR_RETURN(const uint64_t id, store_->NextSequence());
    CISTERN_ASSIGN_OR_RETURN(FamilyPtr family, store_->CreateWindow(id));
    window_ = std::make_shared<const SegmentFamily>(
        SegmentFamily{FamilyKind::kWindow, id, std::move(family)});
  }
  writer_.emplace(FamilyKind::kWindow, window_->family, round_);
  dictionaries_.Begin(store_->spills().view(), window_);
  std::reverse(plan_.candidates.begin(), plan_.candidates.end());
  phase_ = Phase::kWrite;
  return Status::Ok();
}

Status Sealer::Step() {
  switch (phase_) {
    case Phase::kIdle: return Status::Ok();
    case Phase::kPlan: return Plan();
    case Phase::kWrite: return WriteBuckets();
    case Phase::kFlush: return Flush();
    case Phase::kReadBack: return ReadBack();
    case Phase::kCommit: return Commit();
    case Phase::kFlushMeta:
      CISTERN_RETURN_IF_ERROR(store_->FlushMeta());
      phase_ = Phase::kIdle;
      return Status::Ok();
  }
  return Status::Internal("sealer: unknown phase");
}

// Others have written since the round began: without room it ends before RocksDB meets the
// full disk itself.
Status Sealer::Flush() {
  const uint64_t left = std::min(writer_->byte_count(), kMemtableBytesMax);
  if (Status room = store_->MakeRoom(HeadroomBytes(*store_) + left); !room.ok()) {
    // What it has written into a window that was there stays until that one ends.
    if (!window_is_new_) room_.NoteGivenUp(began_s_);
    return GiveUp(std::move(room));
  }
  phase_ = Phase::kReadBack;
  return writer_->Flush();
}

// Nothing was committed, so nothing has changed. A window that was made for the round waits
// for the next one that needs one. Returns why, or what went wrong on top of it.
Status Sealer::GiveUp(Status why) {
  // Of a full disk it is said once, and not each minute, until nothing waits for room any more.
  const bool is_said = why.code() == StatusCode::kNoSpace && std::exchange(said_full_, true);
  if (!is_said) {
    store_->db().opened().info_log->Write(LogLevel::kError,
                                          "a seal round was given up: " + why.message());
  }
  if (window_is_new_ && window_ != nullptr) {
    spare_ = window_;
    spare_is_written_ = writer_ && writer_->byte_count() > 0;
  }
  planner_.Abandon();
  EndBucket();
  check_.reset();
  EndRound(Phase::kIdle);
  why_given_up_ = why;
  trouble_ = why;
  CISTERN_RETURN_IF_ERROR(DropWrittenSpare());
  return why;
}

void Sealer::EndBucket() {
  at_hand_.reset();
  at_hand_charge_.Set(0);
}

void Sealer::EndRound(Phase next) {
  plan_ = RoundPlan{};
  written_.clear();
  writer_.reset();
  dictionaries_.End();
  window_.reset();
  phase_ = next;
}

// Pages of a round that came to nothing take room that nobody counts.
Status Sealer::DropWrittenSpare() {
  if (spare_ == nullptr || !spare_is_written_) return Status::Ok();
  if (!store_->CheckHeadroom(kRecordBytes).ok()) return Status::Ok();
  const std::shared_ptr<const SegmentFamily> dropped = std::exchange(spare_, nullptr);
  return store_->AbandonWindow(dropped->id, dropped->family);
}

Status Sealer::WriteBuckets() {
  const uint64_t enough = writer_->byte_count() + kStepBytes;
  for (size_t n = 0; n < kStepPages && writer_->byte_count() < enough; ++n) {
    if (!at_hand_ && plan_.candidates.empty()) break;
    if (!at_hand_) BeginBucket();
    const Result<bool> more = at_hand_->Step();
    if (!more.ok()) {
      CISTERN_RETURN_IF_ERROR(LeaveOut(at_hand_->bucket().key, more.status()));
      writer_->Abandon();
      EndBucket();
    } else if (!*more) {
      written_.push_back({at_hand_->bucket(), at_hand_->versions_read(), amends_, is_piece_,
                          awaited_, at_hand_->repeats()});
      EndBucket();
    } else {
      at_hand_charge_.Set(at_hand_->MemoryBytes());
    }
  }
  if (at_hand_ || !plan_.candidates.empty()) return Status::Ok();
  plan_ = RoundPlan{};
  planner_.ReleasePlan();
  phase_ = Phase::kFlush;
  return Status::Ok();
}

void Sealer::BeginBucket() {
  SealCandidate candidate = std::move(plan_.candidates.back());
  plan_.candidates.pop_back();
  amends_ = candidate.is_sealed;
  is_piece_ = candidate.is_piece;
  const BucketKey key = candidate.key;
  const TablePtr table = tables_->FindById(key.table_id);
  awaited_ = store_->damage().FamiliesThatMayHide(key.table_id, key.start_s, key.start_s);
  std::optional<SequenceIntervals> rotations;
  if (is_piece_ || !awaited_.empty()) rotations = RotationsOf(candidate.segments);
  at_hand_ = std::make_unique<BucketSeal>(table, std::move(candidate.key),
                                          std::move(candidate.segments), boots_->bases(),
                                          &dictionaries_, &*writer_);
  at_hand_->NameRotations(std::move(rotations));
  // Versions of event time are of one age, here and upstream: a repeat changes nothing. Otherwise a
  // repeat is the younger one, and wins upstream over what another writer wrote there in between.
  if (!amends_ || table->schema->timestamps != TimestampMode::kEventTime) return;
  std::vector<DamagedSegment> damaged;
  auto sealed = ListSealed(*store_->spills().view(), key, &damaged);
  if (sealed.ok()) at_hand_->CompareWith(*std::move(sealed));
}

// A damaged bucket stays as it is, and the round goes on without it. Other errors are returned.
Status Sealer::LeaveOut(const BucketKey& key, const Status& why) {
  if (!IsDamage(why)) return why;
  planner_.NoteDamaged(key, why.message());
  store_->db().opened().info_log->Write(LogLevel::kError,
                                        "a bucket was not sealed: " + why.message());
  return Status::Ok();
}

// Both copies of each: pages are read by the first one, and the second is for later.
Status Sealer::CheckDictionaries() const {
  for (const WindowDictionary& d : dictionaries_.written()) {
    CISTERN_ASSIGN_OR_RETURN(const auto first, ReadDictionaryCopy(*window_, d.number, 0));
    CISTERN_ASSIGN_OR_RETURN(const auto second, ReadDictionaryCopy(*window_, d.number, 1));
    if (first->bytes() == second->bytes()) continue;
    return Status::Corruption(Concat({"the copies of dictionary ", d.number, " in ",
        window_->Name(), " differ"}));
  }
  return Status::Ok();
}

Status Sealer::ReadBack() {
  CrashPoint("seal:before_read_back");
  if (next_check_ == 0 && !check_) {
    Status status = CheckDictionaries();
    if (IsDamage(status)) {  // the next round goes without
      dictionaries_.WriteNoMore();
      return GiveUp(std::move(status));
    }
    CISTERN_RETURN_IF_ERROR(status);
  }
  for (size_t n = 0; n < kStepChecks && next_check_ < written_.size(); ++n) {
    const SealCommit::Bucket& bucket = written_[next_check_].bucket;
    const Result<bool> more = CheckPage(bucket);
    if (more.ok() && *more) continue;
    check_.reset();
    if (more.ok()) {
      ++next_check_;
    } else {
      CISTERN_RETURN_IF_ERROR(LeaveOut(bucket.key, more.status()));
      written_.erase(written_.begin() + static_cast<ptrdiff_t>(next_check_));
    }
  }
  if (next_check_ == written_.size()) phase_ = Phase::kCommit;
  return Status::Ok();
}

// Reads one page of the bucket back; false: that was the last.
Result<bool> Sealer::CheckPage(const SealCommit::Bucket& bucket) {
  if (!check_) {
    CISTERN_ASSIGN_OR_RETURN(SegmentRef segment,
                             ReadSealedSegment(window_, bucket.key, bucket.seal));
    check_ = std::make_unique<SealCheck>(tables_->FindById(bucket.key.table_id),
                                         std::move(segment), bucket.manifest,
                                         &dictionaries_.known());
  }
  return check_->Step();
}

SealCommit Sealer::MakeCommit() const {
  SealCommit commit;
  commit.window_id = window_->id;
  commit.window = window_->family;
  commit.span = span_;
  for (const Written& w : written_) {
    commit.buckets.push_back(w.bucket);
    for (const auto& [family, versions] : w.versions_read) {
      commit.sealed_counts[family] += versions;
    }
    commit.awaited.insert(w.awaited.begin(), w.awaited.end());
  }
  commit.dictionaries = dictionaries_.written();
  return commit;
}

Status Sealer::Commit() {
  if (written_.empty()) return GiveUp(Status::Corruption("none of its buckets can be sealed"));
  Result<std::shared_ptr<const SpillView>> view = store_->CommitSeal(MakeCommit());
  if (IsDamage(view.status())) {  // of any of its buckets
    for (const Written& w : written_) {
      planner_.NoteDamaged(w.bucket.key, view.status().message());
    }
    return GiveUp(view.status());
  }
  CISTERN_RETURN_IF_ERROR(view.status());
  {
    const std::unique_lock lock(heads_->mutex);
    store_->spills().Publish(*std::move(view));
  }
  ChargeWindows();
  std::vector<BucketKey> sealed;
  for (const Written& w : written_) {
    if (!w.is_piece) sealed.push_back(w.bucket.key);
    amendments_ += w.amends ? 1 : 0;
    versions_repeated_ += w.repeats;
  }
  planner_.NoteSealed(sealed);
  room_.NoteDone();
  trouble_ = Status::Ok();
  buckets_sealed_ += written_.size();
  bytes_written_ += writer_->byte_count();
  EndRound(Phase::kFlushMeta);
  return Status::Ok();
}

// Behind a round that others took the room of the next ones ask for more, for a day.
std::optional<uint64_t> Sealer::BytesToKeepRoomFor() {
  const uint64_t passed_over = planner_.passed_over_bytes();
  const std::optional<uint64_t> largest = planner_.largest_run_bytes();
  if (passed_over == 0 || !largest) return largest;
  return std::max(*largest, room_.Ask(FilesOf(passed_over), began_s_) / 2);
}

// A run that was passed over would wait for ever behind the small ones.
uint64_t Sealer::RoomOfLeastRound() {
  const uint64_t least = RoomFor(kShortRoundBytesMin, 0);
  if (passed_over_bytes() == 0) return least;
  const uint64_t run = kHeadroomBytes + room_.Ask(FilesOf(passed_over_bytes()), began_s_);
  return std::max(least, RoomBesideMerge(*store_, run));
}

Status Sealer::trouble() const {
  CISTERN_RETURN_IF_ERROR(trouble_);
  const std::vector<std::string> problems = planner_.ProblemsOf({});
  return problems.empty() ? Status::Ok() : Status::Corruption(problems.front());
}

std::vector<std::string> Sealer::ProblemsOf(const SealScope& scope) const {
  std::vector<std::string> problems = planner_.ProblemsOf(scope);
  if (IsThrough(scope) && IsDamage(why_given_up_)) problems.push_back(why_given_up_.message());
  return problems;
}

}  // namespace cistern
