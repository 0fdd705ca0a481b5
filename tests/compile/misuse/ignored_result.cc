// refused: nodiscard
#include "cistern/engine.h"

void Use(cistern::Engine* engine, const cistern::RowBatch& rows) {
#ifdef MISUSE
  engine->Append(rows);
#else
  const auto written = engine->Append(rows);
  if (!written.ok()) return;
#endif
}
