// Arrow's C data interface: batches as record batches of Apache Arrow, for pyarrow, DuckDB, Polars
// and whatever else takes them, in the same process and without any library of Arrow.
//
// docs/arrow.md tells which type of Arrow each CQL type becomes, and what is copied.
#ifndef CISTERN_ARROW_H_
#define CISTERN_ARROW_H_

#include <cstdint>
#include <memory>
#include <span>

#include "cistern/cursor.h"
#include "cistern/export.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "cistern/status.h"

// The structures of the interface, as https://arrow.apache.org/docs/format/CDataInterface.html and
// https://arrow.apache.org/docs/format/CStreamInterface.html lay them down: an ABI that does not
// change, with guards by which every header that declares them may be included beside this one.
//
// Whoever fills one owns what it points to, until the one that has it calls `release`, once, which
// sets `release` to null. A structure may be moved by copying its bytes and setting the `release`
// of the source to null; a child too, which then outlives its parent.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

// A type, or a field with its name.
struct ArrowSchema {
  const char* format;    // the type's letters, "tsm:UTC"
  const char* name;      // of the field
  const char* metadata;  // keys and values with their lengths, in the machine's byte order; or null
  int64_t flags;         // ARROW_FLAG_...
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;  // null: Cistern makes none
  void (*release)(struct ArrowSchema*);
  void* private_data;  // of whoever filled it
};

// The values of one field.
struct ArrowArray {
  int64_t length;      // in values
  int64_t null_count;  // -1: not counted
  int64_t offset;      // values of the buffers that come before the first one
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;  // the first is a bitmap of the values that are none, or null
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

// Arrays of one type, one after another. The functions give 0 or a number of errno.h.
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);  // released: the end
  const char* (*get_last_error)(struct ArrowArrayStream*);  // valid until the next call
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_STREAM_INTERFACE

namespace cistern {

// What a structure held before is neither looked at nor released; on an error it then counts as
// released. What was filled in belongs to no thread, outlives batch, cursor and engine, and is not
// charged to the memory budget.

// The type of a scan's batches: a struct with a field for each of `columns`, indices into
// table.columns as Cursor::schema() and Cursor::columns() give them. Key columns are not nullable.
//   kInvalidArgument  a column that the table does not have
[[nodiscard]] CISTERN_EXPORT Status ExportArrowSchema(const TableSchema& table,
                                                      std::span<const size_t> columns,
                                                      ArrowSchema* schema);

// The rows of `batch` as an array of that type. Move the batch in: the array holds its columns, and
// shows those that Arrow lays out in the same way as they are.
//   kInvalidArgument  not the columns of the batch, null in a key column, parts of a column that do
//                     not fit together, or a uuid, varint, decimal or collection that is none.
//                     Other values are not looked at: they are those of a scan
//   kTooLarge         a column of more than 2 GiB: set ScanRequest::batch_rows_max
[[nodiscard]] CISTERN_EXPORT Status ExportArrowBatch(const TableSchema& table,
                                                     std::span<const size_t> columns,
                                                     ResultBatch batch, ArrowArray* array);

// Rows that are on their way in, with all columns of their table but those that derive from the
// row, bucket and split. Copies all. Absent cells and deleted ones are both null, inserts and
// updates look alike, and TTLs are left out.
//   kInvalidArgument  a row deletion, which is no row of Arrow's
[[nodiscard]] CISTERN_EXPORT Status ExportArrowRows(const RowBatch& rows, ArrowSchema* schema,
                                                    ArrowArray* array);

// What is left of a scan as a stream: get_next gives what Cursor::Next gives, some of it without
// rows. At its end a scan whose status is not OK gives EIO, or ENOMEM for kOutOfMemory, and the
// status as get_last_error; the rows before that count. One thread at a time. The stream holds the
// cursor, and so the store open, until it is released or has ended; that of a follower ends when
// nothing came for as long as it waits.
//   kInvalidArgument  no cursor
[[nodiscard]] CISTERN_EXPORT Status ExportArrowStream(std::unique_ptr<Cursor> cursor,
                                                      ArrowArrayStream* stream);

}  // namespace cistern

#endif  // CISTERN_ARROW_H_
