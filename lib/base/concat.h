// Concat: a text put together of texts and numbers, out of line. A chain of + on std::string is
// compiled into a call, a temporary and its end for each piece; here a piece is two words of stack.
#ifndef CISTERN_BASE_CONCAT_H_
#define CISTERN_BASE_CONCAT_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cistern {

// One piece of such a text: a text, which must live as long as the piece, a character, or a whole
// number, which is written in decimal.
class ConcatPart {
 public:
  ConcatPart(const char* text) : ConcatPart(std::string_view(text)) {}
  ConcatPart(const std::string& text) : ConcatPart(std::string_view(text)) {}
  ConcatPart(std::string_view text) : text_(text.data()), kind_(text.size()) {}
  // No other number is taken for a character, and none with a fraction for a whole one.
  template <std::same_as<char> T>
  ConcatPart(T character) : number_(static_cast<uint8_t>(character)), kind_(kCharacter) {}
  template <std::signed_integral T>
    requires(!std::same_as<T, char>)
  ConcatPart(T number) : number_(static_cast<uint64_t>(int64_t{number})), kind_(kSigned) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, char>)  // which has no sign on some machines
  ConcatPart(T number) : number_(number), kind_(kUnsigned) {}

  void AppendTo(std::string* out) const;

 private:
  // No text is as long as these are large.
  static constexpr uint64_t kCharacter = UINT64_MAX;
  static constexpr uint64_t kSigned = UINT64_MAX - 1;
  static constexpr uint64_t kUnsigned = UINT64_MAX - 2;
  union {
    const char* text_;
    uint64_t number_;
  };
  uint64_t kind_;  // the bytes of the text, or one of the above
};

// The parts one behind another: Concat({"page ", number, " of ", name, " is damaged"}).
[[gnu::cold]] std::string Concat(std::initializer_list<ConcatPart> parts);

}  // namespace cistern

#endif  // CISTERN_BASE_CONCAT_H_
