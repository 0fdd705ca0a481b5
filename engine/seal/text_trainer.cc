#include "engine/seal/text_trainer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/checksum.h"
#include "lib/codec/text_codec.h"

namespace cistern {

namespace {

constexpr size_t kTestedOf = 4;  // each fourth page is not trained on but compared
// A dictionary that saves less than 5 % does not pay for its tables, one that is not 10 % better
// than the one that is there not for being written once more.
constexpr double kWorthwhile = 0.95;
constexpr double kBetter = 0.9;
constexpr double kSavedShareUntold = 0.1;  // of one from another run
// As long as any name that a page may give it.
constexpr uint64_t kNumberUntold = UINT64_MAX >> 8;

}  // namespace

void TextTrainer::Note(const ColumnData& column) {
  if (IsDue() || column.heap.empty() || column.heap.size() > kDictionaryCellBytesMax) return;
  if (pages_to_rest_ > 0) {
    --pages_to_rest_;
    return;
  }
  const size_t enough = samples_.heap.size() + kSampleBytes;
  const size_t before = samples_.size();
  for (size_t i = 0; i < column.size() && samples_.heap.size() < enough; ++i) {
    // Empty ones say nothing, and there may be any number of them.
    if (column.offsets[i + 1] > column.offsets[i]) samples_.AppendBytes(column.bytes(i));
  }
  if (samples_.size() > before) page_ends_.push_back(samples_.size());
}

std::vector<std::string_view> TextTrainer::CellsOf(size_t page) const {
  std::vector<std::string_view> cells;
  const size_t begin = page == 0 ? 0 : page_ends_[page - 1];
  for (size_t i = begin; i < page_ends_[page]; ++i) cells.push_back(samples_.bytes(i));
  return cells;
}

std::shared_ptr<const ZstdDictionary> TextTrainer::TrainOnSome() const {
  std::string heap;
  std::vector<size_t> sizes;
  for (size_t page = 0; page < page_ends_.size(); ++page) {
    if (page % kTestedOf == 0) continue;
    const size_t before = heap.size();
    for (const std::string_view cell : CellsOf(page)) heap += cell;
    sizes.push_back(heap.size() - before);
  }
  std::string bytes = TrainDictionary(heap, sizes);
  if (bytes.empty()) return nullptr;
  auto trained = ZstdDictionary::Make(std::move(bytes));
  return trained.ok() ? *std::move(trained) : nullptr;
}

TextTrainer::Sizes TextTrainer::Compare(
    const std::shared_ptr<const ZstdDictionary>& trained) const {
  Sizes sizes;
  const auto size_with = [](const std::vector<std::string_view>& cells,
                            const std::shared_ptr<const ZstdDictionary>& dictionary) {
    std::string bytes;
    (void)EncodeText(cells, {kNumberUntold, dictionary}, &bytes);
    return bytes.size();
  };
  for (size_t page = 0; page < page_ends_.size(); page += kTestedOf) {
    const std::vector<std::string_view> cells = CellsOf(page);
    if (cells.empty()) continue;
    sizes.plain += size_with(cells, nullptr);
    sizes.as_before += size_with(cells, dictionary_);
    sizes.trained += size_with(cells, trained);
    for (const std::string_view cell : cells) sizes.text += cell.size();
  }
  return sizes;
}

void TextTrainer::Train(MemoryBudget* budget) {
  CISTERN_CHECK(IsDue());
  MemoryCharge charge(budget);
  if (charge.TrySet(kTrainingBytes)) Judge(TrainOnSome());
  Rest();
}

void TextTrainer::Judge(std::shared_ptr<const ZstdDictionary> trained) {
  const Sizes sizes = Compare(trained);
  const auto is_below = [](size_t bytes, double share, size_t of) {
    return static_cast<double>(bytes) < share * static_cast<double>(of);
  };
  const auto share = [&sizes](size_t from, size_t to) {
    return static_cast<double>(from - std::min(from, to)) /
           static_cast<double>(std::max<size_t>(sizes.text, 1));
  };
  const bool had_one = dictionary_ != nullptr;
  const bool is_taken = trained != nullptr && is_below(sizes.trained, kWorthwhile, sizes.plain) &&
                        (!had_one || is_below(sizes.trained, kBetter, sizes.as_before));
  if (is_taken) {
    saved_share_ = share(sizes.plain, sizes.trained);
    saved_share_beside_former_ = share(sizes.as_before, sizes.trained);
    former_checksum_ = had_one ? Checksum(dictionary_->bytes()) : 0;
    dictionary_ = std::move(trained);
    rest_doublings_ = 0;
    return;
  }
  rest_doublings_ = std::min(rest_doublings_ + 1, kRestDoublingsMax);
  saved_share_ = share(sizes.plain, sizes.as_before);
  if (!is_below(sizes.as_before, kWorthwhile, sizes.plain)) dictionary_ = nullptr;
}

void TextTrainer::Adopt(std::shared_ptr<const ZstdDictionary> dictionary) {
  dictionary_ = std::move(dictionary);
  saved_share_ = kSavedShareUntold;
  former_checksum_ = 0;
}

void TextTrainer::Forget() {
  dictionary_ = nullptr;
  RestLonger();
}

void TextTrainer::RestLonger() {
  rest_doublings_ = std::min(rest_doublings_ + 1, kRestDoublingsMax);
  Rest();
}

void TextTrainer::Rest() {
  samples_.Clear();
  samples_.heap.shrink_to_fit();
  samples_.offsets.shrink_to_fit();
  page_ends_.clear();
  pages_to_rest_ = kRestPages << rest_doublings_;
}

double TextTrainer::SavedBytes(size_t text_bytes) const {
  return saved_share_ * static_cast<double>(std::min(text_bytes, kSampleBytes));
}

double TextTrainer::SavedBytesBeside(const ZstdDictionary& other, size_t text_bytes) const {
  if (former_checksum_ == 0 || Checksum(other.bytes()) != former_checksum_) return 0;
  return saved_share_beside_former_ * static_cast<double>(std::min(text_bytes, kSampleBytes));
}

size_t TextTrainer::MemoryBytes() const {
  return samples_.MemoryBytes() + page_ends_.capacity() * sizeof(size_t) +
         (dictionary_ ? dictionary_->WriterBytes() : 0);
}

}  // namespace cistern
