// Decodes pages. Trusts nothing: every field is checked before it is used and named in
// the error; nothing is allocated beyond the limits of a page.
#ifndef CISTERN_SEGMENT_PAGE_READER_H_
#define CISTERN_SEGMENT_PAGE_READER_H_

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/codec/zstd_dictionary.h"
#include "lib/row/version_columns.h"

namespace cistern {

// The rows of a page. `schema` is the one that the page was written under.
//
// `wanted` has an entry for each schema column; null wants all. A regular column that is
// not wanted has only its `states` (empty if all are values): a projection still needs
// them to judge whether a row exists. Clustering columns are always decoded. `boot` and
// `expiry_s` are empty where all are 0. `dictionaries` may be null where pages name none: those of
// spill families do not.
//
//   kCorruption  the bytes are damaged, or not a page of this schema; names the field
//   kTooNew      a later format
// and what `dictionaries` fails with.
[[nodiscard]] Result<VersionColumns> DecodePage(const TableSchema& schema, std::string_view page,
                                                const std::vector<bool>* wanted,
                                                const DictionarySource* dictionaries);

// The values and states of the wanted columns alone, of whatever role: all else of the rows is
// empty. For pages whose statistics tell that the rows show as they are.
[[nodiscard]] Result<VersionColumns> DecodePageValues(const TableSchema& schema,
                                                      std::string_view page,
                                                      const std::vector<bool>& wanted,
                                                      const DictionarySource* dictionaries);
// The same of a page of `row_count` rows, into *rows, whose memory is used again; on an error
// nothing is said of what is there. kCorruption too if there are more or fewer rows, before any is
// decoded.
[[nodiscard]] Status DecodePageValues(const TableSchema& schema, std::string_view page,
                                      size_t row_count, const std::vector<bool>& wanted,
                                      const DictionarySource* dictionaries, VersionColumns* rows);

// Which rows of a page of `row_count` are wanted, begin..end-1 with begin <= end <= row_count. It
// is asked without times first, as reading them is dear: nothing, if it takes them to tell. Then
// *times has the event time alone.
using RowRange = std::pair<size_t, size_t>;
using ChooseRows =
    std::function<std::optional<RowRange>(size_t row_count, const VersionColumns* times)>;
// The same of the chosen rows alone, none where none is: for who wants few rows of many.
[[nodiscard]] Status DecodePageValues(const TableSchema& schema, std::string_view page,
                                      size_t row_count, const std::vector<bool>& wanted,
                                      const DictionarySource* dictionaries,
                                      const ChooseRows& choose, VersionColumns* rows);

}  // namespace cistern

#endif  // CISTERN_SEGMENT_PAGE_READER_H_
