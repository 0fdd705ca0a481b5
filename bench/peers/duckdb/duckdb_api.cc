#include "bench/peers/duckdb/duckdb_api.h"

#include <dlfcn.h>

#include <memory>

namespace cistern::bench {

namespace {

// Sets *function to the library's; false where it has none of that name.
template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* lib, DuckDbApi* api) {
  return Find(lib, "duckdb_library_version", &api->library_version) &&
         Find(lib, "duckdb_open", &api->open) && Find(lib, "duckdb_close", &api->close) &&
         Find(lib, "duckdb_connect", &api->connect) &&
         Find(lib, "duckdb_disconnect", &api->disconnect) &&
         Find(lib, "duckdb_query", &api->query) &&
         Find(lib, "duckdb_result_error", &api->result_error) &&
         Find(lib, "duckdb_destroy_result", &api->destroy_result) &&
         Find(lib, "duckdb_fetch_chunk", &api->fetch_chunk) &&
         Find(lib, "duckdb_destroy_data_chunk", &api->destroy_data_chunk) &&
         Find(lib, "duckdb_data_chunk_get_size", &api->data_chunk_get_size) &&
         Find(lib, "duckdb_data_chunk_get_vector", &api->data_chunk_get_vector) &&
         Find(lib, "duckdb_vector_get_data", &api->vector_get_data) &&
         Find(lib, "duckdb_vector_get_validity", &api->vector_get_validity) &&
         Find(lib, "duckdb_appender_create", &api->appender_create) &&
         Find(lib, "duckdb_appender_destroy", &api->appender_destroy) &&
         Find(lib, "duckdb_appender_flush", &api->appender_flush) &&
         Find(lib, "duckdb_appender_end_row", &api->appender_end_row) &&
         Find(lib, "duckdb_append_bool", &api->append_bool) &&
         Find(lib, "duckdb_append_int32", &api->append_int32) &&
         Find(lib, "duckdb_append_int64", &api->append_int64) &&
         Find(lib, "duckdb_append_double", &api->append_double) &&
         Find(lib, "duckdb_append_varchar_length", &api->append_varchar_length) &&
         Find(lib, "duckdb_append_null", &api->append_null);
}

}  // namespace

Result<const DuckDbApi*> DuckDbApi::Load(const std::string& library) {
  // Stays loaded: DuckDB's threads may outlive every handle.
  static DuckDbApi api;
  if (api.append_null != nullptr) return &api;
  void* const lib = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr) return Status::NotFound(library + ": " + dlerror());
  if (!FindAll(lib, &api)) return Status::NotFound(library + " has not all functions of DuckDB");
  return &api;
}

}  // namespace cistern::bench
