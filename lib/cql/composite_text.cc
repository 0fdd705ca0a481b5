#include "lib/cql/composite_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"
#include "lib/cql/vint.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

constexpr std::string_view kScalarEnds = ",]}): \t";

// Types whose literals stand in quotes inside another one.
bool IsQuoted(CqlType kind) {
  return kind == CqlType::kText || kind == CqlType::kAscii || kind == CqlType::kTimestamp ||
         kind == CqlType::kDate || kind == CqlType::kTime || kind == CqlType::kInet;
}

// The brackets in which a type's literals are written.
struct Brackets {
  char open;
  char close;
};
Brackets BracketsOf(CqlType kind) {
  switch (kind) {
    case CqlType::kList:
    case CqlType::kVector: return {'[', ']'};
    case CqlType::kTuple: return {'(', ')'};
    default: return {'{', '}'};
  }
}

// Recursive by the type, whose depth the schema bounds.
class CompositeReader {
 public:
  explicit CompositeReader(std::string_view text) : text_(text) {}

  Status Read(const ColumnType& type, std::string* out) {
    CISTERN_RETURN_IF_ERROR(ReadValue(type, out));
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
  // The word alone, and not the begin of a longer one.
  bool TakeNull() {
    constexpr std::string_view kNull = "null";
    SkipSpace();
    const size_t end = std::min(text_.find_first_of(kScalarEnds, position_), text_.size());
    if (text_.substr(position_, end - position_) != kNull) return false;
    position_ = end;
    return true;
  }
  [[nodiscard]] Status Expected(const std::string& what) const {
    const std::string got =
        position_ < text_.size() ? ShowText(text_.substr(position_)) : std::string("the end");
    return Status::InvalidArgument(Concat({"expected ", what, " at character ", position_ + 1,
        " of the literal, got ", got}));
  }
  // What opens a literal of the type; *close is what has to end it.
  Status TakeOpen(CqlType kind, char* close) {
    const Brackets own = BracketsOf(kind);
    *close = own.close;
    if (Take(own.open)) return Status::Ok();
    *close = ']';
    const bool may_be_array = kind == CqlType::kSet || kind == CqlType::kTuple;
    return may_be_array && Take('[') ? Status::Ok() : Expected(Concat({"'", own.open, "'"}));
  }

  Status ReadValue(const ColumnType& type, std::string* out) {
    switch (type.kind) {
      case CqlType::kList:
      case CqlType::kSet:
      case CqlType::kMap: return ReadCollection(type, out);
      case CqlType::kVector: return ReadVector(type, out);
      case CqlType::kTuple: return ReadTuple(type, out);
      case CqlType::kUserType: return ReadUserType(type, out);
      default: return ReadScalar(type, out);
    }
  }

  Status ReadCollection(const ColumnType& type, std::string* out) {
    char close = 0;
    CISTERN_RETURN_IF_ERROR(TakeOpen(type.kind, &close));
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
    SetBig<uint32_t>(out->data(), count);
    return Status::Ok();
  }

  Status ReadVector(const ColumnType& type, std::string* out) {
    char close = 0;
    CISTERN_RETURN_IF_ERROR(TakeOpen(type.kind, &close));
    out->clear();
    const bool has_lengths = VectorElementWidth(type.arguments[0]) == 0;
    std::string wire;
    for (uint32_t i = 0; i < type.dimension; ++i) {
      if (i > 0 && !Take(',')) {
        return Expected(Concat({"',' and ", type.dimension, " elements in all"}));
      }
      CISTERN_RETURN_IF_ERROR(ReadValue(type.arguments[0], &wire));
      CISTERN_RETURN_IF_ERROR(CheckRoom(*out, wire.size()));
      if (has_lengths) PutUnsignedVint(out, wire.size());
      out->append(wire);
    }
    return Take(close) ? Status::Ok()
                       : Expected(Concat({"']' behind ", type.dimension, " elements"}));
  }

  Status ReadTuple(const ColumnType& type, std::string* out) {
    char close = 0;
    CISTERN_RETURN_IF_ERROR(TakeOpen(type.kind, &close));
    out->clear();
    for (size_t i = 0; i < type.arguments.size(); ++i) {
      if (i > 0 && !Take(',')) {
        return Expected(Concat({"',' and ", type.arguments.size(), " values in all"}));
      }
      CISTERN_RETURN_IF_ERROR(AppendField(type.arguments[i], out));
    }
    return Take(close) ? Status::Ok()
                       : Expected(Concat({"'", close, "' behind ", type.arguments.size(),
                             " values"}));
  }

  Status ReadUserType(const ColumnType& type, std::string* out) {
    char close = 0;
    CISTERN_RETURN_IF_ERROR(TakeOpen(type.kind, &close));
    std::vector<std::string> fields(type.arguments.size());  // with their lengths
    if (!Take(close)) {
      do {
        SkipSpace();
        const size_t begin = position_;
        std::string name;
        CISTERN_RETURN_IF_ERROR(ReadFieldName(&name));
        const auto found = std::find(type.field_names.begin(), type.field_names.end(), name);
        const auto field = static_cast<size_t>(found - type.field_names.begin());
        if (field == fields.size() || !fields[field].empty()) {
          position_ = begin;
          return Expected(Concat({"a field of ", FieldsText(type), " that is not there yet"}));
        }
        if (!Take(':')) return Expected("':'");
        CISTERN_RETURN_IF_ERROR(AppendField(type.arguments[field], &fields[field]));
      } while (Take(','));
      if (!Take(close)) return Expected(Concat({"',' or '", close, "'"}));
    }
    out->clear();
    for (const std::string& field : fields) {
      CISTERN_RETURN_IF_ERROR(CheckRoom(*out, field.size()));
      if (field.empty()) PutBig<int32_t>(out, -1);
      out->append(field);
    }
    return Status::Ok();
  }

  // name, "Name" or 'Name'.
  Status ReadFieldName(std::string* name) {
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote == '\'' || quote == '"') return ReadQuoted(name);
    while (position_ < text_.size() && IsNamePart(text_[position_])) {
      const char c = text_[position_++];
      name->push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c);
    }
    return name->empty() ? Expected("a field's name") : Status::Ok();
  }

  static Status CheckRoom(const std::string& out, size_t more) {
    if (out.size() + more <= limits::kCellBytesMax) return Status::Ok();
    return Status::TooLarge(Concat({"the value has more than ", limits::kCellBytesMax, " bytes"}));
  }

  Status AppendElement(const ColumnType& type, std::string* out) {
    std::string wire;
    CISTERN_RETURN_IF_ERROR(ReadValue(type, &wire));
    CISTERN_RETURN_IF_ERROR(CheckRoom(*out, wire.size()));
    PutBig<uint32_t>(out, static_cast<uint32_t>(wire.size()));
    out->append(wire);
    return Status::Ok();
  }

  // As an element, but it may be null.
  Status AppendField(const ColumnType& type, std::string* out) {
    if (!TakeNull()) return AppendElement(type, out);
    PutBig<int32_t>(out, -1);
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
      const size_t end = std::min(text_.find_first_of(kScalarEnds, position_), text_.size());
      literal = text_.substr(position_, end - position_);
      if (literal.empty()) return Expected("a " + std::string(CqlTypeName(type.kind)));
      position_ = end;
    }
    CellValue value;
    CISTERN_RETURN_IF_ERROR(ParseValueText(type, literal, &value));
    wire->clear();
    AppendWireValue(type, value.fixed, value.bytes, wire);
    return Status::Ok();
  }

  Status ReadQuoted(std::string* literal) {
    const char quote = text_[position_++];
    while (position_ < text_.size()) {
      if (text_[position_] == quote) {
        ++position_;
        if (position_ >= text_.size() || text_[position_] != quote) return Status::Ok();
      }
      literal->push_back(text_[position_++]);
    }
    return Expected("a closing quote");
  }

  std::string_view text_;
  size_t position_ = 0;
};

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

void FormatFields(const ColumnType& type, std::string_view bytes, std::string* out) {
  std::vector<std::optional<std::string_view>> fields;
  if (!SplitFields(type, bytes, &fields).ok()) return;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out->append(", ");
    if (type.kind == CqlType::kUserType) out->append(QuoteName(type.field_names[i])).append(": ");
    if (fields[i].has_value()) {
      FormatElement(type.arguments[i], *fields[i], out);
    } else {
      out->append("null");
    }
  }
}

void FormatElements(const ColumnType& type, std::string_view bytes, std::string* out) {
  std::vector<std::string_view> elements;
  if (!SplitCollection(type, bytes, &elements).ok()) return;
  const size_t width = type.arguments.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool is_value = i % width != 0;
    if (i > 0) out->append(is_value ? ": " : ", ");
    FormatElement(type.arguments[i % width], elements[i], out);
  }
}

}  // namespace

Status ParseCompositeText(const ColumnType& type, std::string_view text, std::string* out) {
  return CompositeReader(text).Read(type, out);
}

void FormatCompositeText(const ColumnType& type, std::string_view bytes, std::string* out) {
  const Brackets brackets = BracketsOf(type.kind);
  out->push_back(brackets.open);
  if (HasFields(type.kind)) {
    FormatFields(type, bytes, out);
  } else {
    FormatElements(type, bytes, out);
  }
  out->push_back(brackets.close);
}

}  // namespace cistern
