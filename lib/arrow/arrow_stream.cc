// ExportArrowStream: a cursor behind Arrow's C stream interface.
#include <cerrno>
#include <string>
#include <utility>

#include "cistern/arrow.h"
#include "lib/base/guard.h"

namespace cistern {

namespace {

struct StreamParts {
  explicit StreamParts(std::unique_ptr<Cursor> of)
      : cursor(std::move(of)), schema(cursor->schema()), columns(cursor->columns()) {}
  std::unique_ptr<Cursor> cursor;  // null: read to its end
  const std::shared_ptr<const TableSchema> schema;
  const std::vector<size_t> columns;
  std::string error;
};

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

// Keeps what went wrong and gives its number.
int Report(const Status& status, StreamParts* parts) {
  if (status.ok()) return 0;
  parts->error = status.ToString();
  return status.code() == StatusCode::kOutOfMemory ? ENOMEM : EIO;
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  return GuardedOr(ENOMEM, [&]() -> int {
    StreamParts& parts = PartsOf(stream);
    return Report(ExportArrowSchema(*parts.schema, parts.columns, out), &parts);
  });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  return GuardedOr(ENOMEM, [&]() -> int {
    StreamParts& parts = PartsOf(stream);
    *out = ArrowArray{};
    if (parts.cursor == nullptr) return 0;
    ResultBatch batch;
    if (parts.cursor->Next(&batch)) {
      return Report(ExportArrowBatch(*parts.schema, parts.columns, std::move(batch), out), &parts);
    }
    const int error = Report(parts.cursor->status(), &parts);
    if (error == 0) parts.cursor.reset();
    return error;
  });
}

const char* GetLastError(ArrowArrayStream* stream) {
  const std::string& error = PartsOf(stream).error;
  return error.empty() ? nullptr : error.c_str();
}

void ReleaseStream(ArrowArrayStream* stream) {
  delete static_cast<StreamParts*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

Status ExportArrowStream(std::unique_ptr<Cursor> cursor, ArrowArrayStream* stream) {
  return Guarded([&]() -> Status {
    *stream = ArrowArrayStream{};
    if (cursor == nullptr) return Status::InvalidArgument("there is no cursor to read");
    stream->get_schema = GetSchema;
    stream->get_next = GetNext;
    stream->get_last_error = GetLastError;
    stream->release = ReleaseStream;
    stream->private_data = new StreamParts(std::move(cursor));
    return Status::Ok();
  });
}

}  // namespace cistern
