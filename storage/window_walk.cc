#include "storage/window_walk.h"

#include <string_view>
#include <utility>

#include "lib/base/concat.h"
#include "lib/segment/dictionary_value.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"
#include "storage/window_dictionaries.h"

namespace cistern {

WindowWalk::WindowWalk(std::shared_ptr<const SpillView> view,
                       const std::vector<std::shared_ptr<const WindowFamily>>& windows,
                       uint64_t target_id)
    : view_(std::move(view)), target_id_(target_id) {
  for (const auto& window : windows) {
    ranges_.push_back({window, Kind::kManifest, ManifestKeyFrom(window->id, "")});
  }
  for (const auto& window : windows) {
    ranges_.push_back({window, Kind::kOutboxEntry, OutboxKeyFrom(window->id)});
  }
}

Result<std::optional<WindowWalk::Value>> WindowWalk::Next() {
  for (; !seal_ && range_ < ranges_.size(); ++range_, last_key_.clear(), dictionaries_done_ = 0) {
    if (HasDictionaryLeft()) {
      CISTERN_ASSIGN_OR_RETURN(Value value, NextDictionary());
      return std::optional<Value>(std::move(value));
    }
    CISTERN_ASSIGN_OR_RETURN(const bool found, SeekNext());
    if (!found) continue;
    const Range& range = ranges_[range_];
    if (range.kind == Kind::kOutboxEntry) {
      std::string key = OutboxKeyFrom(target_id_) + last_key_.substr(range.prefix.size());
      return std::optional<Value>({range.kind, std::move(key), iterator_->value().ToString()});
    }
    CISTERN_RETURN_IF_ERROR(BeginSeal());
    break;
  }
  if (seal_) {
    CISTERN_ASSIGN_OR_RETURN(Value value, NextOfSeal());
    return std::optional<Value>(std::move(value));
  }
  range_ = 0;
  return std::optional<Value>();
}

bool WindowWalk::HasDictionaryLeft() const {
  const Range& range = ranges_[range_];
  return range.kind == Kind::kManifest &&
         dictionaries_done_ < range.window->record.dictionaries.size() * kDictionaryCopies;
}

// A copy that is damaged is made anew of the other one.
Result<WindowWalk::Value> WindowWalk::NextDictionary() {
  const WindowFamily& window = *ranges_[range_].window;
  const uint64_t number = window.record.dictionaries[dictionaries_done_ / kDictionaryCopies].number;
  const auto copy = static_cast<uint8_t>(dictionaries_done_ % kDictionaryCopies);
  CISTERN_ASSIGN_OR_RETURN(const auto dictionary, ReadDictionary(window, number));
  ++dictionaries_done_;
  return Value{Kind::kSegment, DictionaryKey(number, copy), EncodeDictionary(number, *dictionary)};
}

// Brings the iterator to the key behind last_key_; false: the range is over.
Result<bool> WindowWalk::SeekNext() {
  const bool stands = iterator_ && !last_key_.empty();
  if (!iterator_) iterator_ = NewManifestIterator(*view_);
  const std::string& prefix = ranges_[range_].prefix;
  if (stands) {
    iterator_->Next();
  } else {
    iterator_->Seek(last_key_.empty() ? prefix : last_key_ + '\0');
  }
  if (!iterator_->status().ok()) {
    return ToReadStatus(iterator_->status(), "reading the manifests and the outbox");
  }
  if (!iterator_->Valid() || !iterator_->key().starts_with(prefix)) return false;
  last_key_ = iterator_->key().ToString();
  return true;
}

Status WindowWalk::BeginSeal() {
  const WindowFamily& window = *ranges_[range_].window;
  const std::optional<ManifestName> name = ParseManifestKey(last_key_);
  if (!name) return Status::Corruption(Concat({window.Name(), ": a manifest key does not parse"}));
  const std::string where = Concat({"seal ", name->seal, " in ", window.Name()});
  Seal seal;
  seal.bucket = name->bucket;
  seal.manifest = iterator_->value().ToString();
  const uint64_t round = RotationOf(name->seal);
  const rocksdb::Status s =
      window.family->db()->Get(rocksdb::ReadOptions(), window.family->handle(),
                               HeaderKey(round, name->bucket), &seal.header);
  if (s.IsNotFound()) return Status::Corruption(Concat({"the header of ", where, " is missing"}));
  if (!s.ok()) return ToReadStatus(s, "the header of " + where);
  const auto family = std::make_shared<const SegmentFamily>(window);
  CISTERN_ASSIGN_OR_RETURN(seal.segment, MakeSegmentRef(family, round, seal.header));
  if (seal.segment.id != name->seal) {
    return Status::Corruption(Concat({where, ": its segment has another number"}));
  }
  seal_ = std::move(seal);
  return Status::Ok();
}

Result<WindowWalk::Value> WindowWalk::NextOfSeal() {
  Seal& seal = *seal_;
  const uint64_t id = seal.segment.id;
  const uint32_t done = seal.values_done++;
  if (done == 0) {
    return Value{Kind::kSegment, HeaderKey(RotationOf(id), seal.bucket), std::move(seal.header)};
  }
  if (done <= seal.segment.header.pages.size()) {
    CISTERN_ASSIGN_OR_RETURN(std::string page, ReadPage(seal.segment, done - 1));
    return Value{Kind::kSegment, PageKey(id, done - 1), std::move(page)};
  }
  Value manifest{Kind::kManifest, ManifestKey(target_id_, seal.bucket, id),
                 std::move(seal.manifest)};
  seal_.reset();
  return manifest;
}

std::string WindowWalk::Place() const {
  if (range_ >= ranges_.size()) return "the windows";
  const Range& range = ranges_[range_];
  if (range.kind == Kind::kOutboxEntry) return "the outbox of " + range.window->Name();
  const std::optional<ManifestName> name = ParseManifestKey(last_key_);
  return (name ? Concat({"seal ", name->seal, " in "}) : "") + range.window->Name();
}

}  // namespace cistern
