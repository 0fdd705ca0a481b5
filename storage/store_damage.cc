// Opening: which row versions are in files that cannot be used, or in families whose record
// is damaged, and where they would be.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "storage/damage_advice.h"
#include "storage/header_iterator.h"
#include "storage/seal_reader.h"
#include "storage/segment_walker.h"
#include "storage/store.h"
#include "storage/window_dictionaries.h"

namespace cistern {

namespace {

// What a file spans: its keys, and the rotations of these.
struct FileSpan {
  FileSpan(std::string smallest, std::string largest)
      : first_key(std::move(smallest)), last_key(std::move(largest)) {}
  std::string first_key;
  std::string last_key;
  uint64_t first = RotationOfKey(first_key);
  uint64_t last = RotationOfKey(last_key);
};

// What rotations of the families hold, as far as the MANIFEST tells: of each the last file
// ends with its extent. A file that holds several has only the last one's.
class Extents {
 public:
  explicit Extents(const std::vector<rocksdb::LiveFileMetaData>& files) {
    for (const auto& file : files) {
      const auto extent = ParseExtentKey(file.largestkey);
      if (extent) by_rotation_[extent->rotation] = *extent;
    }
  }
  [[nodiscard]] RotationExtent Of(const FileSpan& span) const {
    const auto found = by_rotation_.find(span.last);
    if (span.first == span.last && found != by_rotation_.end()) return found->second;
    return {.rotation = span.last,
            .version_count = 0,
            .table_first = 0,
            .table_last = UINT32_MAX,
            .start_first_s = INT64_MIN,
            .start_last_s = INT64_MAX};
  }

 private:
  std::map<uint64_t, RotationExtent> by_rotation_;
};

std::string DayOf(int64_t start_s) {
  const CivilDate date = CivilFromDays(FloorDiv(start_s, kSecondsPerDay));
  const auto two = [](uint32_t n) { return std::to_string(100 + n).substr(1); };
  return Concat({date.year, "-", two(date.month), "-", two(date.day)});
}

// ", of buckets that start from 2027-01-15 to 2027-01-16"; empty where it is not known.
std::string WhenText(const std::vector<RotationExtent>& extents) {
  int64_t first_s = INT64_MAX;
  int64_t last_s = INT64_MIN;
  for (const RotationExtent& e : extents) {
    first_s = std::min(first_s, e.start_first_s);
    last_s = std::max(last_s, e.start_last_s);
  }
  if (first_s == INT64_MIN || last_s == INT64_MAX || first_s > last_s) return "";
  return Concat({", of buckets that start from ", DayOf(first_s), " to ", DayOf(last_s)});
}

// Notes what of a segment's pages was in lost files, as a scan that met them would: a rotation
// may have several files, and its headers are in the last of them. Returns their versions.
uint64_t NoteLostPages(const SegmentRef& segment, const std::vector<FileSpan>& lost,
                       Damage* damage) {
  uint64_t count = 0;
  for (uint32_t page = 0; page < segment.header.pages.size(); ++page) {
    const std::string key = PageKey(segment.id, page);
    const bool may_be_lost = std::any_of(lost.begin(), lost.end(), [&key](const FileSpan& file) {
      return key >= file.first_key && key <= file.last_key;
    });
    if (!may_be_lost || ReadPage(segment, page).ok()) continue;
    damage->NotePage(segment.family->id, segment.id, page, segment.header.pages[page].row_count);
    count += segment.header.pages[page].row_count;
  }
  return count;
}

// What the files that are left of a spill family tell of the row versions of open buckets.
struct SpillRest {
  uint64_t under_headers = 0;  // by headers that can be read; up to the first damage of one
  uint64_t in_lost_pages = 0;  // of those
};

SpillRest ReadRest(const SpillView& view, const std::shared_ptr<const SpillFamily>& family,
                   const std::vector<FileSpan>& lost, Damage* damage) {
  auto alone = std::make_shared<SpillView>();
  alone->families = {family};
  alone->windows = view.windows;
  alone->ended = view.ended;
  alone->meta = view.meta;
  alone->round_last = view.round_last;
  SegmentWalker walker(std::move(alone), "");
  SpillRest rest;
  while (true) {
    const auto item = walker.Next();
    if (!item.ok() || !*item) return rest;
    const SegmentRef& segment = (*item)->segment;
    rest.under_headers += segment.header.row_count + segment.header.deletes.size();
    rest.in_lost_pages += NoteLostPages(segment, lost, damage);
  }
}

// Notes what of a seal cannot be read; returns its versions.
uint64_t NoteSeal(const ManifestWalker::Item& item, Damage* damage) {
  const uint64_t window = item.window->id;
  const Result<SegmentRef> segment = ReadSealedSegment(item.window, item.bucket, item.seal);
  if (!segment.ok()) {
    damage->NoteSegment(window, item.seal, item.manifest.version_count());
    return item.manifest.version_count();
  }
  uint64_t count = 0;
  for (uint32_t page = 0; page < segment->header.pages.size(); ++page) {
    if (ReadPage(*segment, page).ok()) continue;
    damage->NotePage(window, item.seal, page, segment->header.pages[page].row_count);
    count += segment->header.pages[page].row_count;
  }
  return count;
}

}  // namespace

// One line for each family that has lost files.
struct Store::LostFamily {
  FamilyKind kind = FamilyKind::kSpill;
  std::string files;  // names, with what is wrong
  std::vector<FileSpan> spans;  // of the files
};

void Store::FindDamage(RecoveryReport* report) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->db()->GetLiveFilesMetaData(&files);
  const Extents extents(files);
  for (const DamagedRecord& record : damaged_) {
    if (!record.family || versions_quarantined_ == 0) continue;
    LostRotations lost{record.family_id, WithoutDamageAdvice(record.what), 0, {}};
    for (const auto& file : files) {
      if (file.column_family_name != SpillFamilyName(record.family_id)) continue;
      lost.extents.push_back(extents.Of({file.smallestkey, file.largestkey}));
    }
    damage_.AddLostRotations(std::move(lost));
  }
  std::map<uint64_t, LostFamily> families;
  for (const LostTable& table : db_->opened().lost_tables) {
    LostFamily& family = families[table.family_id];
    family.kind = table.kind;
    family.files += Concat({(family.files.empty() ? "" : ", "), table.name, " (", table.why, ")"});
    family.spans.emplace_back(table.smallest_key, table.largest_key);
  }
  report->files_damaged = db_->opened().lost_tables.size();
  const std::shared_ptr<const SpillView> view = spills_.view();
  for (const auto& [id, family] : families) {
    std::vector<RotationExtent> where;
    for (const FileSpan& span : family.spans) where.push_back(extents.Of(span));
    const bool is_spill = family.kind == FamilyKind::kSpill;
    std::optional<LostRotations> lost = is_spill
                                            ? FindLostSpill(*view, id, family, std::move(where))
                                            : FindLostSeals(view, id, family);
    if (!lost) {
      damage_.AddLostFiles(Concat({"spill family ", id, " cannot be read as a whole: ",
          family.files, "; nothing in it counts any more"}));
      continue;
    }
    const std::string told = lost->what + QuarantineAdvice(directory());
    damage_.AddLostFiles(told);
    NoteDamage(told, report);
    // Pages are known by their headers, so scans tell where they are: rotations hide nothing then.
    if (is_spill && lost->version_count > 0) damage_.AddLostRotations(*std::move(lost));
    report->versions_quarantined += damage_.versions_in(id);
  }
  if (!families.empty()) FindLostDictionaries(*view, report);
}

// Both copies are in one file. Which pages name them is told by those who read the pages.
void Store::FindLostDictionaries(const SpillView& view, RecoveryReport* report) {
  for (const auto& window : view.windows) {
    for (const WindowDictionary& d : window->record.dictionaries) {
      const Status status = ReadDictionary(*window, d.number).status();
      if (status.ok()) continue;
      std::string what = Concat({"texts of column '", d.column, "' of table ", d.table_id,
          " cannot be read where they need it: ", status.message()});
      damage_.AddLostFiles(what);
      NoteDamage(what, report);
    }
  }
}

void Store::NoteDamage(const std::string& what, RecoveryReport* report) {
  db_->opened().info_log->Write(LogLevel::kError, what);
  report->clean = false;
  report->notes.push_back(what);
}

std::optional<LostRotations> Store::FindLostSpill(const SpillView& view, uint64_t id,
                                                  const LostFamily& family,
                                                  std::vector<RotationExtent> where) {
  const auto in_view = std::find_if(view.families.begin(), view.families.end(),
                                    [id](const auto& f) { return f->id == id; });
  if (in_view == view.families.end()) return std::nullopt;
  const SpillRecord& record = (*in_view)->record;
  const uint64_t open = record.version_count - record.sealed_count;
  const SpillRest rest = ReadRest(view, *in_view, family.spans, &damage_);
  LostRotations lost{id, "", open - std::min(open, rest.under_headers), std::move(where)};
  const uint64_t versions = lost.version_count + rest.in_lost_pages;
  if (versions == 0) return std::nullopt;
  lost.what = Concat({(*in_view)->Name(), " cannot be read as a whole: ", family.files, "; ",
      versions, " row versions", WhenText(lost.extents), ", are quarantined"});
  return lost;
}

LostRotations Store::FindLostSeals(const std::shared_ptr<const SpillView>& view, uint64_t id,
                                   const LostFamily& family) {
  LostRotations lost{id, "", 0, {}};
  uint64_t seals = 0;
  ManifestWalker walker(view, "");
  while (true) {
    const auto item = walker.Next();
    if (!item.ok() || !*item) break;  // a manifest that is damaged too: Verify names it
    const uint64_t round = RotationOf((*item)->seal);
    const auto holds = [round](const FileSpan& s) { return round >= s.first && round <= s.last; };
    const bool is_lost = (*item)->window->id == id &&
                         std::any_of(family.spans.begin(), family.spans.end(), holds);
    if (!is_lost) continue;
    const uint64_t versions = NoteSeal(**item, &damage_);
    lost.version_count += versions;
    seals += versions > 0 ? 1 : 0;
  }
  lost.what = Concat({"window ", id, " cannot be read as a whole: ", family.files, "; ",
      lost.version_count, " row versions of ", seals, " seals are quarantined"});
  return lost;
}

}  // namespace cistern
