#include "storage/header_iterator.h"

#include <string>
#include <utility>

#include "lib/base/coding.h"
#include "storage/keyspace.h"

namespace cistern {

namespace {

constexpr size_t kRotationBytes = 8;

class HeaderIterator final : public rocksdb::Iterator {
 public:
  HeaderIterator(const IteratorSource& source, bool fill_cache) {
    rocksdb::ReadOptions options;
    options.fill_cache = fill_cache;
    options.iterate_lower_bound = &lower_bound_;
    options.iterate_upper_bound = &upper_bound_;
    it_.reset(source(options));
  }
  void Seek(const rocksdb::Slice& target) override {
    Bound(target);
    it_->Seek(target);
  }
  void SeekForPrev(const rocksdb::Slice& target) override {
    Bound(target);
    it_->SeekForPrev(target);
  }
  // Of the rotation that was sought last.
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  [[nodiscard]] bool Valid() const override { return it_->Valid(); }
  [[nodiscard]] rocksdb::Slice key() const override { return it_->key(); }
  [[nodiscard]] rocksdb::Slice value() const override { return it_->value(); }
  [[nodiscard]] rocksdb::Status status() const override { return it_->status(); }

 private:
  void Bound(const rocksdb::Slice& target) {
    const uint64_t rotation = RotationOfKey(target.ToStringView());
    first_ = HeaderKeyFrom(rotation, "");
    end_ = HeadersEnd(rotation);
    lower_bound_ = first_;
    upper_bound_ = end_;
  }

  // RocksDB goes by these slices, and allows that they change between seeks.
  std::string first_;
  std::string end_;
  rocksdb::Slice lower_bound_;
  rocksdb::Slice upper_bound_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

// As RocksDB's own, and one more block where headers end or begin, and for each dictionary.
class HeadersApartPolicy final : public rocksdb::FlushBlockPolicy {
 public:
  explicit HeadersApartPolicy(std::unique_ptr<rocksdb::FlushBlockPolicy> by_size)
      : by_size_(std::move(by_size)) {}
  bool Update(const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    const bool is_header = IsHeader(key);
    const bool begins = is_header != was_header_ || IsDictionaryKey({key.data(), key.size()});
    const bool changes = !is_first_ && begins;
    is_first_ = false;
    was_header_ = is_header;
    return by_size_->Update(key, value) || changes;
  }

 private:
  // RocksDB's keys have eight bytes more at their end.
  [[nodiscard]] bool IsHeader(const rocksdb::Slice& key) const {
    return key.size() > kRotationBytes && key[kRotationBytes] == header_tag_;
  }

  const char header_tag_ = HeaderKeyFrom(0, "").back();  // behind the rotation
  const std::unique_ptr<rocksdb::FlushBlockPolicy> by_size_;
  bool is_first_ = true;
  bool was_header_ = false;
};

class HeadersApartFactory final : public rocksdb::FlushBlockPolicyFactory {
 public:
  [[nodiscard]] const char* Name() const override { return "cistern.HeadersApart"; }
  rocksdb::FlushBlockPolicy* NewFlushBlockPolicy(
      const rocksdb::BlockBasedTableOptions& options,
      const rocksdb::BlockBuilder& block) const override {
    return new HeadersApartPolicy(std::unique_ptr<rocksdb::FlushBlockPolicy>(
        by_size_.NewFlushBlockPolicy(options, block)));
  }

 private:
  const rocksdb::FlushBlockBySizePolicyFactory by_size_;
};

}  // namespace

uint64_t RotationOfKey(std::string_view key) {
  return key.size() < kRotationBytes ? 0 : GetBig<uint64_t>(key.data());
}

std::unique_ptr<rocksdb::Iterator> NewHeaderIterator(const IteratorSource& source,
                                                     bool fill_cache) {
  return std::make_unique<HeaderIterator>(source, fill_cache);
}

std::unique_ptr<rocksdb::Iterator> NewHeaderIterator(const SegmentFamily& family,
                                                     bool fill_cache) {
  return NewHeaderIterator(
      [&family](const rocksdb::ReadOptions& options) {
        return family.family->db()->NewIterator(options, family.family->handle());
      },
      fill_cache);
}

std::shared_ptr<rocksdb::FlushBlockPolicyFactory> HeadersApart() {
  return std::make_shared<HeadersApartFactory>();
}

}  // namespace cistern
