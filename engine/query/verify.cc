// Verify: every checksum and cross-invariant of a store that is open.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/bucketing/bucket_name.h"
#include "engine/bucketing/bucketer.h"
#include "engine/query/inventory.h"
#include "lib/base/concat.h"
#include "lib/base/shortage.h"
#include "lib/row/row_order.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/page_statistics.h"
#include "storage/journal_decoder.h"
#include "storage/outbox.h"
#include "storage/seal_reader.h"
#include "storage/segment_walker.h"
#include "storage/window_dictionaries.h"

namespace cistern {

namespace {

constexpr size_t kProblemsMax = 1000;
const std::vector<WindowDictionary> kNoDictionaries;  // of a spill family

class Verifier {
 public:
  Verifier(const QueryContext& context, const TableSet& tables)
      : context_(context), tables_(tables) {}

  [[nodiscard]] Result<VerifyReport> Run() {
    std::shared_ptr<const SpillView> view;
    {
      const std::shared_lock lock(context_.heads->mutex);
      view = context_.store->spills().view();
    }
    const Status visited =
        VisitSegments(view, "", [this](const BucketKey& key, SegmentRef segment) -> Result<bool> {
          CheckSegment(key, segment);
          return shortage_.ok();
        });
    if (!visited.ok()) Miss(visited, visited.message() + "; what follows it was not looked at");
    CISTERN_RETURN_IF_ERROR(shortage_);
    for (const auto& family : view->families) CheckFamily(*family);
    CheckSeals(view);
    for (const auto& [seal, push] : context_.store->pushes()) CheckPush(seal, push);
    CISTERN_RETURN_IF_ERROR(shortage_);
    for (const DamagedRecord& damaged : context_.store->damaged_records()) Report(damaged);
    for (const std::string& loss : context_.store->damage().lost_files()) Problem(loss);
    CISTERN_RETURN_IF_ERROR(CheckJournal());
    return std::move(report_);
  }

 private:
  // Counts what a journal record has. Rows are in the bucket of their time, deletes name theirs.
  struct CountingSink final : JournalSink {
    explicit CountingSink(const Verifier* of) : verifier(of) {}
    void OnRow(uint32_t, std::string_view, const RowBatch&, size_t, uint32_t,
               const RowStamp&) override {
      ++versions;
    }
    void OnRangeDelete(uint32_t table_id, std::string_view entity, int64_t start_s,
                       uint32_t split, const RangeDelete&) override {
      ++versions;
      const TablePtr table = verifier->tables_.FindById(table_id);
      if (!table || Bucketer(*table->schema).IsStart(start_s)) return;
      stray = BucketName(*table->schema, entity, start_s, split);
    }
    const Verifier* verifier;
    uint64_t versions = 0;
    std::string stray;  // a bucket that the table does not have; empty: none
  };

  void Problem(std::string text) {
    if (report_.problems.size() < kProblemsMax) report_.problems.push_back(std::move(text));
  }

  // Of a read that failed: a problem, unless this process could not look.
  void Miss(const Status& why, std::string problem) {
    if (!IsShortage(why)) return Problem(std::move(problem));
    if (shortage_.ok()) shortage_ = why;
  }

  // "plant.air Dongsi 2027-01-15: "
  [[nodiscard]] std::string InBucket(const BucketKey& key) const {
    const TablePtr table = tables_.FindById(key.table_id);
    if (!table) return "";
    return BucketName(*table->schema, key.entity, key.start_s, key.split) + ": ";
  }

  void CheckSegment(const BucketKey& key, const SegmentRef& segment) {
    std::string encoded = EncodeBucketKey(key);
    const bool is_next_bucket = encoded != last_bucket_;
    if (is_next_bucket) ++report_.buckets;
    last_bucket_ = std::move(encoded);
    ++report_.segments;
    const TablePtr table = tables_.FindById(key.table_id);
    const std::string where = Concat({"segment ", segment.id});
    if (!table) return Problem(Concat({where, ": table ", key.table_id, " is unknown"}));
    const std::string in_bucket = Concat({where, " of ",
        BucketName(*table->schema, key.entity, key.start_s, key.split)});
    const Bucketer bucketer(*table->schema);
    if (is_next_bucket && !bucketer.IsStart(key.start_s)) {
      Problem(in_bucket + ": no bucket of the table starts there");
    }
    family_versions_[segment.family->id] +=
        segment.header.row_count + segment.header.deletes.size();
    report_.versions += segment.header.row_count + segment.header.deletes.size();
    const uint32_t version = segment.header.schema_version;
    if (version > table->schema_version) {
      return Problem(Concat({in_bucket, ": the catalog has no version ", version,
          " of the table"}));
    }
    VersionColumns last;
    for (uint32_t page = 0; page < segment.header.pages.size(); ++page) {
      CheckPage(*table->versions[version].schema, bucketer, key, segment, page, in_bucket, &last);
    }
  }

  // `schema` as the page was written, `bucketer` as the table is.
  void CheckPage(const TableSchema& schema, const Bucketer& bucketer, const BucketKey& key,
                 const SegmentRef& segment, uint32_t page, const std::string& in_bucket,
                 VersionColumns* last) {
    ++report_.pages;
    const std::string where = Concat({in_bucket, ", page ", page, ": "});
    const PageInfo& info = segment.header.pages[page];
    const Result<std::string> bytes = ReadPage(segment, page);
    if (!bytes.ok()) return LosePage(segment, page, bytes.status(), where);
    const WindowDictionaries dictionaries(*segment.family, dictionaries_);
    Result<VersionColumns> rows = DecodePage(schema, *bytes, nullptr, &dictionaries);
    if (!rows.ok()) return LosePage(segment, page, rows.status(), where);
    content_hash_ += HashVersions(schema, *rows);
    if (rows->row_count != info.row_count || bytes->size() != info.byte_count) {
      return Problem(where + "rows or bytes are not what the header says");
    }
    if (EventTime(schema, *rows, 0) != info.first_time ||
        EventTime(schema, *rows, rows->row_count - 1) != info.last_time) {
      Problem(where + "event times are not what the header says");
    }
    for (size_t i = 0; i < rows->row_count; ++i) {
      const int64_t time = EventTime(schema, *rows, i);
      if (!bucketer.InRange(time) || bucketer.StartOf(time) != key.start_s) {
        return Problem(Concat({where, "row ", i, " belongs to another bucket"}));
      }
      const bool ordered = i > 0
                               ? CompareRows(schema, *rows, i - 1, *rows, i) <= 0
                               : last->row_count == 0 ||
                                     CompareRows(schema, *last, last->row_count - 1, *rows, 0) <= 0;
      if (!ordered) return Problem(Concat({where, "row ", i, " is out of order"}));
    }
    const std::string_view statistics = segment.header.StatisticsOf(info);
    if (!statistics.empty() && statistics != PageStatisticsOf(schema, *rows, 0, rows->row_count)) {
      Problem(where + "statistics are not those of its rows");
    }
    *last = *std::move(rows);
  }

  // Its rows count as quarantined from here on.
  void LosePage(const SegmentRef& segment, uint32_t page, const Status& why,
                const std::string& where) {
    std::string what = why.message();
    const std::string name = NameOfPage(segment, page);  // `where` has it
    if (what.starts_with(name)) what.erase(0, what.find_first_not_of(": ", name.size()));
    Miss(why, where + what);
    if (IsShortage(why)) return;
    const uint64_t versions = segment.header.pages[page].row_count;
    report_.versions -= versions;
    is_whole_ = false;
    context_.store->damage().NotePage(segment.family->id, segment.id, page, versions);
  }

  // Rows of lost files were named with them.
  void CheckFamily(const SpillFamily& family) {
    uint64_t open = family.record.version_count - family.record.sealed_count;
    for (const LostRotations& lost : context_.store->damage().lost_rotations()) {
      if (lost.family_id == family.id) open -= std::min(open, lost.version_count);
    }
    if (family_versions_[family.id] == open) return;
    Problem(Concat({"spill family ", family.id, " holds ", family_versions_[family.id],
        " open row versions, its record says ", open}));
  }

  // Every manifest against its segment, every window's record against its manifests.
  void CheckSeals(const std::shared_ptr<const SpillView>& view) {
    std::map<uint64_t, WindowRecord> found;
    ManifestWalker walker(view, "");
    while (shortage_.ok()) {
      const Result<std::optional<ManifestWalker::Item>> item = walker.Next();
      if (!item.ok()) {
        return Miss(item.status(), item.status().message() + "; what follows was not looked at");
      }
      if (!*item) break;
      WindowRecord& sums = found[(*item)->window->id];
      CountSeal((*item)->manifest, &sums);
      CountConfirmed(**item, &sums);
      CheckSeal(**item);
    }
    if (!shortage_.ok()) return;
    for (const auto& window : view->windows) {
      const auto sums = [](const WindowRecord& r) {
        return std::tuple(r.version_count, r.byte_count, r.seal_count, r.endless_row_seals,
                          r.delete_seals, r.expiry_s_last);
      };
      if (sums(found[window->id]) != sums(window->record)) {
        Problem(window->Name() + ": its manifests do not add up to its record");
      }
      CheckDictionaries(*window);
      CheckConfirmed(found[window->id], *window);
      CheckOutbox(view, *window);
    }
  }

  // Pages are read by either copy: one that is damaged is told before the other one is.
  void CheckDictionaries(const WindowFamily& window) {
    for (const WindowDictionary& d : window.record.dictionaries) {
      for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
        const auto read = ReadDictionaryCopy(window, d.number, copy);
        if (read.ok()) continue;
        Miss(read.status(), Concat({read.status().message(), ", of column '", d.column, "'"}));
      }
    }
  }

  // A seal with a manifest that is not in the outbox was confirmed.
  void CountConfirmed(const ManifestWalker::Item& item, WindowRecord* record) {
    const Result<bool> waits = IsInOutbox(context_.store->spills().view()->meta, item.window->id,
                                          {item.bucket, item.seal});
    if (!waits.ok()) return Miss(waits.status(), waits.status().message());
    if (*waits) return;
    const uint64_t versions = item.manifest.version_count();
    record->confirmed_count += 1;
    record->confirmed_versions += versions;
    record->counted_versions += item.manifest.proof == ProofLevel::kCount ? versions : 0;
    record->read_back_versions += item.manifest.proof == ProofLevel::kRows ? versions : 0;
  }

  static auto ConfirmedSums(const WindowRecord& r) {
    return std::tuple(r.confirmed_count, r.confirmed_versions, r.counted_versions,
                      r.read_back_versions);
  }
  static std::string ConfirmedText(const WindowRecord& r) {
    return Concat({r.confirmed_count, " with ", r.confirmed_versions, " row versions (",
        r.counted_versions, " proved by count, ", r.read_back_versions, " by rows)"});
  }

  void CheckConfirmed(const WindowRecord& found, const WindowFamily& window) {
    if (ConfirmedSums(found) == ConfirmedSums(window.record) || OutboxMoved(window)) return;
    Problem(Concat({window.Name(), ": of its seals ", ConfirmedText(found),
        " are not in the outbox, its record says ", ConfirmedText(window.record)}));
  }

  // Whether seals of the window were confirmed, or sent once more, since its record was taken.
  [[nodiscard]] bool OutboxMoved(const WindowFamily& window) const {
    const auto now = context_.store->spills().view();
    return std::none_of(now->windows.begin(), now->windows.end(), [&window](const auto& w) {
      return w->id == window.id && ConfirmedSums(w->record) == ConfirmedSums(window.record);
    });
  }

  // What is remembered of a push is of a seal that waits, and counts what it has.
  void CheckPush(uint64_t seal, const PushRecord& push) {
    const FamilyPtr meta = context_.store->spills().view()->meta;
    const Result<bool> waits = IsInOutbox(meta, push.window_id, {push.bucket, seal});
    const Result<Manifest> manifest = ReadManifest(meta, push.window_id, push.bucket, seal);
    const bool fits =
        waits.ok() && *waits && manifest.ok() && manifest->version_count() == push.version_count;
    if (fits || context_.store->push(seal) != push) return;  // or it has gone on meanwhile
    const Status& failed = waits.ok() ? manifest.status() : waits.status();
    if (IsShortage(failed)) return Miss(failed, {});
    Problem(Concat({InBucket(push.bucket), "what is remembered of the push of seal ", seal,
        " is not what window ", push.window_id, " has of it"}));
  }

  // Not by AddSeal, which made the sums that are checked.
  static void CountSeal(const Manifest& m, WindowRecord* record) {
    record->version_count += m.row_count + m.delete_count;
    record->byte_count += m.byte_count;
    record->seal_count += 1;
    record->endless_row_seals += m.has_endless_rows ? 1 : 0;
    record->delete_seals += m.has_deletes ? 1 : 0;
    record->expiry_s_last = std::max(record->expiry_s_last, m.expiry_s_last);
  }

  // What upstream has not confirmed is to be replicated, each seal once.
  void CheckOutbox(const std::shared_ptr<const SpillView>& view, const WindowFamily& window) {
    OutboxWalker walker(view, window.id);
    uint64_t entries = 0;
    while (true) {
      const Result<std::optional<OutboxEntry>> entry = walker.Next();
      if (!entry.ok()) return Miss(entry.status(), entry.status().message());
      if (!*entry) break;
      ++entries;
      if ((*entry)->has_manifest) continue;
      Problem(Concat({InBucket((*entry)->bucket), "the outbox has seal ", (*entry)->seal, " of ",
          window.Name(), ", which has no manifest"}));
    }
    const WindowRecord& record = window.record;
    if (entries + record.confirmed_count == record.seal_count || OutboxMoved(window)) return;
    Problem(Concat({window.Name(), ": the outbox has ", entries, " of its ", record.seal_count,
        " seals, of which ", record.confirmed_count, " are confirmed"}));
  }

  // A seal has nothing that came after its round.
  void CheckRotations(const ManifestWalker::Item& item) {
    if (!item.manifest.rotations) return;
    const SequenceInterval& last = item.manifest.rotations->back();
    if (last.first + last.length <= RotationOf(item.seal)) return;
    Problem(Concat({InBucket(item.bucket), "seal ", item.seal, " in ", item.window->Name(),
        " names rotations that came after it"}));
  }

  void CheckSeal(const ManifestWalker::Item& item) {
    CheckRotations(item);
    const Result<SegmentRef> segment = ReadSealedSegment(item.window, item.bucket, item.seal);
    if (!segment.ok()) {
      const Status& why = segment.status();
      if (IsShortage(why)) return Miss(why, {});
      context_.store->damage().NoteSegment(item.window->id, item.seal,
                                           item.manifest.version_count());
      return Problem(InBucket(item.bucket) + why.message());
    }
    content_hash_ = 0;
    is_whole_ = true;
    dictionaries_ = &item.window->record.dictionaries;
    CheckSegment(item.bucket, *segment);
    dictionaries_ = &kNoDictionaries;
    const SegmentHeader& header = segment->header;
    const Manifest& m = item.manifest;
    const std::string where = Concat({"seal ", item.seal, " in ", item.window->Name()});
    if (header.row_count != m.row_count || header.deletes.size() != m.delete_count ||
        header.byte_count() != m.byte_count || header.first_time != m.first_time ||
        header.last_time != m.last_time) {
      Problem(where + ": its manifest is not what the segment says");
    } else if (is_whole_ && content_hash_ != m.content_hash) {
      Problem(where + ": its rows are not those that were sealed");
    }
    const TablePtr table = tables_.FindById(item.bucket.table_id);
    const bool is_known = table != nullptr && header.schema_version < table->versions.size();
    if (!m.statistics.empty() && is_known &&
        (m.schema_version != header.schema_version ||
         m.statistics != SegmentStatisticsOf(*table->versions[header.schema_version].schema,
                                             header))) {
      Problem(where + ": its statistics are not those of its pages");
    }
    if (!item.window->record.span.Holds(item.bucket.start_s)) {
      Problem(where + ": the bucket lies outside of its window");
    }
  }

  void Report(const DamagedRecord& damaged) {
    std::string text = damaged.what;
    if (damaged.family) {
      const auto found = CountSegments({damaged.family_id, damaged.family, {}});
      text += found.ok() ? Concat({"; it has ", found->segments, " segments with ",
          found->versions, " row versions"})
                         : "; " + found.status().message();
    }
    Problem(std::move(text));
  }

  [[nodiscard]] Status CheckJournal() {
    std::unique_ptr<JournalDecoder> decoder;
    uint64_t last = 0;
    const uint64_t floor = context_.store->state().journal_floor;
    return context_.store->journal().Replay(
        [&](uint64_t sequence, std::string_view record, bool new_family) -> Status {
          if (new_family) {
            decoder.reset();  // before the next one is charged too
            decoder = std::make_unique<JournalDecoder>(
                [this](uint32_t id, uint64_t record_sequence) {
                  return tables_.SchemaAt(id, record_sequence);
                },
                context_.budget);
          } else if (sequence != last + 1) {
            Problem(Concat({"the journal jumps from record ", last, " to ", sequence}));
          }
          last = sequence;
          CountingSink sink(this);
          const Status s = decoder->Decode(record, sequence, &sink);
          if (IsShortage(s)) return s;
          if (!s.ok() && sequence > floor) {
            Problem(Concat({"journal record ", sequence, ": ", s.message()}));
          }
          if (sequence > floor) report_.versions += sink.versions;
          if (sequence > floor && !sink.stray.empty()) {
            Problem(Concat({"journal record ", sequence, " of ", sink.stray,
                ": no bucket of the table starts there"}));
          }
          return Status::Ok();
        });
  }

  const QueryContext& context_;
  const TableSet& tables_;
  VerifyReport report_;
  Status shortage_;  // that kept it from looking, for which it ends
  std::string last_bucket_;
  std::map<uint64_t, uint64_t> family_versions_;
  uint64_t content_hash_ = 0;  // of the segment's pages
  bool is_whole_ = true;       // all of them were read
  const std::vector<WindowDictionary>* dictionaries_ = &kNoDictionaries;  // that they may name
};

}  // namespace

Result<VerifyReport> VerifyStore(const QueryContext& context, const TableSet& tables) {
  return Verifier(context, tables).Run();
}

}  // namespace cistern
