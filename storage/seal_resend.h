// SealResend: which confirmed seals upstream is to be sent once more, and how far that has come.
#ifndef CISTERN_STORAGE_SEAL_RESEND_H_
#define CISTERN_STORAGE_SEAL_RESEND_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cistern {

// Made with the first three, and given to one step after the other until it is over. What is
// sealed after the first step is not looked at.
struct SealResend {
  uint32_t table_id = 0;
  int64_t from_s = 0;  // buckets that start in [from_s, to_s), seconds since 1970
  int64_t to_s = 0;

  uint64_t seal_count = 0;  // so far, back in the outbox
  bool is_over = false;
  // --- where it goes on; the store's
  std::optional<uint64_t> round_last = {};  // of the first step
  uint64_t window_id = 0;                   // the windows below it were looked through
  std::string key_last = {};  // of meta, the last that was looked at in the window; empty: none
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEAL_RESEND_H_
