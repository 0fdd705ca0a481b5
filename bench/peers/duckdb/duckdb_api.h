// DuckDbApi: the functions of DuckDB's C API that the comparison calls, found when it runs.
//
// The declarations are of ours, after https://duckdb.org/docs/stable/clients/c/api: handles are
// pointers to what only DuckDB knows, states are 0 for success, booleans and sizes as there.
#ifndef CISTERN_BENCH_PEERS_DUCKDB_DUCKDB_API_H_
#define CISTERN_BENCH_PEERS_DUCKDB_DUCKDB_API_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "cistern/result.h"

namespace cistern::bench {

struct DuckDbHandle;  // of every kind
using DuckDb = DuckDbHandle*;

// duckdb_result: filled by a query, read by functions alone.
struct DuckDbResult {
  uint64_t deprecated_counts[3];
  void* deprecated_columns;
  char* deprecated_message;
  void* internal;
};

// duckdb_string_t: a length, then up to 12 bytes inline, or four of them and a pointer to all.
struct alignas(8) DuckDbString {
  static constexpr uint32_t kInlineMax = 12;
  uint32_t length;
  char bytes[kInlineMax];
  [[nodiscard]] const char* data() const {
    if (length <= kInlineMax) return bytes;
    const char* text = nullptr;
    std::memcpy(&text, bytes + 4, sizeof text);
    return text;
  }
};

struct DuckDbApi {
  // kNotFound: no such library, or one without those functions.
  [[nodiscard]] static Result<const DuckDbApi*> Load(const std::string& library);

  const char* (*library_version)() = nullptr;
  int (*open)(const char* path, DuckDb* database) = nullptr;
  void (*close)(DuckDb* database) = nullptr;
  int (*connect)(DuckDb database, DuckDb* connection) = nullptr;
  void (*disconnect)(DuckDb* connection) = nullptr;
  int (*query)(DuckDb connection, const char* sql, DuckDbResult* result) = nullptr;
  const char* (*result_error)(DuckDbResult* result) = nullptr;
  void (*destroy_result)(DuckDbResult* result) = nullptr;
  DuckDb (*fetch_chunk)(DuckDbResult result) = nullptr;
  void (*destroy_data_chunk)(DuckDb* chunk) = nullptr;
  uint64_t (*data_chunk_get_size)(DuckDb chunk) = nullptr;
  DuckDb (*data_chunk_get_vector)(DuckDb chunk, uint64_t column) = nullptr;
  void* (*vector_get_data)(DuckDb vector) = nullptr;
  uint64_t* (*vector_get_validity)(DuckDb vector) = nullptr;  // null: all are valid
  int (*appender_create)(DuckDb connection, const char* schema, const char* table,
                         DuckDb* appender) = nullptr;
  int (*appender_destroy)(DuckDb* appender) = nullptr;
  int (*appender_flush)(DuckDb appender) = nullptr;
  int (*appender_end_row)(DuckDb appender) = nullptr;
  int (*append_bool)(DuckDb appender, bool value) = nullptr;
  int (*append_int32)(DuckDb appender, int32_t value) = nullptr;
  int (*append_int64)(DuckDb appender, int64_t value) = nullptr;
  int (*append_double)(DuckDb appender, double value) = nullptr;
  int (*append_varchar_length)(DuckDb appender, const char* text, uint64_t length) = nullptr;
  int (*append_null)(DuckDb appender) = nullptr;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_DUCKDB_DUCKDB_API_H_
