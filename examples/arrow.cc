// A shared library with one function of C, by which Python reads a store: see read_arrow.py.
//
// docs/arrow.md shows the part between the marks; a test builds and runs both.
#include <cistern/cistern.h>

#include <cstdio>

namespace {

using cistern::Engine, cistern::EntityFromText, cistern::EngineOptions, cistern::Status;

// docs begin
// The readings of one sensor, in batches, for whoever takes a stream of Arrow in this process.
Status StreamReadings(Engine* engine, const std::string& sensor, int64_t from_ms, int64_t to_ms,
                      ArrowArrayStream* out) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("readings"));
  CISTERN_ASSIGN_OR_RETURN(const auto entity, EntityFromText(*schema, {{sensor}}));
  CISTERN_ASSIGN_OR_RETURN(auto cursor, engine->Scan({.table = "readings", .entity = entity,
                                                      .from = from_ms, .to = to_ms}));
  return cistern::ExportArrowStream(std::move(cursor), out);
}
// docs end

}  // namespace

// 0, or 1 with the reason on standard error. The stream outlives the engine.
extern "C" [[gnu::visibility("default")]] int stream_readings(const char* store, const char* sensor,
                                                              int64_t from_ms, int64_t to_ms,
                                                              ArrowArrayStream* out) {
  EngineOptions options;
  options.read_only = true;
  const auto engine = Engine::Open(store, options);
  const Status s = engine.ok() ? StreamReadings(engine->get(), sensor, from_ms, to_ms, out)
                               : engine.status();
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
