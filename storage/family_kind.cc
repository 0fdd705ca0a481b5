#include "storage/family_kind.h"

namespace cistern {
namespace {

constexpr std::string_view kJournalPrefix = "journal-";
constexpr std::string_view kSpillPrefix = "spill-";
constexpr std::string_view kWindowPrefix = "window-";
constexpr size_t kDigits = 16;

std::string NumberedName(std::string_view prefix, uint64_t number) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string name(prefix);
  for (size_t i = kDigits; i-- > 0;) name.push_back(kHex[(number >> (4 * i)) & 15]);
  return name;
}

std::optional<uint64_t> ParseNumber(std::string_view name, std::string_view prefix) {
  if (name.size() != prefix.size() + kDigits || !name.starts_with(prefix)) return std::nullopt;
  uint64_t number = 0;
  for (const char c : name.substr(prefix.size())) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') digit = static_cast<uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<uint64_t>(c - 'a') + 10;
    else return std::nullopt;
    number = number << 4 | digit;
  }
  return number;
}

}  // namespace

std::string JournalFamilyName(uint64_t number) { return NumberedName(kJournalPrefix, number); }
std::string SpillFamilyName(uint64_t number) { return NumberedName(kSpillPrefix, number); }
std::string WindowFamilyName(uint64_t number) { return NumberedName(kWindowPrefix, number); }

std::optional<FamilyKind> FamilyKindOf(std::string_view name) {
  if (name == "default") return FamilyKind::kDefault;
  if (name == kMetaFamilyName) return FamilyKind::kMeta;
  if (ParseNumber(name, kJournalPrefix)) return FamilyKind::kJournal;
  if (ParseNumber(name, kSpillPrefix)) return FamilyKind::kSpill;
  if (ParseNumber(name, kWindowPrefix)) return FamilyKind::kWindow;
  return std::nullopt;
}

std::optional<uint64_t> FamilyNumberOf(std::string_view name) {
  for (const std::string_view prefix : {kJournalPrefix, kSpillPrefix, kWindowPrefix}) {
    if (const auto number = ParseNumber(name, prefix)) return number;
  }
  return std::nullopt;
}

}  // namespace cistern
