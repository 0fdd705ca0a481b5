#include "lib/row/version_hash.h"

#include "lib/base/checksum.h"
#include "lib/base/coding.h"

namespace cistern {

uint64_t HashVersion(const TableSchema& schema, const VersionColumns& rows, size_t row,
                     std::string* scratch) {
  scratch->clear();
  PutLittle<int64_t>(scratch, rows.write_us[row]);
  PutLittle<uint32_t>(scratch, rows.expiry_of(row));
  PutLittle<uint8_t>(scratch, rows.flags[row]);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    if (role != ColumnRole::kClustering && role != ColumnRole::kRegular) continue;
    const ColumnData& column = rows.columns[c];
    const CellState state = column.state(row);
    PutLittle<uint8_t>(scratch, static_cast<uint8_t>(state));
    if (state != CellState::kValue) continue;
    if (column.lane == Lane::kFixed) {
      PutLittle<int64_t>(scratch, column.fixed[row]);
    } else {
      const std::string_view bytes = column.bytes(row);
      PutLittle<uint32_t>(scratch, static_cast<uint32_t>(bytes.size()));
      scratch->append(bytes);
    }
  }
  return Checksum(*scratch);
}

uint64_t HashVersions(const TableSchema& schema, const VersionColumns& rows) {
  uint64_t sum = 0;
  std::string scratch;
  for (size_t i = 0; i < rows.row_count; ++i) sum += HashVersion(schema, rows, i, &scratch);
  return sum;
}

}  // namespace cistern
