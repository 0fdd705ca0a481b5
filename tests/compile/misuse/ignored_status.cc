// refused: nodiscard
#include "cistern/engine.h"

void Use(cistern::Engine* engine) {
#ifdef MISUSE
  engine->Sync();
#else
  if (!engine->Sync().ok()) return;
#endif
}
