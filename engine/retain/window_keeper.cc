#include "engine/retain/window_keeper.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/retain/window_outlook.h"
#include "lib/base/concat.h"
#include "storage/meta_merge.h"

namespace cistern {

namespace {
constexpr uint64_t kHeadroomBytes = 512 * 1024;  // records, and that of a dropped family
constexpr uint64_t kRecordBytes = 64 * 1024;   // of the log, for the end of a window
constexpr uint64_t kPushKeyBytes = 12;         // of it, for what is remembered of one push
static_assert(limits::kPushRecordsMax * kPushKeyBytes <= kRecordBytes / 4 * 3);
constexpr size_t kEndedMax = 2 * limits::kWindowFamilyCountMax;  // that are remembered
}  // namespace

void WindowKeeper::Publish(std::shared_ptr<const SpillView> view) {
  const std::unique_lock lock(heads_->mutex);
  store_->spills().Publish(std::move(view));
}

std::vector<WindowOutlook> WindowKeeper::Outlooks(const RetentionTime& time) const {
  std::vector<WindowOutlook> out;
  const auto view = store_->spills().view();
  for (const auto& window : WindowsInOrder(*view)) {
    out.push_back(OutlookOf(*window, time, limits_, AwaitsFiles(*view, window->record)));
  }
  return out;
}

std::vector<WindowEnd> WindowKeeper::EndedSince(uint64_t count) const {
  const auto known = static_cast<std::ptrdiff_t>(
      std::min<uint64_t>(ended_count_ - count, ended_.size()));
  return {ended_.end() - known, ended_.end()};
}

// What gives space back must be able to say so in the log, also at the end of the disk.
bool WindowKeeper::HasRoomToEnd() {
  return store_->MakeDeviceRoom(kHeadroomBytes).ok() && store_->MakeRoom(kRecordBytes).ok();
}

Result<bool> WindowKeeper::Step(const RetentionTime& time, uint64_t room_bytes,
                                int64_t monotonic_us) {
  if (store_->HasEndedWindow() && store_->MakeDeviceRoom(kHeadroomBytes).ok()) {
    CISTERN_ASSIGN_OR_RETURN(const auto dropped, store_->DropEndedWindow());
    if (dropped && !dropped->was_merged) ++windows_dropped_;
    if (dropped) return true;
  }
  if (store_->CheckDevice(kHeadroomBytes).ok() && store_->BudgetHasRoomFor(kRecordBytes)) {
    CISTERN_ASSIGN_OR_RETURN(auto view, store_->ForgetEndedWindow());
    if (view != nullptr) {
      Publish(std::move(view));
      return true;
    }
  }
  CISTERN_ASSIGN_OR_RETURN(const bool ended, EndOne(time));
  if (ended) return true;
  return ShedForRoom(time, room_bytes, monotonic_us);
}

Result<bool> WindowKeeper::EndOne(const RetentionTime& time) {
  if (!time.settled) return false;
  const auto current = store_->spills().view();
  for (const auto& window : current->windows) {
    const WindowFate fate = FateOf(window->record, time, limits_);
    if (fate == WindowFate::kStays || AwaitsFiles(*current, window->record)) continue;
    if (!HasRoomToEnd()) return false;
    CISTERN_RETURN_IF_ERROR(End(*window, fate, WhyItEnds(fate)));
    return true;
  }
  return false;
}

// As long as rows would be refused, or the ballast is not back. One at a time: what the last one
// gave back is counted before another one goes, and while a reader holds its files none does, or
// one long scan would cost every window. While RocksDB merges, room is missing that comes back by
// itself. What has expired by a time that is believed, though nobody
// vouches for it, goes before anything that has not. A file system that others have filled costs
// what upstream has, and nothing else, and not faster than something is gained by it.
Result<bool> WindowKeeper::ShedForRoom(const RetentionTime& time, uint64_t room_bytes,
                                       int64_t monotonic_us) {
  if (store_->CheckRoomForRows(room_bytes).ok() || store_->HoldsDroppedWindow()) return false;
  if (IsMerging(*store_)) return false;
  if (!store_->BudgetHasRoomForRows(room_bytes)) {
    CISTERN_ASSIGN_OR_RETURN(const bool ended, EndOne({time.now_s, time.now_s, time.settled}));
    if (ended) return true;
    return ShedNext(limits_.disk_shed, "the disk budget leaves no room");
  }
  const uint64_t device_bytes = store_->DeviceBytes();
  if (limits_.disk_shed == DiskShed::kNothing || !pace_.MayShed(device_bytes, monotonic_us)) {
    return false;
  }
  CISTERN_ASSIGN_OR_RETURN(const bool shed,
                           ShedNext(DiskShed::kConfirmed, "the file system is full"));
  if (shed) pace_.NoteShed(device_bytes, monotonic_us);
  return shed;
}

Result<bool> WindowKeeper::ShedNext(DiskShed shed, std::string_view why) {
  const auto current = store_->spills().view();
  std::vector<std::shared_ptr<const WindowFamily>> windows;
  std::vector<WindowRecord> records;
  // What awaits files goes last.
  for (const bool awaits : {false, true}) {
    for (const auto& window : current->windows) {
      if (AwaitsFiles(*current, window->record) == awaits) windows.push_back(window);
    }
    records.clear();
    for (const auto& window : windows) records.push_back(window->record);
    const std::optional<size_t> next = NextToShed(records, shed);
    if (!next) continue;
    if (!HasRoomToEnd()) return false;
    CISTERN_RETURN_IF_ERROR(End(*windows[*next], WindowFate::kShed, why));
    return true;
  }
  return false;
}

Status WindowKeeper::End(const WindowFamily& window, WindowFate fate, std::string_view why) {
  const bool shed = fate == WindowFate::kShed;
  CISTERN_ASSIGN_OR_RETURN(
      auto view, store_->EndWindow(window.id, shed ? Ending::kShed : Ending::kExpired));
  Publish(std::move(view));
  store_->db().opened().info_log->Write(
      shed ? LogLevel::kWarning : LogLevel::kInfo, Concat({window.Name(), " with ",
          window.record.version_count, " row versions was ", (shed ? "shed: " : "ended: "), why}));
  const WindowOutlook times = OutlookOf(window, {}, limits_, false);
  ended_.push_back({times.window, times.from_s, times.to_s, times.versions, shed,
                    std::string(why)});
  if (ended_.size() > kEndedMax) ended_.pop_front();
  ++ended_count_;
  return Status::Ok();
}

}  // namespace cistern
