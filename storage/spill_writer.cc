#include "storage/spill_writer.h"

#include <algorithm>

#include "cistern/limits.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/row/row_order.h"
#include "lib/segment/dictionary_value.h"
#include "lib/segment/page_statistics.h"
#include "lib/segment/segment_format.h"

namespace cistern {

// Of a segment or a dictionary.
uint64_t SpillWriter::NextNumber() {
  CISTERN_CHECK(next_index_ < (uint64_t{1} << kSegmentIndexBits));
  return (rotation_ << kSegmentIndexBits) | next_index_++;
}

void SpillWriter::Begin(const BucketKey& bucket, const TableSchema* schema, uint32_t schema_version,
                        uint64_t journal_first, uint64_t journal_last) {
  CISTERN_CHECK(schema_ == nullptr);
  bucket_ = bucket;
  schema_ = schema;
  segment_id_ = NextNumber();
  header_ = SegmentHeader{};
  header_.schema_version = schema_version;
  header_.journal_first = journal_first;
  header_.journal_last = journal_last;
}

Status SpillWriter::AddRows(const VersionColumns& rows) {
  for (size_t begin = 0; begin < rows.row_count;) {
    const size_t end = PageEnd(*schema_, rows, begin, limits::kPageRowsMax);
    CISTERN_RETURN_IF_ERROR(AddPage(rows, begin, end));
    begin = end;
  }
  return Status::Ok();
}

Status SpillWriter::AddPage(const VersionColumns& rows, size_t begin, size_t end) {
  if (header_.pages.size() >= limits::kSegmentPagesMax) {
    return Status::TooLarge(Concat({"a segment would have more than ", limits::kSegmentPagesMax,
        " pages"}));
  }
  const std::string page = EncodePage(*schema_, rows, begin, end, &Cache());
  PageInfo info;
  info.row_count = static_cast<uint32_t>(end - begin);
  info.byte_count = static_cast<uint32_t>(page.size());
  info.first_time = EventTime(*schema_, rows, begin);
  info.last_time = EventTime(*schema_, rows, end - 1);
  if (header_.pages.empty()) header_.first_time = info.first_time;
  CISTERN_CHECK(header_.pages.empty() || header_.last_time <= info.first_time);
  header_.last_time = info.last_time;
  header_.row_count += info.row_count;
  if (has_statistics_) AddStatistics(PageStatisticsOf(*schema_, rows, begin, end), &info);
  const auto number = static_cast<uint32_t>(header_.pages.size());
  header_.pages.push_back(info);
  out_.Put(PageKey(segment_id_, number), page);
  byte_count_ += page.size();
  return out_.WriteOut();
}

void SpillWriter::AddStatistics(const std::string& statistics, PageInfo* info) {
  const size_t begin = header_.statistics.size();
  if (statistics.empty() ||
      begin + statistics.size() > segment_format::kStatisticsBytesMax) {
    return;
  }
  info->statistics_begin = static_cast<uint32_t>(begin);
  info->statistics_size = static_cast<uint32_t>(statistics.size());
  header_.statistics += statistics;
}

Result<uint64_t> SpillWriter::AddDictionary(const ZstdDictionary& dictionary) {
  const uint64_t number = NextNumber();
  const std::string value = EncodeDictionary(number, dictionary);
  for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
    out_.Put(DictionaryKey(number, copy), value);
    byte_count_ += value.size();
  }
  CISTERN_RETURN_IF_ERROR(out_.WriteOut());
  return number;
}

Status SpillWriter::End(std::vector<RangeDelete> deletes) {
  if (deletes.size() > limits::kBucketRangeDeletesMax) {
    return Status::TooLarge(Concat({"a segment would have more than ",
        limits::kBucketRangeDeletesMax, " range deletes"}));
  }
  header_.deletes = std::move(deletes);
  std::string bytes;
  PutVarint(&bytes, segment_id_ & kSegmentIndexMask);
  bytes += EncodeSegmentHeader(header_);
  out_.Put(HeaderKey(rotation_, bucket_), bytes);
  byte_count_ += bytes.size();
  extent_.version_count += header_.row_count + header_.deletes.size();
  extent_.table_first = std::min(extent_.table_first, bucket_.table_id);
  extent_.table_last = std::max(extent_.table_last, bucket_.table_id);
  extent_.start_first_s = std::min(extent_.start_first_s, bucket_.start_s);
  extent_.start_last_s = std::max(extent_.start_last_s, bucket_.start_s);
  schema_ = nullptr;
  return out_.WriteOut();
}

Status SpillWriter::Flush() {
  if (next_index_ > 0) out_.Put(ExtentKey(extent_), "");
  return out_.Flush();
}

}  // namespace cistern
