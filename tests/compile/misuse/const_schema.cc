// refused: read-only|const
#include "cistern/engine.h"

size_t Use(const cistern::Engine& engine) {
  const auto table = engine.FindTable("readings");
  if (!table.ok()) return 0;
#ifdef MISUSE
  table.value()->columns.clear();
#endif
  return table.value()->columns.size();
}
