#include "tests/support/failing_new.h"

#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace cistern::testing {

namespace {

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// Where the code of librocksdb is.
const Range& RocksDb() {
  static const Range found = [] {
    Range range;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t /*size*/, void* out) {
          if (std::strstr(info->dlpi_name, "librocksdb") == nullptr) return 0;
          auto* const of = static_cast<Range*>(out);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
            of->begin = info->dlpi_addr + part.p_vaddr;
            of->end = of->begin + part.p_memsz;
          }
          return 1;
        },
        &range);
    if (range.begin == 0) std::abort();  // linked in some other way: nothing would be passed over
    return range;
  }();
  return found;
}

bool IsOfRocksDb() {
  bool found = false;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* out) {
        const uintptr_t at = _Unwind_GetIP(frame);
        if (at < RocksDb().begin || at >= RocksDb().end) return _URC_NO_REASON;
        *static_cast<bool*>(out) = true;
        return _URC_NORMAL_STOP;
      },
      &found);
  return found;
}

enum class State : int { kRest, kOnce, kForGood };
std::atomic<State> g_state{State::kRest};
std::atomic<bool> g_all_threads{false};
std::atomic<uint64_t> g_count{0};
std::atomic<uint64_t> g_nth{0};
std::atomic<uint64_t> g_failed_at{0};
thread_local bool t_is_armed = false;
thread_local bool t_looks = false;  // in the unwinder, which may allocate, or at rest

bool ShouldFail() {
  if (g_state.load(std::memory_order_relaxed) == State::kRest || t_looks) return false;
  if (!g_all_threads && !t_is_armed) return false;
  const uint64_t number = ++g_count;
  if (number < g_nth) return false;
  if (g_state == State::kOnce && g_failed_at != 0) return false;
  t_looks = true;
  const bool is_ours = !IsOfRocksDb();
  t_looks = false;
  if (!is_ours) return false;
  uint64_t none = 0;
  const bool is_first = g_failed_at.compare_exchange_strong(none, number);
  return is_first || g_state == State::kForGood;
}

// As the library's own, and a failure that was asked for is final.
void* Allocate(size_t bytes, size_t alignment) {
  if (ShouldFail()) return nullptr;
  while (true) {
    void* memory = nullptr;
    if (alignment == 0) memory = std::malloc(bytes == 0 ? 1 : bytes);
    else if (posix_memalign(&memory, alignment, bytes) != 0) memory = nullptr;
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return nullptr;
    try {
      handler();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
}

void* MustAllocate(size_t bytes, size_t alignment) {
  void* const memory = Allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void FailingNew::Arm(uint64_t nth, Times times, Threads threads) {
  (void)RocksDb();
  (void)IsOfRocksDb();  // the unwinder's first call allocates
  g_count = 0;
  g_nth = nth;
  g_failed_at = 0;
  g_all_threads = threads == Threads::kAll;
  t_is_armed = true;
  g_state = times == Times::kOnce ? State::kOnce : State::kForGood;
}

uint64_t FailingNew::Disarm() {
  g_state = State::kRest;
  t_is_armed = false;
  return g_failed_at;
}

FailingNew::Rest::Rest() { t_looks = true; }
FailingNew::Rest::~Rest() { t_looks = false; }

}  // namespace cistern::testing

using cistern::testing::Allocate;
using cistern::testing::MustAllocate;

void* operator new(size_t bytes) { return MustAllocate(bytes, 0); }
void* operator new[](size_t bytes) { return MustAllocate(bytes, 0); }
void* operator new(size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  return Allocate(bytes, 0);
}
void* operator new[](size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  return Allocate(bytes, 0);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return MustAllocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return MustAllocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*none*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*none*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*at*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*at*/) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*at*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t /*bytes*/, std::align_val_t /*at*/) noexcept {
  std::free(memory);
}
