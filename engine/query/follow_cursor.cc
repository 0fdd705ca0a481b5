#include "engine/query/follow_cursor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cistern/limits.h"
#include "engine/query/scan_token.h"
#include "lib/base/entered.h"
#include "lib/base/unwind_guard.h"

namespace cistern {

namespace {

int64_t RealMicros() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

FollowCursor::FollowCursor(ScanFunction scan, std::shared_ptr<RowSignal> signal,
                           ScanRequest request, std::shared_ptr<const TableSchema> schema,
                           std::vector<size_t> columns, bool has_splits, int64_t wait_us)
    : scan_(std::move(scan)),
      signal_(std::move(signal)),
      request_(std::move(request)),
      schema_(std::move(schema)),
      columns_(std::move(columns)),
      has_splits_(has_splits),
      wait_us_(wait_us) {}

// An error is told once: the next call goes on behind the last row.
bool FollowCursor::Next(ResultBatch* batch) {
  bool more = false;
  const Status given = Entered([&] {
    const UnwindGuard half_read([this] { current_.reset(); });
    more = GiveOrWait(batch);
    return Status::Ok();
  });
  if (!given.ok()) status_ = given;
  return given.ok() && more;
}

bool FollowCursor::GiveOrWait(ResultBatch* batch) {
  status_ = Status::Ok();
  batch->row_count = 0;
  const int64_t until_us = RealMicros() + wait_us_;
  while (true) {
    if (TakeBatch(batch)) return true;
    if (!status_.ok()) return false;
    const int64_t left_us = until_us - RealMicros();
    // Every commit wakes everyone: the pause keeps rows of others from making this one scan
    // without end.
    if (left_us <= 0 || !signal_->WaitBeyond(seen_, left_us)) return false;
    const int64_t pause_us = std::min(limits::kFollowPauseUs, until_us - RealMicros());
    if (pause_us > 0) (void)signal_->WaitBeyond(UINT64_MAX, pause_us);
  }
}

std::string FollowCursor::Token() const {
  return GuardedOr(std::string(kNoScanToken), [this] { return request_.token; });
}

// The next rows, none of which was overtaken by a later one.
bool FollowCursor::TakeBatch(ResultBatch* batch) {
  std::string token;
  if (!ReadBatch(batch, &token)) return false;
  while (MayMissRows(token)) {
    current_.reset();
    std::string again;
    if (!ReadBatch(batch, &again)) return false;
    if (again == token) break;
    token = std::move(again);
  }
  if (!token.empty()) request_.token = std::move(token);
  return true;
}

// The next rows of the current scan, or of one that begins where it ended.
bool FollowCursor::ReadBatch(ResultBatch* batch, std::string* token) {
  if (current_ == nullptr) {
    seen_ = signal_->count();
    Result<std::unique_ptr<Cursor>> scan = scan_(request_);
    if (!scan.ok()) {
      status_ = scan.status();
      return false;
    }
    current_ = *std::move(scan);
  }
  if (current_->Next(batch)) {
    *token = current_->Token();
    if (*token != kNoScanToken) return true;
    // Without a place behind them they are read again.
    batch->row_count = 0;
    current_.reset();
    status_ = Status::OutOfMemory();
    return false;
  }
  NoteGaps(*current_);
  current_.reset();
  return false;
}

bool FollowCursor::MayMissRows(const std::string& token) const {
  if (token.empty() || token == request_.token) return false;  // an empty batch
  // The first bucket is another one too: the scan may have begun behind where it begins by now,
  // if the table's widths changed.
  if (has_splits_ || request_.token.empty()) return true;
  const auto before = DecodeScanToken(request_.token);
  const auto now = DecodeScanToken(token);
  return !before.ok() || !now.ok() || before->start_s != now->start_s;
}

// What is lost in the range is found again by every scan of it, and told once.
void FollowCursor::NoteGaps(const Cursor& scan) {
  const bool only_gaps = scan.status().code() == StatusCode::kCorruption && !scan.gaps().empty();
  bool is_new = false;
  for (const ScanGap& gap : scan.gaps()) {
    if (known_gaps_.size() >= limits::kScanGapsMax) break;
    if (known_gaps_.contains(gap.what)) continue;
    gaps_.push_back(gap);
    known_gaps_.insert(gap.what);
    is_new = true;
  }
  if (!only_gaps || is_new) status_ = scan.status();
}

}  // namespace cistern
