#include "engine/seal/seal_dictionaries.h"

#include <algorithm>
#include <functional>

#include "cistern/limits.h"
#include "lib/codec/text_codec.h"
#include "storage/window_dictionaries.h"

namespace cistern {

namespace {

bool MayHaveOne(const ColumnSpec& column) {
  const bool is_stored =
      column.role == ColumnRole::kClustering || column.role == ColumnRole::kRegular;
  const CqlType kind = column.type.kind;
  return is_stored && (kind == CqlType::kText || kind == CqlType::kAscii || kind == CqlType::kBlob);
}

// A dictionary that cannot be read is none: pages that name it are damaged, and others go on.
Result<std::shared_ptr<const ZstdDictionary>> ReadIfWhole(const SegmentFamily& window,
                                                          uint64_t number) {
  auto dictionary = ReadDictionary(window, number);
  const StatusCode code = dictionary.status().code();
  if (code == StatusCode::kCorruption || code == StatusCode::kTooNew) {
    return std::shared_ptr<const ZstdDictionary>();
  }
  return dictionary;
}

}  // namespace

void SealDictionaries::Begin(std::shared_ptr<const SpillView> view,
                             std::shared_ptr<const SegmentFamily> window) {
  view_ = std::move(view);
  window_ = std::move(window);
  written_.clear();
  known_.clear();
  numbers_.clear();
  room_ = limits::kWindowDictionariesMax;
  for (const auto& window_there : view_->windows) {
    if (window_there->id == window_->id) known_ = window_there->record.dictionaries;
  }
  for (const WindowDictionary& d : known_) numbers_[{d.table_id, d.column}] = d.number;
  room_ -= std::min(room_, known_.size());
}

void SealDictionaries::End() {
  view_.reset();
  window_.reset();
  written_.clear();
  known_.clear();
  numbers_.clear();
  for (auto& [name, column] : columns_) {
    column.in_window = {};
    column.is_left_aside = false;
  }
  charge_.Set(MemoryBytes());
}

// A column that is met for the first time begins with what was trained before, in whatever window.
Result<SealDictionaries::Column*> SealDictionaries::FindColumn(const Name& name) {
  const auto known = columns_.find(name);
  if (known != columns_.end()) return &known->second;
  if (columns_.size() >= limits::kDictionaryColumnsMax) return static_cast<Column*>(nullptr);
  Column& column = columns_[name];
  CISTERN_RETURN_IF_ERROR(AdoptNewest(name, &column.trainer));
  return &column;
}

// The newest that can be read.
Status SealDictionaries::AdoptNewest(const Name& name, TextTrainer* trainer) {
  std::map<uint64_t, const SegmentFamily*, std::greater<>> there;  // by number
  for (const auto& window : view_->windows) {
    for (const WindowDictionary& d : window->record.dictionaries) {
      if (d.table_id == name.first && d.column == name.second) there[d.number] = window.get();
    }
  }
  if (there.empty() || !TryCharge(charge_.bytes() + kDictionaryMemoryBytes)) return Status::Ok();
  size_t tries = 0;
  for (const auto& [number, window] : there) {
    if (++tries > kAdoptTriesMax) break;
    CISTERN_ASSIGN_OR_RETURN(auto dictionary, ReadIfWhole(*window, number));
    if (dictionary == nullptr) continue;
    trainer->Adopt(std::move(dictionary));
    break;
  }
  charge_.Set(MemoryBytes());  // what was not taken is given back
  return Status::Ok();
}

// Brings column->in_window to the newest dictionary of the column in the window.
Status SealDictionaries::FindInWindow(const Name& name, Column* column) {
  const auto number = numbers_.find(name);
  if (number == numbers_.end() || column->in_window.number == number->second) return Status::Ok();
  column->in_window = {number->second, nullptr};
  CISTERN_ASSIGN_OR_RETURN(auto there, ReadIfWhole(*window_, number->second));
  if (there == nullptr) return Status::Ok();
  // What was trained in this run is in memory already, with the tables for writing.
  const auto& own = column->trainer.dictionary();
  const bool is_own = own != nullptr && own->bytes() == there->bytes();
  column->is_left_aside = !is_own && !TryCharge(charge_.bytes() + kDictionaryMemoryBytes);
  if (column->is_left_aside) return Status::Ok();
  column->in_window.dictionary = is_own ? own : std::move(there);
  return Status::Ok();
}

// For nothing where it could not be kept, or not be written.
void SealDictionaries::Train(TextTrainer* trainer) {
  if (may_write_ && TryCharge(charge_.bytes() + kDictionaryMemoryBytes)) {
    trainer->Train(budget_);
  } else {
    trainer->RestLonger();
  }
}

// Whether the window is to get the column's dictionary, or a better one than it has.
bool SealDictionaries::IsDueIn(size_t text_bytes, Column* column) const {
  const auto& best = column->trainer.dictionary();
  const auto& there = column->in_window.dictionary;
  if (!may_write_ || best == nullptr || room_ == 0 || column->is_left_aside ||
      (there != nullptr && there->bytes() == best->bytes())) {
    return false;
  }
  if (column->missed_window != window_->id) {
    column->missed_window = window_->id;
    column->missed_bytes = 0;
  }
  column->missed_bytes += there == nullptr
                              ? column->trainer.SavedBytes(text_bytes)
                              : column->trainer.SavedBytesBeside(*there, text_bytes);
  return column->missed_bytes >=
         static_cast<double>(kDictionaryCopies * best->bytes().size());
}

Status SealDictionaries::ServeColumn(const Name& name, const ColumnData& cells, Column* column,
                                     SpillWriter* writer) {
  CISTERN_RETURN_IF_ERROR(FindInWindow(name, column));
  column->trainer.Note(cells);
  if (column->trainer.IsDue()) Train(&column->trainer);
  Charge(column);
  if (!IsDueIn(cells.heap.size(), column)) return Status::Ok();
  const auto& best = column->trainer.dictionary();
  CISTERN_ASSIGN_OR_RETURN(const uint64_t number, writer->AddDictionary(*best));
  written_.push_back({name.first, name.second, number});
  known_.push_back(written_.back());
  numbers_[name] = number;
  column->in_window = {number, best};
  column->missed_bytes = 0;
  --room_;
  return Status::Ok();
}

Status SealDictionaries::Serve(uint32_t table_id, const TableSchema& schema,
                               const VersionColumns& rows, SpillWriter* writer) {
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!MayHaveOne(schema.columns[c]) || rows.columns[c].heap.empty() ||
        rows.columns[c].heap.size() > kDictionaryCellBytesMax) {
      continue;
    }
    const Name name{table_id, schema.columns[c].name};
    CISTERN_ASSIGN_OR_RETURN(Column* const column, FindColumn(name));
    if (column == nullptr) continue;
    CISTERN_RETURN_IF_ERROR(ServeColumn(name, rows.columns[c], column, writer));
    writer->UseDictionary(c, column->in_window);
  }
  return Status::Ok();
}

size_t SealDictionaries::MemoryBytes() const {
  size_t bytes = 0;
  for (const auto& [name, column] : columns_) {
    const auto& there = column.in_window.dictionary;
    bytes += column.trainer.MemoryBytes();
    if (there != nullptr && there != column.trainer.dictionary()) bytes += there->WriterBytes();
  }
  return bytes;
}

// Where memory is short nothing is gathered, then no other one is kept beside the window's, and
// where that is not enough the column goes without.
void SealDictionaries::Charge(Column* column) {
  if (TryCharge(MemoryBytes())) return;
  column->trainer.Rest();
  if (TryCharge(MemoryBytes())) return;
  column->trainer.Forget();
  if (TryCharge(MemoryBytes())) return;
  column->in_window.dictionary = nullptr;
  column->is_left_aside = true;
  charge_.Set(MemoryBytes());
}

}  // namespace cistern
