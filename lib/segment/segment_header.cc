#include "lib/segment/segment_header.h"

#include <limits>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/segment/segment_format.h"

namespace cistern {
namespace {

using segment_format::kHeaderTag;

constexpr int64_t kTimeMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kTimeMax = std::numeric_limits<int64_t>::max();

// Delete flags; the other bits are zero.
constexpr uint8_t kFromMin = 1;
constexpr uint8_t kToMax = 2;
constexpr uint8_t kHasBoot = 4;
constexpr uint8_t kDeleteFlagsKnown = 7;

// a - b and a + b modulo 2^64.
uint64_t Distance(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}
int64_t Plus(int64_t a, uint64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + b); }
void PutStep(std::string* out, int64_t value, int64_t from) {
  PutSigned(out, static_cast<int64_t>(Distance(value, from)));
}

// Reads a distance that must not lead past `end`; gives start + distance.
int64_t ReadForward(ByteReader* in, const char* field, int64_t start, int64_t end) {
  const uint64_t distance = in->ReadVarint(field);
  if (in->ok() && distance > Distance(end, start)) in->Fail(field, "leads out of its range");
  return in->ok() ? Plus(start, distance) : 0;
}

void PutDelete(std::string* out, const RangeDelete& d, const SegmentHeader& header,
               int64_t previous_write_us) {
  const uint8_t flags = static_cast<uint8_t>((d.from == kTimeMin ? kFromMin : 0) |
                                             (d.to == kTimeMax ? kToMax : 0) |
                                             (d.boot != 0 ? kHasBoot : 0));
  out->push_back(static_cast<char>(flags));
  if ((flags & kFromMin) == 0) PutStep(out, d.from, header.first_time);
  if ((flags & kToMax) == 0) PutVarint(out, Distance(d.to, d.from));
  PutStep(out, d.write_us, previous_write_us);
  if (d.boot != 0) PutVarint(out, d.boot);
}

RangeDelete ReadDelete(ByteReader* in, const SegmentHeader& header, int64_t previous_write_us) {
  RangeDelete d;
  const uint8_t flags = in->ReadU8("delete flags");
  if ((flags & ~kDeleteFlagsKnown) != 0) in->Fail("delete flags", "has unknown bits");
  if ((flags & kFromMin) == 0) {
    d.from = Plus(header.first_time, static_cast<uint64_t>(in->ReadSigned("delete from")));
  }
  if ((flags & kToMax) == 0) d.to = ReadForward(in, "delete to", d.from, kTimeMax);
  d.write_us = Plus(previous_write_us, static_cast<uint64_t>(in->ReadSigned("delete write time")));
  if (flags & kHasBoot) {
    d.boot = static_cast<uint32_t>(
        in->ReadCount("delete boot", std::numeric_limits<uint32_t>::max()));
    if (in->ok() && d.boot == 0) in->Fail("delete boot", "is zero");
  }
  return d;
}

void CheckHeader(const SegmentHeader& h) {
  CISTERN_CHECK(h.journal_first <= h.journal_last);
  CISTERN_CHECK(h.first_time <= h.last_time);
  CISTERN_CHECK(h.pages.size() <= limits::kSegmentPagesMax);
  CISTERN_CHECK(h.deletes.size() <= limits::kBucketRangeDeletesMax);
  uint64_t row_count = 0;
  int64_t previous = h.first_time;
  size_t statistics = 0;
  for (const PageInfo& page : h.pages) {
    CISTERN_CHECK(page.statistics_size == 0 || page.statistics_begin == statistics);
    statistics += page.statistics_size;
    CISTERN_CHECK(page.row_count >= 1 && page.row_count <= limits::kPageRowsMax);
    CISTERN_CHECK(page.byte_count >= 1 && page.byte_count <= limits::kPageBytesMax);
    CISTERN_CHECK(page.first_time >= previous && page.first_time <= page.last_time);
    row_count += page.row_count;
    previous = page.last_time;
  }
  CISTERN_CHECK(previous <= h.last_time);
  CISTERN_CHECK(row_count == h.row_count);
  CISTERN_CHECK(statistics == h.statistics.size());
  CISTERN_CHECK(statistics <= segment_format::kStatisticsBytesMax);
  for (const RangeDelete& d : h.deletes) CISTERN_CHECK(d.from <= d.to);
}

// Nothing at all if no page has any.
void PutStatistics(const SegmentHeader& header, std::string* out) {
  if (header.statistics.empty()) return;
  for (const PageInfo& page : header.pages) PutVarint(out, page.statistics_size);
  out->append(header.statistics);
}

// All that is left. What it says is checked when it is asked for.
void ReadStatistics(ByteReader* in, SegmentHeader* header) {
  size_t size = 0;
  for (PageInfo& page : header->pages) {
    page.statistics_begin = static_cast<uint32_t>(size);
    page.statistics_size = static_cast<uint32_t>(
        in->ReadCount("statistics size", segment_format::kStatisticsBytesMax - size));
    size += page.statistics_size;
    if (page.statistics_size == 0) page.statistics_begin = 0;
  }
  if (in->ok() && size == 0) in->Fail("end", "is not where the fields end");
  header->statistics = in->ReadBytes("statistics", size);
}

}  // namespace

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  CheckHeader(header);
  std::string out;
  out.reserve(40 + header.pages.size() * 14 + header.deletes.size() * 16 +
              header.statistics.size());
  out.push_back(static_cast<char>(kHeaderTag | segment_format::kFormat));
  PutVarint(&out, header.schema_version);
  PutVarint(&out, header.journal_first);
  PutVarint(&out, header.journal_last - header.journal_first);
  PutSigned(&out, header.first_time);
  PutVarint(&out, Distance(header.last_time, header.first_time));
  PutVarint(&out, header.pages.size());
  int64_t previous = header.first_time;
  for (const PageInfo& page : header.pages) {
    PutVarint(&out, page.row_count);
    PutVarint(&out, page.byte_count);
    PutVarint(&out, Distance(page.first_time, previous));
    // How much of what is left the page does not reach: zero for the last page.
    PutVarint(&out, Distance(header.last_time, page.last_time));
    previous = page.last_time;
  }
  PutVarint(&out, header.deletes.size());
  int64_t write_us = 0;
  for (const RangeDelete& d : header.deletes) {
    PutDelete(&out, d, header, write_us);
    write_us = d.write_us;
  }
  PutStatistics(header, &out);
  segment_format::AppendChecksum(&out);
  return out;
}

Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes) {
  CISTERN_ASSIGN_OR_RETURN(
      const std::string_view body,
      segment_format::CheckEnvelope(bytes, kHeaderTag, "segment header"));
  ByteReader in(body, "segment header");
  SegmentHeader h;
  h.schema_version = static_cast<uint32_t>(
      in.ReadCount("schema version", std::numeric_limits<uint32_t>::max()));
  h.journal_first = in.ReadVarint("journal first");
  const uint64_t journal_span = in.ReadCount(
      "journal span", std::numeric_limits<uint64_t>::max() - h.journal_first);
  h.journal_last = h.journal_first + journal_span;
  h.first_time = in.ReadSigned("first time");
  h.last_time = ReadForward(&in, "time span", h.first_time, kTimeMax);
  const size_t page_count = in.ReadCount("page count", limits::kSegmentPagesMax);
  // A page takes at least 4 bytes here, a delete 2: no count can make us allocate more
  // than a small multiple of what was read.
  if (page_count > in.remaining() / 4) in.Fail("page count", "is more than the bytes can hold");
  if (!in.ok()) return in.status();
  h.pages.reserve(page_count);
  int64_t previous = h.first_time;
  for (size_t i = 0; i < page_count && in.ok(); ++i) {
    PageInfo page;
    page.row_count = static_cast<uint32_t>(in.ReadCount("page rows", limits::kPageRowsMax));
    page.byte_count = static_cast<uint32_t>(in.ReadCount("page bytes", limits::kPageBytesMax));
    if (in.ok() && page.row_count == 0) in.Fail("page rows", "is zero");
    if (in.ok() && page.byte_count == 0) in.Fail("page bytes", "is zero");
    page.first_time = ReadForward(&in, "page first time", previous, h.last_time);
    const uint64_t rest = in.ReadVarint("page time rest");
    if (in.ok() && rest > Distance(h.last_time, page.first_time)) {
      in.Fail("page time rest", "leads out of its range");
    }
    page.last_time = Plus(h.last_time, ~rest + 1);
    previous = page.last_time;
    h.row_count += page.row_count;
    h.pages.push_back(page);
  }
  const size_t delete_count = in.ReadCount("delete count", limits::kBucketRangeDeletesMax);
  if (delete_count > in.remaining() / 2) {
    in.Fail("delete count", "is more than the bytes can hold");
  }
  if (!in.ok()) return in.status();
  h.deletes.reserve(delete_count);
  int64_t write_us = 0;
  for (size_t i = 0; i < delete_count && in.ok(); ++i) {
    h.deletes.push_back(ReadDelete(&in, h, write_us));
    write_us = h.deletes.back().write_us;
  }
  if (in.ok() && in.remaining() != 0) ReadStatistics(&in, &h);
  if (in.ok() && in.remaining() != 0) in.Fail("end", "is not where the fields end");
  if (!in.ok()) return in.status();
  return h;
}

}  // namespace cistern
