#include "lib/base/coding.h"

namespace cistern {

void ByteReader::Fail(const char* field, const char* why) {
  if (!ok()) return;
  status_ = Status::Corruption(std::string(what_) + ": field '" + field + "' at byte " +
                               std::to_string(position_) + " of " + std::to_string(bytes_.size()) +
                               " " + why);
  position_ = bytes_.size();
}

}  // namespace cistern
