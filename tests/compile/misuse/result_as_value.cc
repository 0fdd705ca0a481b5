// refused: no match for|no viable|could not convert|cannot convert|no known conversion
#include "cistern/engine.h"

cistern::WriteResult Use(cistern::Engine* engine, const cistern::RowBatch& rows) {
#ifdef MISUSE
  return engine->Append(rows);
#else
  auto written = engine->Append(rows);
  return written.ok() ? written.value() : cistern::WriteResult{};
#endif
}
