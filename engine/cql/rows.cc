#include "engine/cql/rows.h"

#include <array>
#include <utility>

#include "cistern/limits.h"

namespace cistern::cql {
namespace {

constexpr size_t kCellBytesMin = 4;    // the length of a [bytes]
constexpr size_t kColumnBytesMin = 4;  // an empty name and a type

constexpr uint16_t kCustom = 0x00;
constexpr uint16_t kList = 0x20;
constexpr uint16_t kMap = 0x21;
constexpr uint16_t kSet = 0x22;
constexpr uint16_t kUserType = 0x30;
constexpr uint16_t kTuple = 0x31;

// Types without arguments by their number; empty where there is none.
constexpr std::array<std::string_view, 0x16> kSimpleTypes = {
    "",         "ascii",     "bigint", "blob",    "boolean", "counter",  "decimal",  "double",
    "float",    "int",       "",       "timestamp", "uuid",  "text",     "varint",   "timeuuid",
    "inet",     "date",      "time",   "smallint", "tinyint", "duration"};

class TypeReader {
 public:
  TypeReader(WireReader* reader, std::string* text)
      : reader_(*reader), text_(*text), begin_(text->size()) {}

  void Read(size_t depth) {
    if (depth > limits::kCqlTypeDepthMax) {
      reader_.FailTooLarge("depth of a column's type", limits::kCqlTypeDepthMax);
      return;
    }
    const uint16_t id = reader_.Short("column type");
    if (!reader_.ok()) return;
    switch (id) {
      case kCustom: ReadCustom(reader_.String("custom type")); break;
      case kList: ReadArguments("list<", 1, depth); break;
      case kSet: ReadArguments("set<", 1, depth); break;
      case kMap: ReadArguments("map<", 2, depth); break;
      case kTuple: ReadArguments("tuple<", reader_.Short("tuple fields"), depth); break;
      case kUserType: ReadUserType(depth); break;
      default: ReadSimple(id); break;
    }
  }

 private:
  void Add(std::string_view before, std::string_view name, std::string_view after) {
    if (text_.size() - begin_ + name.size() > limits::kCqlTypeBytesMax) {
      reader_.FailTooLarge("text of a column's type", limits::kCqlTypeBytesMax);
      return;
    }
    text_.append(before).append(name).append(after);
  }

  // By its class. Version 4 of the protocol has no number for a duration.
  void ReadCustom(std::string_view name) {
    if (name == "org.apache.cassandra.db.marshal.DurationType") return Add("", "duration", "");
    Add("'", name, "'");
  }

  void ReadSimple(uint16_t id) {
    if (id >= kSimpleTypes.size() || kSimpleTypes[id].empty()) {
      reader_.Fail("column type", "is none that the protocol has");
      return;
    }
    Add("", kSimpleTypes[id], "");
  }

  void ReadArguments(std::string_view open, size_t count, size_t depth) {
    Add("", open, "");
    for (size_t i = 0; i < count && reader_.ok(); ++i) {
      if (i > 0) Add("", ", ", "");
      Read(depth + 1);
    }
    Add("", ">", "");
  }

  // Its fields are read and forgotten.
  void ReadUserType(size_t depth) {
    const std::string_view keyspace = reader_.String("keyspace of a user type");
    Add("", keyspace, ".");
    Add("", reader_.String("name of a user type"), "");
    const uint16_t count = reader_.Short("fields of a user type");
    const size_t kept = text_.size();
    for (uint16_t i = 0; i < count && reader_.ok(); ++i) {
      static_cast<void>(reader_.String("field of a user type"));
      Read(depth + 1);
      text_.resize(kept);
    }
  }

  WireReader& reader_;
  std::string& text_;
  const size_t begin_;
};

}  // namespace

void ReadColumnType(WireReader* reader, std::string* text) { TypeReader(reader, text).Read(1); }

void ReadColumns(WireReader* reader, uint32_t flags, RowsMetadata* metadata) {
  const bool global = (flags & metadata_flag::kGlobalTable) != 0;
  if (global) {
    metadata->keyspace = reader->String("keyspace");
    metadata->table = reader->String("table");
  }
  if (metadata->column_count > reader->remaining() / kColumnBytesMin) {
    reader->Fail("columns", "are more than the message has bytes for");
    return;
  }
  metadata->columns.reserve(metadata->column_count);
  for (size_t i = 0; i < metadata->column_count && reader->ok(); ++i) {
    if (!global) {
      const std::string_view keyspace = reader->String("keyspace of a column");
      const std::string_view table = reader->String("table of a column");
      if (i == 0) {
        metadata->keyspace = keyspace;
        metadata->table = table;
      }
    }
    ColumnMetadata& column = metadata->columns.emplace_back();
    column.name = reader->String("column name");
    ReadColumnType(reader, &column.type);
  }
}

size_t ReadColumnCount(WireReader* reader) {
  const int32_t count = reader->Int("column count");
  if (count < 0) reader->Fail("column count", "is negative");
  if (reader->ok() && static_cast<size_t>(count) > limits::kCqlColumnCountMax) {
    reader->FailTooLarge("column count", limits::kCqlColumnCountMax);
  }
  return reader->ok() ? static_cast<size_t>(count) : 0;
}

RowsMetadata ReadRowsMetadata(WireReader* reader) {
  RowsMetadata metadata;
  const auto flags = static_cast<uint32_t>(reader->Int("metadata flags"));
  metadata.column_count = ReadColumnCount(reader);
  metadata.has_more_pages = (flags & metadata_flag::kMorePages) != 0;
  if (metadata.has_more_pages) {
    metadata.paging_state = reader->Bytes("paging state").value_or(std::string_view());
    if (metadata.paging_state.empty()) {
      reader->Fail("paging state", "is empty although there are more pages");
    }
  }
  if ((flags & metadata_flag::kMetadataChanged) != 0) {
    metadata.new_metadata_id = reader->String("metadata id");
  }
  if ((flags & metadata_flag::kNoMetadata) == 0) ReadColumns(reader, flags, &metadata);
  return metadata;
}

RowsView ReadRows(WireReader* reader, size_t column_count) {
  const int32_t row_count = reader->Int("row count");
  if (row_count < 0) reader->Fail("row count", "is negative");
  // A row without columns would be one that costs no bytes.
  const size_t fitting =
      column_count == 0 ? 0 : reader->remaining() / (kCellBytesMin * column_count);
  if (reader->ok() && static_cast<size_t>(row_count) > fitting) {
    reader->Fail("row count", "is more than the message has bytes for");
  }
  if (!reader->ok()) return {};
  const auto rows = static_cast<size_t>(row_count);
  const size_t begin = reader->position();
  const std::string_view cells = WireReader(*reader).Rest();
  for (size_t i = 0; i < rows * column_count && reader->ok(); ++i) {
    static_cast<void>(reader->Bytes("cell"));
  }
  if (!reader->ok()) return {};
  return {cells.substr(0, reader->position() - begin), rows, column_count};
}

RowReader::RowReader(const RowsView& rows)
    : cells_(rows.cells(), "rows"), rows_left_(rows.row_count()), row_(rows.column_count()) {}

bool RowReader::Next() {
  if (rows_left_ == 0) return false;
  --rows_left_;
  for (CellView& cell : row_) cell = cells_.Bytes("cell");
  return true;
}

}  // namespace cistern::cql
