#include "engine/cql/request.h"

#include <limits>

#include "engine/cql/envelope.h"
#include "engine/cql/wire_writer.h"
#include "lib/base/check.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

// Writes one envelope; unless Finish says so, *out is in the end as it was.
class RequestWriter {
 public:
  RequestWriter(const RequestHead& head, Opcode opcode, std::string* out)
      : version_(head.version), opcode_(opcode), out_(out), wire_(out) {
    EnvelopeHeader header;
    header.version = static_cast<uint8_t>(head.version);
    header.stream = head.stream;
    header.opcode = opcode;
    begin_ = BeginEnvelope(header, out);
  }

  [[nodiscard]] bool v5() const { return version_ == ProtocolVersion::kV5; }
  WireWriter* operator->() { return &wire_; }
  void Append(std::string_view bytes) { out_->append(bytes); }

  // Flags have one byte in v4, four in v5.
  void Flags(uint32_t flags) {
    if (v5()) {
      wire_.Int(static_cast<int32_t>(flags));
    } else {
      wire_.Byte(static_cast<uint8_t>(flags));
    }
  }

  // Keeps the first failure.
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  // A text of the notation that holds up to 65,535 bytes; a longer one fails.
  void String(const char* field, std::string_view text) {
    if (text.size() > kShortBytesMax) {
      Fail(Status::TooLarge(Concat({Name(), ": ", field, " has ", text.size(), " bytes, at most ",
          kShortBytesMax, " can be sent"})));
      return;
    }
    wire_.String(text);
  }
  // A text or bytes of up to the limit of a request.
  void LongString(const char* field, std::string_view text) {
    if (text.size() > limits::kCqlRequestBytesMax) {
      Fail(Status::TooLarge(Concat({Name(), ": ", field, " has ", text.size(), " bytes, at most ",
          limits::kCqlRequestBytesMax, " are sent"})));
      return;
    }
    wire_.LongString(text);
  }

  [[nodiscard]] std::string Name() const { return std::string(OpcodeName(opcode_)); }

  [[nodiscard]] Status Finish() {
    const size_t body_bytes = out_->size() - begin_ - kEnvelopeHeaderBytes;
    if (body_bytes > limits::kCqlRequestBytesMax) {
      Fail(Status::TooLarge(Concat({Name(), " has ", body_bytes, " bytes, at most ",
          limits::kCqlRequestBytesMax, " are sent"})));
    }
    if (status_.ok()) {
      EndEnvelope(begin_, out_);
    } else {
      out_->resize(begin_);
    }
    return status_;
  }

 private:
  ProtocolVersion version_;
  Opcode opcode_;
  std::string* out_;
  WireWriter wire_;
  size_t begin_ = 0;
  Status status_;
};

uint32_t FlagsOf(const RequestOptions& options) {
  uint32_t flags = 0;
  if (options.serial_consistency.has_value()) flags |= query_flag::kSerialConsistency;
  if (options.default_timestamp_us.has_value()) flags |= query_flag::kDefaultTimestamp;
  if (options.now_in_seconds.has_value()) flags |= query_flag::kNowInSeconds;
  return flags;
}

void CheckOptions(const RequestOptions& options, RequestWriter* request) {
  if (options.now_in_seconds.has_value() && !request->v5()) {
    request->Fail(Status::NotSupported(Concat({request->Name(), ": now_in_seconds needs protocol "
        "v5, and this is v4"})));
  }
  // Cassandra keeps it for "no timestamp".
  if (options.default_timestamp_us == std::numeric_limits<int64_t>::min()) {
    request->Fail(Status::InvalidArgument(Concat({request->Name(), ": the least of all timestamps "
        "cannot be sent"})));
  }
}

void AppendOptionFields(const RequestOptions& options, RequestWriter* request) {
  if (options.serial_consistency.has_value()) {
    (*request)->ConsistencyLevel(*options.serial_consistency);
  }
  if (options.default_timestamp_us.has_value()) (*request)->Long(*options.default_timestamp_us);
  if (options.now_in_seconds.has_value()) {
    (*request)->Int(static_cast<int32_t>(*options.now_in_seconds));
  }
}

void AppendParameters(const QueryOptions& options, const ValueRun& values,
                      RequestWriter* request) {
  CheckOptions(options, request);
  if (options.page_rows > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
    request->Fail(Status::InvalidArgument(Concat({request->Name(), ": page_rows is beyond 2^31 - "
        "1"})));
  }
  uint32_t flags = FlagsOf(options);
  if (values.count > 0) flags |= query_flag::kValues;
  if (options.skip_metadata) flags |= query_flag::kSkipMetadata;
  if (options.page_rows > 0) flags |= query_flag::kPageSize;
  if (!options.paging_state.empty()) flags |= query_flag::kPagingState;
  (*request)->ConsistencyLevel(options.consistency);
  request->Flags(flags);
  if (values.count > 0) {
    (*request)->Short(values.count);
    request->Append(values.bytes);
  }
  if (options.page_rows > 0) (*request)->Int(static_cast<int32_t>(options.page_rows));
  if (!options.paging_state.empty()) request->LongString("paging state", options.paging_state);
  AppendOptionFields(options, request);
}

// Of a message that cannot fail.
void FinishPlain(RequestWriter* request) {
  const Status status = request->Finish();
  CISTERN_CHECK(status.ok());
}

}  // namespace

Status AppendStartup(const RequestHead& head, const StartupOptions& options, std::string* out) {
  RequestWriter request(head, Opcode::kStartup, out);
  const bool lz4 = options.compression == Compression::kLz4;
  const int count = 1 + int{lz4} + int{!options.driver_name.empty()} +
                    int{!options.driver_version.empty()} + int{options.throw_on_overload};
  request->Short(static_cast<uint16_t>(count));
  const auto option = [&request](const char* key, std::string_view value) {
    request->String(key);
    request.String(key, value);
  };
  option("CQL_VERSION", "3.0.0");
  if (lz4) option("COMPRESSION", "lz4");
  if (!options.driver_name.empty()) option("DRIVER_NAME", options.driver_name);
  if (!options.driver_version.empty()) option("DRIVER_VERSION", options.driver_version);
  if (options.throw_on_overload) option("THROW_ON_OVERLOAD", "1");
  return request.Finish();
}

void AppendOptions(const RequestHead& head, std::string* out) {
  RequestWriter request(head, Opcode::kOptions, out);
  FinishPlain(&request);
}

Status AppendPlainAuthResponse(const RequestHead& head, std::string_view user,
                               std::string_view password, std::string* out) {
  RequestWriter request(head, Opcode::kAuthResponse, out);
  const auto check = [&request](const char* what, std::string_view text) {
    if (text.empty() || text.find('\0') != std::string_view::npos) {
      request.Fail(Status::InvalidArgument(Concat({"the ", what, " for the cluster is empty or "
          "holds a zero byte"})));
    }
    if (text.size() > kShortBytesMax) {
      request.Fail(Status::TooLarge(Concat({"the ", what, " for the cluster is longer ", "than ",
          kShortBytesMax, " bytes"})));
    }
  };
  check("user", user);
  check("password", password);
  const size_t token_bytes = 2 + user.size() + password.size();
  if (token_bytes <= 2 * (kShortBytesMax + 1)) {
    request->Int(static_cast<int32_t>(token_bytes));
    request->Byte(0);
    request.Append(user);
    request->Byte(0);
    request.Append(password);
  }
  return request.Finish();
}

void AppendRegister(const RequestHead& head, std::string* out) {
  RequestWriter request(head, Opcode::kRegister, out);
  request->Short(3);
  for (const char* type : {"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"}) {
    request->String(type);
  }
  FinishPlain(&request);
}

Status AppendQuery(const RequestHead& head, std::string_view cql, const QueryOptions& options,
                   const ValueRun& values, std::string* out) {
  RequestWriter request(head, Opcode::kQuery, out);
  request.LongString("the statement", cql);
  AppendParameters(options, values, &request);
  return request.Finish();
}

Status AppendPrepare(const RequestHead& head, std::string_view cql, std::string* out) {
  RequestWriter request(head, Opcode::kPrepare, out);
  request.LongString("the statement", cql);
  if (request.v5()) request.Flags(0);
  return request.Finish();
}

Status AppendExecute(const RequestHead& head, const PreparedIds& prepared,
                     const QueryOptions& options, const ValueRun& values, std::string* out) {
  RequestWriter request(head, Opcode::kExecute, out);
  request.String("the statement's id", prepared.id);
  if (request.v5()) request.String("the statement's metadata id", prepared.metadata_id);
  AppendParameters(options, values, &request);
  return request.Finish();
}

Status AppendBatch(const RequestHead& head, std::span<const PreparedIds> prepared,
                   const BoundBatch& batch, const BatchOptions& options, std::string* out) {
  RequestWriter request(head, Opcode::kBatch, out);
  CheckOptions(options, &request);
  if (batch.size() > kShortBytesMax) {
    request.Fail(Status::TooLarge(Concat({"BATCH has ", batch.size(), " statements, at most ",
        kShortBytesMax, " can be sent"})));
    return request.Finish();
  }
  request->Byte(static_cast<uint8_t>(options.type));
  request->Short(static_cast<uint16_t>(batch.size()));
  const std::span<const BoundBatch::Entry> entries = batch.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const BoundBatch::Entry& entry = entries[i];
    CISTERN_CHECK(entry.statement < prepared.size());
    const size_t end = i + 1 < entries.size() ? entries[i + 1].value_begin : batch.values().size();
    request->Byte(1);
    request.String("a statement's id", prepared[entry.statement].id);
    request->Short(entry.value_count);
    request.Append(batch.values().substr(entry.value_begin, end - entry.value_begin));
  }
  request->ConsistencyLevel(options.consistency);
  request.Flags(FlagsOf(options));
  AppendOptionFields(options, &request);
  return request.Finish();
}

}  // namespace cistern::cql
