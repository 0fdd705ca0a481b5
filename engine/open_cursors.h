// OpenCursors: the cursors that are open on one core, so that it can end them.
#ifndef CISTERN_ENGINE_OPEN_CURSORS_H_
#define CISTERN_ENGINE_OPEN_CURSORS_H_

#include <cstddef>
#include <mutex>
#include <string>

#include "cistern/limits.h"
#include "cistern/status.h"

namespace cistern {

// Thread-safe. A list through the cursors themselves: opening one allocates nothing for it.
class OpenCursors {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;
    // Lets go of the store, with what the cursor answers from now on. False: it is being read, and
    // was left as it is.
    [[nodiscard]] virtual bool TryEnd(const Status& why) = 0;

   private:
    friend class OpenCursors;
    Entry* before_ = nullptr;
    Entry* behind_ = nullptr;
    bool is_listed_ = false;
  };

  // kTooLarge: limits::kCursorCountMax are open.
  [[nodiscard]] Status Add(Entry* entry) {
    const std::lock_guard lock(mutex_);
    if (count_ >= limits::kCursorCountMax) {
      return Status::TooLarge("at most " + std::to_string(limits::kCursorCountMax) +
                              " cursors may be open: destroy those that are read");
    }
    ++count_;
    entry->is_listed_ = true;
    entry->behind_ = first_;
    if (first_ != nullptr) first_->before_ = entry;
    first_ = entry;
    return Status::Ok();
  }

  // Nothing, if it was ended.
  void Remove(Entry* entry) {
    const std::lock_guard lock(mutex_);
    Unlink(entry);
  }

  // Ends each that nobody reads at this moment.
  void EndAll(const Status& why) {
    const std::lock_guard lock(mutex_);
    for (Entry* entry = first_; entry != nullptr;) {
      Entry* const next = entry->behind_;
      if (entry->TryEnd(why)) Unlink(entry);
      entry = next;
    }
  }

  [[nodiscard]] size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  // REQUIRES: mutex_.
  void Unlink(Entry* entry) {
    if (!entry->is_listed_) return;
    (entry->before_ == nullptr ? first_ : entry->before_->behind_) = entry->behind_;
    if (entry->behind_ != nullptr) entry->behind_->before_ = entry->before_;
    entry->before_ = entry->behind_ = nullptr;
    entry->is_listed_ = false;
    --count_;
  }

  mutable std::mutex mutex_;
  Entry* first_ = nullptr;
  size_t count_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_OPEN_CURSORS_H_
