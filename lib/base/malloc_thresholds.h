// What a process tells its allocator so that memory that is freed is given back.
#ifndef CISTERN_BASE_MALLOC_THRESHOLDS_H_
#define CISTERN_BASE_MALLOC_THRESHOLDS_H_

#include <malloc.h>

namespace cistern {

// glibc raises the size from which a block is mapped by itself to that of the largest one freed, up
// to 32 MiB, and with it what a heap keeps at its end. Large rows then live in the heaps of as many
// arenas as there are threads, and what is freed between them stays: with a memory budget of 8 MiB
// and rows of 0.9 MB several budgets. A threshold that is set stays as it is.
//
// A setting of the whole process, so that the library never does this by itself: a program does,
// first thing in main. Without glibc there is nothing to do.
inline void FixMallocThresholds() {
#ifdef __GLIBC__
  constexpr int kBytes = 128 * 1024;  // glibc's own, before it raises them
  (void)mallopt(M_MMAP_THRESHOLD, kBytes);
  (void)mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

}  // namespace cistern

#endif  // CISTERN_BASE_MALLOC_THRESHOLDS_H_
