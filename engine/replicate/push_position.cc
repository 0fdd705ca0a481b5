#include "engine/replicate/push_position.h"

#include "cistern/limits.h"
#include "lib/base/coding.h"

namespace cistern::replicate {

std::string EncodePushPosition(const PushPosition& position) {
  std::string out;
  PutVarint(&out, position.range_delete);
  PutVarint(&out, position.page);
  out.push_back(static_cast<char>(position.pass));
  PutVarint(&out, position.judged_s);
  PutVarint(&out, position.row);
  return out;
}

Result<PushPosition> DecodePushPosition(std::string_view bytes) {
  ByteReader reader(bytes, "push position");
  PushPosition position;
  position.range_delete =
      static_cast<uint32_t>(reader.ReadCount("range delete", limits::kBucketRangeDeletesMax));
  position.page = static_cast<uint32_t>(reader.ReadCount("page", limits::kSegmentPagesMax));
  const uint8_t pass = reader.ReadU8("pass");
  if (pass > static_cast<uint8_t>(PushPass::kRows)) reader.Fail("pass", "is none of 0 to 2");
  position.pass = static_cast<PushPass>(pass);
  position.judged_s = static_cast<uint32_t>(reader.ReadCount("judged second", UINT32_MAX));
  position.row = static_cast<uint32_t>(reader.ReadCount("row", limits::kPageRowsMax));
  if (reader.ok() && reader.remaining() > 0) reader.Fail("row", "has bytes behind it");
  CISTERN_RETURN_IF_ERROR(reader.status());
  return position;
}

}  // namespace cistern::replicate
