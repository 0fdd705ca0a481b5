#include "tools/tz_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "cistern/limits.h"

namespace cistern::tool {
namespace {

constexpr size_t kFileBytesMax = 1 << 20;  // the largest of the database has 4 KiB
constexpr size_t kNameBytesMax = 80;
constexpr size_t kHeaderBytes = 44;
constexpr int kRepeatYears = 400;
constexpr int64_t kRepeatS = 146'097LL * 86'400;

// The header of a block: "TZif", a version, 15 bytes of nothing, six counts of four bytes each.
struct BlockHeader {
  char version = 0;
  size_t ut_flags = 0, standard_flags = 0, leaps = 0, changes = 0, kinds = 0, letters = 0;

  // `time_bytes`: 4 in the first block, 8 in the second.
  size_t BodyBytes(size_t time_bytes) const {
    return changes * (time_bytes + 1) + kinds * 6 + letters + leaps * (time_bytes + 4) +
           standard_flags + ut_flags;
  }
};

// Big-endian and signed.
int64_t NumberAt(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return width == 8 ? static_cast<int64_t>(value)
                    : static_cast<int32_t>(static_cast<uint32_t>(value));
}

std::optional<BlockHeader> ParseHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with("TZif")) return std::nullopt;
  BlockHeader header;
  header.version = bytes[4];
  size_t* const counts[] = {&header.ut_flags, &header.standard_flags, &header.leaps,
                            &header.changes, &header.kinds, &header.letters};
  size_t at = 20;
  for (size_t* count : counts) {
    const int64_t value = NumberAt(bytes, at, 4);
    if (value < 0 || static_cast<size_t>(value) > kFileBytesMax) return std::nullopt;
    *count = static_cast<size_t>(value);
    at += 4;
  }
  return header;
}

Status Broken(std::string_view what) {
  return Status::Corruption(fmt::format("is no file of the tz database: {}", what));
}

// The body of a block: times of changes, kind of each, kinds (offset, summer, name), names.
Result<TzTable> ParseBody(std::string_view body, const BlockHeader& header, size_t time_bytes) {
  if (header.leaps != 0) return Broken("it counts leap seconds, which event times do not");
  if (header.kinds == 0) return Broken("it has no offset");
  const size_t kinds_at = header.changes * (time_bytes + 1);
  const size_t letters_at = kinds_at + header.kinds * 6;
  const std::string_view letters = body.substr(letters_at, header.letters);
  TzTable table;
  for (size_t i = 0; i < header.kinds; ++i) {
    const size_t at = kinds_at + i * 6;
    const size_t name_at = static_cast<uint8_t>(body[at + 5]);
    if (name_at >= letters.size()) return Broken("the name of an offset lies outside");
    const std::string_view name = letters.substr(name_at);
    const int64_t offset_s = NumberAt(body, at, 4);
    if (offset_s < -kTzOffsetMaxS || offset_s > kTzOffsetMaxS) return Broken("an offset of days");
    table.kinds.push_back({static_cast<int32_t>(offset_s),
                           std::string(name.substr(0, name.find('\0')))});
  }
  for (size_t i = 0; i < header.changes; ++i) {
    const int64_t at_s = NumberAt(body, i * time_bytes, time_bytes);
    const auto kind = static_cast<uint8_t>(body[header.changes * time_bytes + i]);
    if (kind >= table.kinds.size()) return Broken("a change to an offset that it has not");
    if (i > 0 && at_s <= table.changes.back().at_s) return Broken("changes out of order");
    if (at_s > limits::kEventSecondsMax) return Broken("a change after the year 9999");
    table.changes.push_back({at_s, kind});
  }
  return table;
}

int YearOf(int64_t utc_s) {
  const std::chrono::sys_seconds at{std::chrono::seconds(utc_s)};
  return static_cast<int>(
      std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(at)).year());
}

// Adds the changes of 400 years by `rule`, after those that the file lists.
void Continue(const TzRule& rule, TzTable* table) {
  if (!rule.summer) return;
  const auto standard = static_cast<uint32_t>(table->kinds.size());
  table->kinds.push_back(rule.standard);
  table->kinds.push_back(*rule.summer);
  const int64_t last_s = table->changes.empty() ? INT64_MIN : table->changes.back().at_s;
  const int first_year = last_s < limits::kEventSecondsMin ? 1 : YearOf(last_s);
  std::vector<TzRule::Change> more;
  for (int year = first_year; year <= first_year + kRepeatYears + 2; ++year) {
    for (const TzRule::Change& change : rule.ChangesOf(year)) {
      if (change.at_s > last_s) more.push_back(change);
    }
  }
  // Summer time that begins as it ends goes on.
  std::sort(more.begin(), more.end(), [](const TzRule::Change& a, const TzRule::Change& b) {
    return a.at_s != b.at_s ? a.at_s < b.at_s : !a.to_summer && b.to_summer;
  });
  for (const TzRule::Change& change : more) {
    table->changes.push_back({change.at_s, standard + (change.to_summer ? 1 : 0)});
  }
  const std::chrono::sys_days begins{std::chrono::year(first_year + 2) / 1 / 1};
  table->repeats_from_s = int64_t{begins.time_since_epoch().count()} * 86'400;
}

// A name from outside never leaves the folder of the database.
bool IsZoneName(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  char before = '/';
  for (const char c : name) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == '/' && before == '/') return false;
    if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '+' && c != '-' && c != '/') {
      return false;
    }
    before = c;
  }
  return before != '/';
}

// The folder of the database; empty if the system has none.
std::string TzFolder() {
  std::error_code ignored;
  if (const char* given = std::getenv("TZDIR"); given != nullptr && *given != '\0') return given;
  for (const char* folder : {"/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo",
                             "/etc/zoneinfo"}) {
    if (std::filesystem::is_directory(folder, ignored)) return folder;
  }
  return {};
}

}  // namespace

// By how much a time lies behind the one of the table at which clocks do the same.
int64_t TzTable::ShiftOf(int64_t s) const {
  if (repeats_from_s == INT64_MAX || s < repeats_from_s + kRepeatS) return 0;
  return (s - repeats_from_s) / kRepeatS * kRepeatS;
}

TzPeriod TzTable::PeriodAt(int64_t utc_s) const {
  const int64_t shift_s = ShiftOf(utc_s);
  const auto next = std::upper_bound(changes.begin(), changes.end(), utc_s - shift_s,
                                     [](int64_t s, const Change& c) { return s < c.at_s; });
  TzPeriod period{kinds[0].offset_s};
  if (next != changes.begin()) {
    period.offset_s = kinds[std::prev(next)->kind].offset_s;
    period.from_s = std::prev(next)->at_s + shift_s;
  }
  if (next != changes.end()) period.to_s = next->at_s + shift_s;
  return period;
}

TzTable::Moments TzTable::MomentsOf(int64_t local_s) const {
  const int64_t shift_s = ShiftOf(local_s);
  const int64_t shifted_s = local_s - shift_s;
  // Of every offset that is in force within its reach: is it in force at the moment it leads to?
  const auto first = std::upper_bound(changes.begin(), changes.end(), shifted_s - kTzOffsetMaxS,
                                      [](int64_t s, const Change& c) { return s < c.at_s; });
  auto next = first;
  Moments found;
  found.before = &kinds[first == changes.begin() ? 0 : std::prev(first)->kind];
  found.after = found.before;
  int64_t since_s = INT64_MIN;
  for (;; ++next) {
    const bool last = next == changes.end();
    const int64_t until_s = last ? INT64_MAX : next->at_s;
    const int64_t utc_s = shifted_s - found.after->offset_s;
    if (utc_s >= since_s && utc_s < until_s && found.count < Moments::kMax) {
      found.at[found.count++] = {utc_s + shift_s, found.after};
    }
    if (last || until_s > shifted_s + kTzOffsetMaxS) return found;
    since_s = until_s;
    found.after = &kinds[next->kind];
  }
}

Result<TzTable> ParseTzFile(std::string_view bytes) {
  std::optional<BlockHeader> header = ParseHeader(bytes);
  if (!header) return Broken("it does not begin as one");
  bytes.remove_prefix(kHeaderBytes);
  size_t time_bytes = 4;
  if (header->version != '\0') {
    // The first block is for readers that know no 64-bit times.
    if (bytes.size() < header->BodyBytes(4)) return Broken("it is cut off");
    bytes.remove_prefix(header->BodyBytes(4));
    header = ParseHeader(bytes);
    if (!header) return Broken("its second block does not begin as one");
    bytes.remove_prefix(kHeaderBytes);
    time_bytes = 8;
  }
  const size_t body_bytes = header->BodyBytes(time_bytes);
  if (bytes.size() < body_bytes) return Broken("it is cut off");
  CISTERN_ASSIGN_OR_RETURN(TzTable table,
                           ParseBody(bytes.substr(0, body_bytes), *header, time_bytes));
  if (time_bytes == 4) return table;
  const std::string_view footer = bytes.substr(body_bytes);
  const size_t end = footer.find('\n', 1);
  if (footer.empty() || footer.front() != '\n' || end == std::string_view::npos) {
    return Broken("it ends without a rule");
  }
  if (end == 1) return table;  // no rule: the last offset stays
  const std::optional<TzRule> rule = TzRule::Parse(footer.substr(1, end - 1));
  if (!rule) return Broken(fmt::format("'{}' is no rule", footer.substr(1, end - 1)));
  Continue(*rule, &table);
  return table;
}

Result<TzTable> ReadTzFile(std::string_view name) {
  const std::string folder = TzFolder();
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) {
    return Status::NotFound(fmt::format(
        "'{}' cannot be looked up: this system has no tz database in {}; install tzdata",
        name.substr(0, kNameBytesMax), folder.empty() ? "/usr/share/zoneinfo" : folder));
  }
  const std::string path = fmt::format("{}/{}", folder, name.substr(0, kNameBytesMax));
  std::string bytes;
  if (IsZoneName(name) && std::filesystem::is_regular_file(path, ignored)) {
    std::ifstream file(path, std::ios::binary);
    bytes.resize(kFileBytesMax);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(file.gcount()));
  }
  if (!bytes.starts_with("TZif")) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no zone of the tz database in {}; expected a name such as "
                    "Europe/Berlin, or UTC", name.substr(0, kNameBytesMax), folder));
  }
  Result<TzTable> table = ParseTzFile(bytes);
  if (table.ok()) return table;
  return Status(table.status().code(), fmt::format("{} {}", path, table.status().message()));
}

}  // namespace cistern::tool
