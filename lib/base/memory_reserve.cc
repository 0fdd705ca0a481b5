#include "lib/base/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <new>

namespace cistern {

namespace {

std::atomic<void*> g_reserve{nullptr};
std::atomic<std::new_handler> g_handler_before{nullptr};

// Writable, so that it counts for every limit that an allocation counts for.
void* Map(size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

// As operator new wants it: returns if another attempt is worth it, and throws otherwise.
void GiveBackReserve() {
  if (void* const held = g_reserve.exchange(nullptr)) {
    (void)::munmap(held, MemoryReserve::kBytes);
    return;
  }
  const std::new_handler before = g_handler_before.load();
  if (before == nullptr) throw std::bad_alloc();
  before();
}

void InstallHandler() {
  static std::once_flag once;
  std::call_once(once, [] { g_handler_before = std::set_new_handler(&GiveBackReserve); });
}

}  // namespace

Status MemoryReserve::Hold() {
  if (g_reserve.load(std::memory_order_relaxed) != nullptr) return Status::Ok();
  InstallHandler();
  void* const mapped = Map(kBytes);
  if (mapped == nullptr) return Status::OutOfMemory();
  void* none = nullptr;
  if (!g_reserve.compare_exchange_strong(none, mapped)) (void)::munmap(mapped, kBytes);
  return Status::Ok();
}

Status MemoryReserve::CheckRoom(size_t bytes) {
  void* const mapped = Map(bytes);
  if (mapped == nullptr) return Status::OutOfMemory();
  (void)::munmap(mapped, bytes);
  return Status::Ok();
}

}  // namespace cistern
