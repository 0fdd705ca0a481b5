#include "lib/cql/collection_text.h"

#include <algorithm>
#include <cstdint>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

// Types whose literals stand in quotes inside a collection.
bool IsQuoted(CqlType kind) {
  return kind == CqlType::kText || kind == CqlType::kAscii || kind == CqlType::kTimestamp ||
         kind == CqlType::kDate || kind == CqlType::kTime || kind == CqlType::kInet;
}

// Recursive by the type, whose depth the schema bounds.
class CollectionReader {
 public:
  explicit CollectionReader(std::string_view text) : text_(text) {}

  Status Read(const ColumnType& type, std::string* out) {
    CISTERN_RETURN_IF_ERROR(ReadCollection(type, out));
    SkipSpace();
    return position_ == text_.size() ? Status::Ok() : Expected("the end of the literal");
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t'))
      ++position_;
  }
  bool Take(char c) {
    SkipSpace();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  [[nodiscard]] Status Expected(const std::string& what) const {
    const std::string got =
        position_ < text_.size() ? ShowText(text_.substr(position_)) : std::string("the end");
    return Status::InvalidArgument(Concat({"expected ", what, " at character ", position_ + 1,
        " of the literal, got ", got}));
  }

  Status ReadCollection(const ColumnType& type, std::string* out) {
    const bool list = type.kind == CqlType::kList;
    const char open = list ? '[' : '{';
    const char close = list ? ']' : '}';
    if (!Take(open)) return Expected(Concat({"'", open, "'"}));
    out->clear();
    PutBig<uint32_t>(out, 0);
    uint32_t count = 0;
    if (!Take(close)) {
      do {
        CISTERN_RETURN_IF_ERROR(AppendElement(type.arguments[0], out));
        if (type.kind == CqlType::kMap) {
          if (!Take(':')) return Expected("':'");
          CISTERN_RETURN_IF_ERROR(AppendElement(type.arguments[1], out));
        }
        ++count;
      } while (Take(','));
      if (!Take(close)) return Expected(Concat({"',' or '", close, "'"}));
    }
    std::string head;
    PutBig<uint32_t>(&head, count);
    out->replace(0, head.size(), head);
    return Status::Ok();
  }

  Status AppendElement(const ColumnType& type, std::string* out) {
    std::string wire;
    if (IsCollection(type.kind)) {
      CISTERN_RETURN_IF_ERROR(ReadCollection(type, &wire));
    } else {
      CISTERN_RETURN_IF_ERROR(ReadScalar(type, &wire));
    }
    if (out->size() + wire.size() > limits::kCellBytesMax) {
      return Status::TooLarge(Concat({"the collection has more than ", limits::kCellBytesMax,
          " bytes"}));
    }
    PutBig<uint32_t>(out, static_cast<uint32_t>(wire.size()));
    out->append(wire);
    return Status::Ok();
  }

  Status ReadScalar(const ColumnType& type, std::string* wire) {
    SkipSpace();
    std::string literal;
    if (position_ < text_.size() && text_[position_] == '\'') {
      CISTERN_RETURN_IF_ERROR(ReadQuoted(&literal));
    } else if (type.kind == CqlType::kText || type.kind == CqlType::kAscii) {
      return Expected("a text in single quotes");
    } else {
      const size_t end = std::min(text_.find_first_of(",]}: \t", position_), text_.size());
      literal = text_.substr(position_, end - position_);
      if (literal.empty()) return Expected("a " + std::string(CqlTypeName(type.kind)));
      position_ = end;
    }
    CellValue value;
    CISTERN_RETURN_IF_ERROR(ParseValueText(type, literal, &value));
    AppendWireValue(type, value.fixed, value.bytes, wire);
    return Status::Ok();
  }

  Status ReadQuoted(std::string* literal) {
    ++position_;
    while (position_ < text_.size()) {
      if (text_[position_] == '\'') {
        ++position_;
        if (position_ >= text_.size() || text_[position_] != '\'') return Status::Ok();
      }
      literal->push_back(text_[position_++]);
    }
    return Expected("a closing quote");
  }

  std::string_view text_;
  size_t position_ = 0;
};

std::string_view TakeElement(std::string_view* rest) {
  const auto length = GetBig<uint32_t>(rest->data());
  const std::string_view element = rest->substr(4, length);
  rest->remove_prefix(4 + size_t{length});
  return element;
}

void FormatElement(const ColumnType& type, std::string_view wire, std::string* out) {
  CellValue value;
  if (!ParseWireValue(type, wire, &value).ok()) {
    AppendHex(wire, out);
    return;
  }
  std::string literal;
  FormatValueText(type, value.fixed, value.bytes, &literal);
  out->append(IsQuoted(type.kind) ? QuoteString(literal) : literal);
}

}  // namespace

Status ParseCollectionText(const ColumnType& type, std::string_view text, std::string* out) {
  return CollectionReader(text).Read(type, out);
}

void FormatCollectionText(const ColumnType& type, std::string_view bytes, std::string* out) {
  const bool list = type.kind == CqlType::kList;
  const auto count = GetBig<uint32_t>(bytes.data());
  std::string_view rest = bytes.substr(4);
  out->push_back(list ? '[' : '{');
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0) out->append(", ");
    FormatElement(type.arguments[0], TakeElement(&rest), out);
    if (type.kind == CqlType::kMap) {
      out->append(": ");
      FormatElement(type.arguments[1], TakeElement(&rest), out);
    }
  }
  out->push_back(list ? ']' : '}');
}

}  // namespace cistern
