// WindowWalk: everything that some windows hold, one stored value after the other.
#ifndef CISTERN_STORAGE_WINDOW_WALK_H_
#define CISTERN_STORAGE_WINDOW_WALK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "storage/spill_reader.h"
#include "storage/spill_set.h"

namespace cistern {

// Goes through the windows one behind another: dictionaries, then seals in the order of their
// manifests: header, pages, manifest; then through what of all is in the outbox. Keys are given as
// they are to be in another window: a seal keeps its number.
//
// The windows and the outbox stay as they are meanwhile. One thread.
class WindowWalk {
 public:
  enum class Kind : uint8_t {
    kSegment,      // a header, a page or a dictionary: in the window's family
    kManifest,     // in meta
    kOutboxEntry,  // in meta
  };
  struct Value {
    Kind kind = Kind::kSegment;
    std::string key;  // in the window `target_id`
    std::string bytes;
  };

  WindowWalk(std::shared_ptr<const SpillView> view,
             const std::vector<std::shared_ptr<const WindowFamily>>& windows, uint64_t target_id);

  // The next value; nothing at the end, and then it begins anew. kCorruption names what cannot
  // be read.
  [[nodiscard]] Result<std::optional<Value>> Next();
  // Gives back what it holds of RocksDB, until the next Next().
  void Rest() { iterator_.reset(); }
  // Where the last value lies, for messages: "seal 17 in window 3".
  [[nodiscard]] std::string Place() const;

 private:
  struct Range {  // of keys in meta
    std::shared_ptr<const WindowFamily> window;
    Kind kind = Kind::kManifest;
    std::string prefix;
  };
  // The seal at hand. Of it the header comes first, then each page, the manifest last.
  struct Seal {
    BucketKey bucket;
    std::string header;
    std::string manifest;
    SegmentRef segment;
    uint32_t values_done = 0;
  };
  [[nodiscard]] bool HasDictionaryLeft() const;
  [[nodiscard]] Result<Value> NextDictionary();
  [[nodiscard]] Result<bool> SeekNext();
  [[nodiscard]] Status BeginSeal();
  [[nodiscard]] Result<Value> NextOfSeal();

  const std::shared_ptr<const SpillView> view_;
  const uint64_t target_id_;
  std::vector<Range> ranges_;
  size_t range_ = 0;
  size_t dictionaries_done_ = 0;  // copies, of the range's window
  std::string last_key_;  // in the range; empty: none of it was visited
  std::unique_ptr<rocksdb::Iterator> iterator_;  // at last_key_, if there is one
  std::optional<Seal> seal_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_WALK_H_
