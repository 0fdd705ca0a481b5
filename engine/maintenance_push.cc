// Maintenance: what is made durable of replication, between the steps behind the rows.
#include <mutex>
#include <set>
#include <utility>

#include "engine/maintenance.h"

namespace cistern {

namespace {
constexpr uint64_t kHeadroomBytes = 1 << 20;  // of a batch, and of the flush of meta that follows
constexpr uint64_t kBatchBytes = 256 << 10;   // of the disk budget, for a batch alone
}  // namespace

// What is confirmed can be dropped: without this a full disk would stay full.
Status Maintenance::RoomToNote() {
  CISTERN_RETURN_IF_ERROR(store_->MakeDeviceRoom(kHeadroomBytes));
  return store_->MakeRoom(kBatchBytes);
}

Result<std::set<uint64_t>> Maintenance::Confirm(std::span<const ProvenSeal> seals) {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  if (!clock_->settled()) return Status::Busy("the clock is not trusted yet: confirm later");
  if (!merger_->idle()) return Status::Busy("windows are being merged: confirm later");
  CISTERN_RETURN_IF_ERROR(RoomToNote());
  std::set<uint64_t> confirmed;
  CISTERN_RETURN_IF_ERROR(PublishPushes(store_->ConfirmSeals(seals, now_us(), &confirmed)));
  return confirmed;
}

// A merge takes along what is remembered when it commits.
Status Maintenance::NotePushes(std::span<const std::pair<SealName, PushRecord>> pushes) {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(RoomToNote());
  auto view = store_->PutPushes(pushes);
  if (view.status().code() == StatusCode::kTooLarge) return view.status();
  return PublishPushes(std::move(view));
}

Status Maintenance::ErasePushes(std::span<const uint64_t> seals) {
  if (seals.empty()) return Status::Ok();  // who asks often does not hold up what is sealed
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(RoomToNote());
  return PublishPushes(store_->ErasePushes(seals));
}

Result<bool> Maintenance::Resend(SealResend* resend) {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  if (!merger_->idle()) {
    CISTERN_RETURN_IF_ERROR(StepMerge().status());
    return true;
  }
  CISTERN_RETURN_IF_ERROR(RoomToNote());
  auto view = store_->ResendSome(resend);
  // What cannot be read is no reason to open the store anew.
  if (view.status().code() == StatusCode::kCorruption) return view.status();
  CISTERN_RETURN_IF_ERROR(PublishPushes(std::move(view)));
  return !resend->is_over;
}

// REQUIRES: mutex_.
Status Maintenance::PublishPushes(Result<std::shared_ptr<const SpillView>> view) {
  CISTERN_RETURN_IF_ERROR(Watch(view.status()));
  ChargeRecords();
  heads_->work_came->Soon();  // a window that is confirmed may end
  if (*view == nullptr) return Status::Ok();
  const std::unique_lock lock_heads(heads_->mutex);
  store_->spills().Publish(*std::move(view));
  return Status::Ok();
}

void Maintenance::ChargeRecords() {
  record_charge_.Set(store_->push_bytes() + store_->catalog_copy_bytes());
}

}  // namespace cistern
