#include "engine/replicate/push_position.h"

#include "cistern/limits.h"
#include "lib/base/coding.h"

namespace cistern::replicate {

namespace {

constexpr size_t kUpstreamIdBytesMax = 40;  // a UUID in text has 36

}  // namespace

bool HasPassed(const PushPosition& position, const PushPosition& end) {
  if (position.range_delete < end.range_delete) return false;
  if (position.page != end.page) return position.page > end.page;
  return position.pass == end.pass && position.row >= end.row;
}

std::string EncodePushPosition(const NotedPosition& noted) {
  const PushPosition& position = noted.position;
  std::string out;
  PutVarint(&out, position.range_delete);
  PutVarint(&out, position.page);
  out.push_back(static_cast<char>(position.pass));
  PutVarint(&out, position.judged_s);
  PutVarint(&out, position.row);
  PutVarint(&out, noted.upstream_id.size());
  out += noted.upstream_id;
  return out;
}

Result<NotedPosition> DecodePushPosition(std::string_view bytes) {
  ByteReader reader(bytes, "push position");
  NotedPosition noted;
  PushPosition& position = noted.position;
  position.range_delete =
      static_cast<uint32_t>(reader.ReadCount("range delete", limits::kBucketRangeDeletesMax));
  position.page = static_cast<uint32_t>(reader.ReadCount("page", limits::kSegmentPagesMax));
  const uint8_t pass = reader.ReadU8("pass");
  if (pass > static_cast<uint8_t>(PushPass::kRows)) reader.Fail("pass", "is none of 0 to 2");
  position.pass = static_cast<PushPass>(pass);
  position.judged_s = static_cast<uint32_t>(reader.ReadCount("judged second", UINT32_MAX));
  position.row = static_cast<uint32_t>(reader.ReadCount("row", limits::kPageRowsMax));
  noted.upstream_id =
      reader.ReadBytes("upstream id", reader.ReadCount("upstream id", kUpstreamIdBytesMax));
  if (reader.ok() && reader.remaining() > 0) reader.Fail("upstream id", "has bytes behind it");
  CISTERN_RETURN_IF_ERROR(reader.status());
  return noted;
}

}  // namespace cistern::replicate
