#include "lib/base/concat.h"

namespace cistern {

void ConcatPart::AppendTo(std::string* out) const {
  switch (kind_) {
    case kCharacter: out->push_back(static_cast<char>(number_)); break;
    case kSigned: out->append(std::to_string(static_cast<int64_t>(number_))); break;
    case kUnsigned: out->append(std::to_string(number_)); break;
    default: out->append(text_, kind_);
  }
}

std::string Concat(std::initializer_list<ConcatPart> parts) {
  std::string text;
  for (const ConcatPart& part : parts) part.AppendTo(&text);
  return text;
}

}  // namespace cistern
