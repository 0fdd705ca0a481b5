// ColumnMap: rows of one version of a table as another version of it shows them.
#ifndef CISTERN_STORAGE_COLUMN_MAP_H_
#define CISTERN_STORAGE_COLUMN_MAP_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern {

// Key columns are the same in all versions of a table, though perhaps at other places.
// Immutable; keeps both declarations.
class ColumnMap {
 public:
  // `lasts` tells of a column of both versions, by its name, whether it is the same one.
  ColumnMap(std::shared_ptr<const TableSchema> from, std::shared_ptr<const TableSchema> to,
            const std::function<bool(const std::string&)>& lasts);

  [[nodiscard]] const TableSchema& from() const { return *from_; }
  // Columns of `to` without a counterpart are absent in every row.
  [[nodiscard]] VersionColumns Apply(VersionColumns rows) const;
  // The columns of `from` that those wanted of `to` come from.
  [[nodiscard]] std::vector<bool> Sources(const std::vector<bool>& wanted) const;

 private:
  std::shared_ptr<const TableSchema> from_;
  std::shared_ptr<const TableSchema> to_;
  std::vector<std::optional<size_t>> sources_;  // by column of `to`
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_COLUMN_MAP_H_
