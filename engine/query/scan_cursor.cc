#include "engine/query/scan_cursor.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/bucketing/bucket_value.h"
#include "engine/query/spare_rows.h"
#include "lib/base/check.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr size_t kAheadBytes = 2 << 20;  // budget that must be left for each bucket read ahead
constexpr size_t kAheadBuckets = 4;      // where the request leaves it open
constexpr int64_t kSlowOpenUs = 250;     // from here on it is worth a hand-over between threads
constexpr size_t kIdentityBytes = 20;    // of a request without conditions, beside its entity
constexpr int kRoomTriesMax = 4;         // while others write, what was freed may be taken again

void FillConstant(const ColumnType& type, const CellValue& value, size_t count, ColumnData* out) {
  out->lane = type.lane();
  for (size_t i = 0; i < count; ++i) {
    out->lane == Lane::kFixed ? out->AppendFixed(value.fixed) : out->AppendBytes(value.bytes);
  }
}

// Piece by piece: no string is moved of a column of numbers.
void SwapCells(ColumnData* a, ColumnData* b) {
  a->fixed.swap(b->fixed);
  a->states.swap(b->states);
  a->offsets.swap(b->offsets);
  if (a->lane == Lane::kBytes || b->lane == Lane::kBytes) a->heap.swap(b->heap);
  std::swap(a->lane, b->lane);
}

// Whether a column is asked for more than once.
bool HasRepeats(const std::vector<size_t>& columns) {
  for (size_t i = 1; i < columns.size(); ++i) {
    const auto end = columns.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(columns.begin(), end, columns[i]) != end) return true;
  }
  return false;
}

// Start of the bucket that holds `ticks`; beyond the table's times, that far out.
int64_t ClampedStart(const Bucketer& bucketer, int64_t ticks) {
  return bucketer.StartOf(std::clamp(ticks, bucketer.min_ticks(), bucketer.max_ticks()));
}

// The table as it is now. Which bucket a row is in is a fact of the table: a scan that shows an
// older declaration finds rows in buckets of the last one.
TablePtr LastOf(const QueryContext& context, const Table& table) {
  TablePtr last = context.tables->FindById(table.id);
  CISTERN_CHECK(last != nullptr);
  return last;
}

}  // namespace

ScanCursor::ScanCursor(const QueryContext* context, ScanShape shape, const ScanRequest& request,
                       std::vector<size_t> columns, uint64_t request_checksum)
    : context_(context),
      shape_(std::move(shape)),
      entity_(request.entity.bytes),
      columns_(std::move(columns)),
      has_repeats_(HasRepeats(columns_)),
      request_checksum_(request_checksum),
      limit_(request.limit),
      batch_rows_max_(std::clamp<size_t>(request.batch_rows_max, 1, limits::kPageRowsMax)),
      opens_ahead_(request.buckets_ahead > 0),
      adapts_(request.buckets_ahead == 0),
      buckets_ahead_(adapts_ ? kAheadBuckets
                             : std::min(request.buckets_ahead, limits::kScanBucketsAheadMax)),
      bucketer_(*LastOf(*context, *shape_.table)->schema),
      walk_(context, shape_.table->id, entity_, shape_.span.descending,
            shape_.table->schema->split_column.has_value(), shape_.WantsFew()),
      pages_(context, shape_.table, &shape_.wanted) {
  const TimeSpan& span = shape_.span;
  const int64_t first = ClampedStart(bucketer_, span.from);
  const int64_t last = ClampedStart(bucketer_, span.unbounded_to ? span.to : span.to - 1);
  next_at_s_ = first_at_s_ = span.descending ? last : first;
  last_at_s_ = span.descending ? first : last;
  pages_.GiveBack(context->spare_rows->Take());
}

ScanCursor::~ScanCursor() {
  for (const auto& group : groups_) group->WaitIdle();
  context_->spare_rows->Give(pages_.TakeSpare());
}

Result<std::vector<CellValue>> ParseEntityKey(const TableSchema& schema, std::string_view bytes) {
  std::vector<CellValue> values;
  values.reserve(schema.entity_columns.size());
  ByteReader in(bytes, "entity key");
  for (const size_t c : schema.entity_columns) {
    const auto high = in.ReadU8("length");
    const auto low = in.ReadU8("length");
    CellValue value;
    const std::string_view part = in.ReadBytes("value", static_cast<size_t>(high) << 8 | low);
    if (!in.ok() || !ParseWireValue(schema.columns[c].type, part, &value).ok()) {
      return Status::InvalidArgument(Concat({"the entity key is not one of table ",
          schema.QualifiedName(), ": make it with EntityFromText"}));
    }
    values.push_back(std::move(value));
  }
  if (in.remaining() != 0) {
    return Status::InvalidArgument(Concat({"the entity key has more columns than table ",
        schema.QualifiedName()}));
  }
  return values;
}

Status ScanCursor::SetEntity() {
  CISTERN_ASSIGN_OR_RETURN(entity_values_, ParseEntityKey(*shape_.table->schema, entity_));
  return Status::Ok();
}

Status ScanCursor::Resume(const ScanToken& token) {
  GroupPosition position;
  position.after = VersionColumns::For(*shape_.table->schema);
  position.split = token.split;
  if (token.request_checksum != request_checksum_ ||
      !DecodeClusteringKey(*shape_.table->schema, token.clustering_key, &position.after)) {
    return Status::InvalidArgument(
        "the scan token belongs to another scan: table, entity, "
        "bounds and conditions must be the same");
  }
  const int64_t time = EventTime(*shape_.table->schema, position.after, 0);
  if (!bucketer_.InRange(time)) return Status::InvalidArgument("the scan token names no row");
  if (limit_ != 0 && token.rows_returned >= limit_) {
    return Status::InvalidArgument(Concat({"the scan token stands behind ", token.rows_returned,
        " rows and the limit is ", limit_, ", which counts all rows of the scan: raise it by the "
        "rows of the next page"}));
  }
  token_ = token;
  has_position_ = true;
  rows_returned_ = token.rows_returned;
  resume_ = std::move(position);
  resume_start_s_ = bucketer_.StartOf(time);
  next_at_s_ = first_at_s_ = resume_start_s_;
  return Status::Ok();
}

bool ScanCursor::Next(ResultBatch* batch) {
  batch->row_count = 0;
  // At the limit the scan stops and does not end: its token leads on.
  if (ended_ || !status_.ok()) return false;
  if (AtLimit()) {
    Conclude();
    return false;
  }
  GroupRows rows;
  int64_t start_s = 0;
  const Result<bool> more = NextRows(&rows, &start_s);
  if (!more.ok()) {
    status_ = more.status();
    return false;
  }
  if (!*more) {
    ended_ = true;
    Conclude();
    return false;
  }
  if (rows.rows.row_count == 0) {
    EmitNone(batch);
    return true;
  }
  // Behind rows that were given, and not before: both may run out of memory.
  ScanToken position = PositionBehind(rows, start_s);
  Emit(std::move(rows), start_s, batch);
  rows_returned_ = position.rows_returned;
  token_ = std::move(position);
  has_position_ = true;
  return true;
}

Result<bool> ScanCursor::NextRows(GroupRows* rows, int64_t* start_s) {
  uint64_t wanted = batch_rows_max_;
  if (limit_ != 0) wanted = std::min<uint64_t>(wanted, limit_ - rows_returned_);
  for (size_t empty = 0;; ++empty) {
    CISTERN_RETURN_IF_ERROR(TopUp());
    if (groups_.empty()) return false;
    CISTERN_RETURN_IF_ERROR(TakeRows(wanted, rows));
    if (adapts_) opens_ahead_ = groups_.front()->open_us() >= kSlowOpenUs;
    NoteGaps(groups_.front()->Gaps());
    *start_s = groups_.front()->start_s();
    if (rows->rows.row_count > 0) break;
    groups_.erase(groups_.begin());
    if (empty + 1 == limits::kEmptyBucketsMax) return true;
  }
  // A prefetched batch may hold more than the limit leaves.
  if (limit_ != 0 && rows->rows.row_count > limit_ - rows_returned_) {
    rows->rows.row_count = limit_ - rows_returned_;
  }
  return true;
}

void ScanCursor::NoteGaps(std::vector<ScanGap> gaps) {
  for (ScanGap& gap : gaps) {
    const bool is_known = std::any_of(gaps_.begin(), gaps_.end(),
                                      [&gap](const ScanGap& g) { return g.what == gap.what; });
    if (!is_known && gaps_.size() < limits::kScanGapsMax) gaps_.push_back(std::move(gap));
  }
}

// Rotations that are lost as a whole and may have held rows of what was read.
void ScanCursor::NoteLostRotations() {
  const auto& all_lost = context_->store->damage().lost_rotations();
  if (all_lost.empty()) return;
  const int64_t end_s = ended_ || !has_position_ ? last_at_s_ : token_.start_s;
  const int64_t first_s = std::min(first_at_s_, end_s);
  const int64_t last_s = std::max(first_at_s_, end_s);
  for (const LostRotations& lost : all_lost) {
    if (!lost.MayHold(shape_.table->id, first_s, last_s)) continue;
    ScanGap gap;
    gap.first_time = shape_.span.from;
    gap.last_time = shape_.span.unbounded_to ? shape_.span.to : shape_.span.to - 1;
    gap.located = false;
    gap.versions = lost.version_count;
    gap.what = lost.what;
    NoteGaps({std::move(gap)});
  }
}

// At the end of the range or of the limit: only a scan that lacks nothing ends OK.
void ScanCursor::Conclude() {
  NoteLostRotations();
  if (gaps_.empty()) return;
  std::string message = "rows are missing from this scan: " + gaps_[0].what;
  if (gaps_.size() == limits::kScanGapsMax) {
    message += "; and in many more places: the first are in Cursor::gaps()";
  } else if (gaps_.size() > 1) {
    message += Concat({"; and in ", gaps_.size() - 1, " more places: Cursor::gaps()"});
  }
  status_ = Status::Corruption(std::move(message));
}

// From the first bucket. Short of memory a scan gives up what it read ahead, then has the
// heads written out, and then reads row by row.
Status ScanCursor::TakeRows(size_t wanted, GroupRows* rows) {
  Status s = groups_.front()->Take(wanted, rows);
  if (s.code() != StatusCode::kOutOfMemory) return s;
  DropAhead();
  s = groups_.front()->Take(wanted, rows);
  for (int tries = 0; s.code() == StatusCode::kOutOfMemory && tries < kRoomTriesMax; ++tries) {
    if (!context_->make_room()) tries = kRoomTriesMax;
    s = groups_.front()->Take(tries == 0 ? wanted : 1, rows);
  }
  return s;
}

// Closes all buckets but the first, and opens no more before their turn.
void ScanCursor::DropAhead() {
  buckets_ahead_ = 1;
  (void)pages_.TakeSpare();
  if (groups_.size() < 2) return;
  next_at_s_ = groups_[1]->start_s();
  all_listed_ = false;
  while (groups_.size() > 1) {
    groups_.back()->WaitIdle();
    groups_.pop_back();
  }
}

// Opens buckets until enough stand ready.
Status ScanCursor::TopUp() {
  const size_t affordable = 1 + context_->budget->left_bytes() / kAheadBytes;
  const size_t ahead =
      context_->read_ahead == nullptr || !opens_ahead_ ? 1 : std::min(buckets_ahead_, affordable);
  while (!all_listed_ && groups_.size() < ahead) {
    const bool down = shape_.span.descending;
    const auto is_past = [&](int64_t at_s) { return down ? at_s < last_at_s_ : at_s > last_at_s_; };
    std::optional<FoundBucket> found;
    if (!is_past(next_at_s_)) {
      CISTERN_ASSIGN_OR_RETURN(found, walk_.Find(next_at_s_));
      // What the new view has no more of is not to be held.
      if (std::exchange(view_, walk_.view()) != walk_.view()) pages_.LetGo();
    }
    if (!found || is_past(found->start_s)) {
      all_listed_ = true;
      break;
    }
    const int64_t start_s = found->start_s;
    next_at_s_ = down ? start_s - 1 : start_s + 1;
    const bool resumes = resume_ && resume_start_s_ == start_s;
    const bool is_ahead = context_->read_ahead != nullptr && !groups_.empty();
    groups_.push_back(std::make_unique<BucketGroup>(context_, &shape_, entity_, *std::move(found),
                                                    resumes ? &*resume_ : nullptr,
                                                    is_ahead ? nullptr : &pages_));
    if (is_ahead) groups_.back()->Prefetch(context_->read_ahead, batch_rows_max_);
  }
  return Status::Ok();
}

ScanToken ScanCursor::PositionBehind(const GroupRows& rows, int64_t start_s) const {
  const size_t last = rows.rows.row_count - 1;
  ScanToken token;
  token.request_checksum = request_checksum_;
  token.rows_returned = rows_returned_ + rows.rows.row_count;
  token.split = rows.splits.empty() ? 0 : rows.splits[last];
  token.start_s = start_s;
  token.clustering_key = EncodeClusteringKey(*shape_.table->schema, rows.rows, last);
  return token;
}

std::string ScanCursor::Token() const {
  if (ended_) return {};
  ScanToken token = token_;
  token.request_checksum = request_checksum_;
  return has_position_ ? EncodeScanToken(token) : std::string();
}

void ScanCursor::EmitNone(ResultBatch* batch) const {
  batch->columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    batch->columns[i].Clear();
    batch->columns[i].lane = shape_.table->schema->columns[columns_[i]].type.lane();
  }
}

void ScanCursor::Emit(GroupRows rows, int64_t start_s, ResultBatch* batch) {
  const TableSchema& schema = *shape_.table->schema;
  const size_t count = rows.rows.row_count;
  batch->row_count = count;
  batch->columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t c = columns_[i];
    ColumnData& out = batch->columns[i];
    out.Clear();
    switch (schema.columns[c].role) {
      case ColumnRole::kEntity: {
        const auto at = std::find(schema.entity_columns.begin(), schema.entity_columns.end(), c);
        FillConstant(schema.columns[c].type,
                     entity_values_[static_cast<size_t>(at - schema.entity_columns.begin())], count,
                     &out);
        break;
      }
      case ColumnRole::kBucket:
        FillConstant(schema.columns[c].type,
                     BucketValue(*LastOf(*context_, *shape_.table)->schema, start_s), count, &out);
        break;
      case ColumnRole::kSplit:
        out.lane = Lane::kFixed;
        for (size_t row = 0; row < count; ++row) {
          out.AppendFixed(rows.splits.empty() ? 0 : rows.splits[row]);
        }
        break;
      default:
        if (has_repeats_) {
          out = rows.rows.columns[c];
        } else {
          SwapCells(&out, &rows.rows.columns[c]);
        }
        out.Truncate(count);
    }
  }
  pages_.GiveBack(std::move(rows.rows));
}

namespace {

Result<std::vector<size_t>> ProjectedColumns(const TableSchema& schema,
                                             const std::vector<std::string>& names) {
  std::vector<size_t> columns;
  columns.reserve(names.empty() ? schema.columns.size() : names.size());
  size_t next = 0;  // names come in the order of the columns, mostly
  for (const std::string& name : names) {
    while (next < schema.columns.size() && schema.columns[next].name != name) ++next;
    const std::optional<size_t> column =
        next < schema.columns.size() ? next : schema.FindColumn(name);
    ++next;
    if (!column) {
      std::string known;
      for (const ColumnSpec& c : schema.columns) known += (known.empty() ? "" : ", ") + c.name;
      return Status::InvalidArgument(Concat({"table ", schema.QualifiedName(), " has no column '",
          name, "'; it has ", known}));
    }
    columns.push_back(*column);
  }
  if (names.empty()) {
    for (size_t c = 0; c < schema.columns.size(); ++c) columns.push_back(c);
  }
  return columns;
}

TimeSpan SpanOf(const ScanRequest& request) {
  TimeSpan span;
  span.descending = request.from > request.to;
  span.from = std::min(request.from, request.to);
  span.to = std::max(request.from, request.to);
  span.unbounded_to = span.to == INT64_MAX;
  return span;
}

}  // namespace

Result<std::unique_ptr<Cursor>> OpenScan(const QueryContext* context, TablePtr table,
                                         const ScanRequest& request) {
  const TableSchema& schema = *table->schema;
  if (request.from == request.to) {
    return Status::InvalidArgument("the scan's bounds are equal: the range is empty");
  }
  ScanShape shape;
  shape.span = SpanOf(request);
  if ((shape.span.from == INT64_MIN || shape.span.unbounded_to) && request.limit == 0) {
    return Status::InvalidArgument("an unbounded scan needs a limit: set from and to, or limit");
  }
  CISTERN_ASSIGN_OR_RETURN(std::vector<size_t> columns, ProjectedColumns(schema, request.columns));
  shape.wanted.assign(schema.columns.size(), false);
  CISTERN_ASSIGN_OR_RETURN(shape.filter, RowFilter::Make(schema, request.where));
  shape.regular.reserve(schema.regular_columns.size());
  for (const size_t c : schema.regular_columns) {
    const bool is_projected = std::find(columns.begin(), columns.end(), c) != columns.end();
    if (!is_projected && !shape.filter.Uses(c)) continue;
    shape.regular.push_back(c);
    shape.wanted[c] = true;
  }
  for (const size_t c : schema.clustering_columns) shape.wanted[c] = true;
  shape.limit = request.limit;
  shape.table = std::move(table);

  std::string identity;
  identity.reserve(kIdentityBytes + request.entity.bytes.size());
  PutLittle<uint32_t>(&identity, shape.table->id);
  PutLittle<int64_t>(&identity, request.from);
  PutLittle<int64_t>(&identity, request.to);
  identity += request.entity.bytes;
  for (const Condition& condition : request.where) {
    identity.push_back(static_cast<char>(condition.comparison));
    for (const std::string* text : {&condition.column, &condition.value}) {
      PutVarint(&identity, text->size());
      identity += *text;
    }
  }
  auto cursor = std::make_unique<ScanCursor>(context, std::move(shape), request, std::move(columns),
                                             Checksum(identity));
  CISTERN_RETURN_IF_ERROR(cursor->SetEntity());
  if (!request.token.empty()) {
    CISTERN_ASSIGN_OR_RETURN(const ScanToken token, DecodeScanToken(request.token));
    CISTERN_RETURN_IF_ERROR(cursor->Resume(token));
  }
  return std::unique_ptr<Cursor>(std::move(cursor));
}

}  // namespace cistern
