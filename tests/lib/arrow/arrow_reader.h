// A reader of Arrow's structures that knows nothing of how they were made: values as texts, by the
// letters of their format, with offsets and bitmaps. And owners that release what tests have.
#ifndef CISTERN_TESTS_LIB_ARROW_ARROW_READER_H_
#define CISTERN_TESTS_LIB_ARROW_ARROW_READER_H_

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/arrow.h"
#include "tests/support/hex.h"

namespace cistern::arrow_test {

// Releases at its end what was not released or moved away.
template <typename Node>
struct Owned : Node {
  Owned() : Node{} {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (this->release != nullptr) this->release(this);
  }
};

// Moves one as consumers do: its bytes go, and the source counts as released.
template <typename Node>
void MoveTo(Node* source, Node* target) {
  std::memcpy(target, source, sizeof(Node));
  source->release = nullptr;
}

inline std::map<std::string, std::string> MetadataOf(const ArrowSchema& schema) {
  std::map<std::string, std::string> out;
  const char* at = schema.metadata;
  if (at == nullptr) return out;
  const auto number = [&at] {
    int32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    return value;
  };
  const auto text = [&] {
    const int32_t length = number();
    at += length;
    return std::string(at - length, static_cast<size_t>(length));
  };
  for (int32_t left = number(); left > 0; --left) {
    std::string key = text();
    out[std::move(key)] = text();
  }
  return out;
}

template <typename T>
T At(const ArrowArray& array, int buffer, int64_t i) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(array.buffers[buffer]) + i * int64_t{sizeof(T)},
              sizeof(T));
  return value;
}

inline bool BitAt(const void* bits, int64_t i) {
  return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

inline std::string BytesOf(const ArrowArray& array, int64_t i) {
  const auto begin = At<int32_t>(array, 1, i);
  const auto end = At<int32_t>(array, 1, i + 1);
  return {static_cast<const char*>(array.buffers[2]) + begin, static_cast<size_t>(end - begin)};
}

std::string ValueOf(const ArrowSchema& schema, const ArrowArray& array, int64_t row);

// "[1, 2]" of the elements that belong to a list or map.
inline std::string ElementsOf(const ArrowSchema& schema, const ArrowArray& array, int64_t i) {
  std::string out = "[";
  for (auto e = At<int32_t>(array, 1, i); e < At<int32_t>(array, 1, i + 1); ++e) {
    out += out.size() > 1 ? ", " : "";
    out += ValueOf(*schema.children[0], *array.children[0], e);
  }
  return out + "]";
}

// Of a struct: "{name: value, ...}".
inline std::string FieldsOf(const ArrowSchema& schema, const ArrowArray& array, int64_t i) {
  std::string out = "{";
  for (int64_t c = 0; c < array.n_children; ++c) {
    out += c > 0 ? ", " : "";
    out += schema.children[c]->name + std::string(": ");
    out += ValueOf(*schema.children[c], *array.children[c], i);
  }
  return out + "}";
}

// Value `row` of the array: numbers as digits, reals as their bits in hex, binary in hex.
inline std::string ValueOf(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  const int64_t i = array.offset + row;
  if (array.buffers[0] != nullptr && !BitAt(array.buffers[0], i)) return "null";
  const std::string_view format = schema.format;
  if (format == "b") return BitAt(array.buffers[1], i) ? "true" : "false";
  if (format == "c") return std::to_string(At<int8_t>(array, 1, i));
  if (format == "s") return std::to_string(At<int16_t>(array, 1, i));
  if (format == "i" || format == "tdD") return std::to_string(At<int32_t>(array, 1, i));
  if (format == "l" || format == "tsm:UTC" || format == "ttn") {
    return std::to_string(At<int64_t>(array, 1, i));
  }
  if (format == "f") return std::to_string(std::bit_cast<int32_t>(At<float>(array, 1, i)));
  if (format == "g") return std::to_string(std::bit_cast<int64_t>(At<double>(array, 1, i)));
  if (format == "u") return BytesOf(array, i);
  if (format == "z") return testing::ToHex(BytesOf(array, i));
  if (format == "w:16") {
    return testing::ToHex({static_cast<const char*>(array.buffers[1]) + 16 * i, 16});
  }
  if (format == "+l" || format == "+m") return ElementsOf(schema, array, i);
  if (format == "+s") return FieldsOf(schema, array, i);
  return "no such format: " + std::string(format);
}

inline std::vector<std::string> ValuesOf(const ArrowSchema& schema, const ArrowArray& array) {
  std::vector<std::string> out;
  for (int64_t row = 0; row < array.length; ++row) out.push_back(ValueOf(schema, array, row));
  return out;
}

}  // namespace cistern::arrow_test

#endif  // CISTERN_TESTS_LIB_ARROW_ARROW_READER_H_
