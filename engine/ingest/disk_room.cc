// Committer: how much of the disk rows may take, and what they leave to what gives it back.
#include <algorithm>
#include <utility>

#include "engine/ingest/committer.h"
#include "storage/meta_merge.h"

namespace cistern {

namespace {
constexpr uint64_t kStepBytes = 512 * 1024;        // journal between questions to the disk
constexpr uint64_t kForRotationBytes = 3ull << 20;  // besides the segments' own bytes
// What the smallest seal round asks for, and a rotation that stands before it.
constexpr uint64_t kForSealBytes = (2ull << 20) + (256ull << 10);
// Windows are shed while less than this is left. No ballast is larger.
constexpr uint64_t kSoughtBytesMin = 8ull << 20;
constexpr int64_t kRefusalTellUs = 1'000'000;
constexpr int64_t kRefusalHoldsUs = 60'000'000;  // then whoever was refused has gone
}  // namespace

// The disk is the budget, or what the device has for the store where that is less: what is there of
// it and what is free. So a device without a budget is as safe as one with a budget.
// REQUIRES: the leader's lock, or nobody else.
void Committer::LookAtDisk() {
  disk_bytes_ = std::min(limits_.disk_bytes, store_->DeviceBytes());
}

uint64_t Committer::PieceBytes() const {
  return std::min<uint64_t>(limits_.generation_bytes(), disk_bytes_ / HeadLimits::kPiecesOfDisk);
}

uint64_t Committer::FrozenJournalBytes() const {
  return store_->journal().has_frozen() ? frozen_.journal_bytes : 0;
}

// A run is of one family, and of no more than one generation.
uint64_t Committer::SpilledRunBytes() const {
  const auto view = store_->spills().view();
  if (seal_bytes_ && !view->families.empty()) return *seal_bytes_;
  uint64_t bytes = 0;
  for (const auto& family : view->families) bytes = std::max(bytes, family->record.byte_count);
  return std::min<uint64_t>(bytes, limits_.generation_bytes());
}

// A seal needs twice what it seals. Never more than half of the disk: a small one takes rows too.
uint64_t Committer::SealReserveBytes(uint64_t run_bytes) const {
  const uint64_t bytes = std::max({PieceBytes(), run_bytes, FrozenJournalBytes()});
  return std::min(2 * bytes, disk_bytes_ / 2);
}

// What the device must keep free so that everything in the head can become segments, and what is
// spilled can be sealed, so twice: a disk that is full of rows would else never be empty again.
uint64_t Committer::RotationBytes() const {
  const uint64_t active_bytes =
      heads_->active->version_count() == 0 ? 0 : store_->journal().active_bytes();
  return kForRotationBytes + SealReserveBytes(SpilledRunBytes()) + 2 * active_bytes +
         FrozenJournalBytes() + MetaMergeBytes(*store_);
}

void Committer::KeepRoomToSeal(std::optional<uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  seal_bytes_ = bytes;
}

// A head of less than a step is not rotated for a refusal, and rows are asked for one step more
// than they need. A run that may be large, as no look has told, keeps rows out until one has: a
// window that is shed does not come back.
uint64_t Committer::RoomSought() {
  const std::lock_guard lock(mutex_);
  LookAtDisk();
  const bool has_gone =
      !refused_at_us_ || clock_->monotonic_us() - *refused_at_us_ > kRefusalHoldsUs;
  if (refused_bytes_ > 0 &&
      (has_gone ||
       store_->CheckRoomForRows(refused_bytes_ + kStepBytes + RotationBytes()).ok())) {
    refused_bytes_ = 0;
  }
  const uint64_t run_bytes = seal_bytes_ ? SpilledRunBytes() : 0;
  return std::max(kSoughtBytesMin, kForRotationBytes + SealReserveBytes(run_bytes) +
                                       MetaMergeBytes(*store_) + 4 * kStepBytes + refused_bytes_);
}

bool Committer::HeadIsLargeForDisk() {
  const std::lock_guard lock(mutex_);
  const bool was_refused = std::exchange(was_refused_room_, false);
  return store_->journal().active_bytes() >= (was_refused ? kStepBytes : PieceBytes());
}

// Rows are refused while there is still room to rotate, so that RocksDB never meets the
// full disk itself: nothing is written then, and nothing has failed.
Status Committer::TakeDiskRoom(const std::vector<WriteUnit*>& units, size_t bytes) {
  const uint64_t needed = 2 * uint64_t{bytes} + 4 * 1024;  // coded rows, the log's framing
  if (needed <= disk_room_bytes_) {
    disk_room_bytes_ -= needed;
    return Status::Ok();
  }
  disk_room_bytes_ = 0;
  const bool has_rows =
      std::any_of(units.begin(), units.end(), [](const WriteUnit* u) { return u->batch; });
  if (!has_rows) return RoomForDeletes(needed);
  CISTERN_RETURN_IF_ERROR(RoomForRows(needed));
  refused_bytes_ = 0;
  disk_room_bytes_ = kStepBytes;
  return Status::Ok();
}

Status Committer::RoomForRows(uint64_t bytes) {
  LookAtDisk();
  const Status room = store_->CheckRoomForRows(bytes + kStepBytes + RotationBytes());
  if (!room.ok()) {
    was_refused_room_ = true;
    NoteRefusal(bytes);
  }
  return room;
}

// Deletes may use the room that is kept for rotation: they are how space comes back. What a seal
// needs they leave, of the ballast or beside it.
Status Committer::RoomForDeletes(uint64_t bytes) {
  const uint64_t left = kForSealBytes + FrozenJournalBytes() + MetaMergeBytes(*store_);
  const Status room = store_->CheckHeadroom(
      bytes + left - std::min(left, store_->ballast_spare_bytes()));
  if (!room.ok()) NoteRefusal(0);
  return room;
}

// Segments may give room back. Who is refused a thousand times a second wakes maintenance once. No
// windows are shed for a batch that a quarter of the disk does not suffice for.
void Committer::NoteRefusal(uint64_t bytes) {
  refused_bytes_ = std::max(refused_bytes_, std::min(bytes, disk_bytes_ / 4));
  const int64_t now_us = clock_->monotonic_us();
  if (refused_at_us_ && now_us - *refused_at_us_ < kRefusalTellUs) return;
  refused_at_us_ = now_us;
  heads_->work_came->Soon();
}

Status Committer::AcceptsRows() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(failure());
  return RoomForRows(kStepBytes);
}

}  // namespace cistern
