#include "engine/replicate/option_drift.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/replicate/schema_statements.h"
#include "lib/base/concat.h"

namespace cistern::replicate {
namespace {

using Entries = std::map<std::string, std::string>;

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsSameConstant(std::string_view a, std::string_view b) {
  const auto number = NumberOf(a);
  if (number.has_value() && number == NumberOf(b)) return true;
  return LowerCase(a) == LowerCase(b);
}

// "TimeWindowCompactionStrategy" of a class with or without its package.
std::string_view ShortClass(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Names that Cassandra has had for keys, and takes still.
std::string KeyOfToday(const std::string& key) {
  if (key == "sstable_compression") return "class";
  if (key == "chunk_length_kb") return "chunk_length_in_kb";
  return key;
}

// What an entry means where the map does not have it: Cassandra leaves some defaults out.
std::string_view DefaultOf(std::string_view key) {
  if (key == "enabled") return "true";
  if (key == "compaction_window_unit") return "DAYS";
  if (key == "compaction_window_size") return "1";
  return {};
}

bool IsTimeWindow(const Entries& compaction) {
  const auto found = compaction.find("class");
  return found != compaction.end() &&
         ShortClass(found->second) == "TimeWindowCompactionStrategy";
}

std::string ValueOf(const Entries& entries, const std::string& key) {
  const auto found = entries.find(key);
  return found == entries.end() ? std::string(DefaultOf(key)) : found->second;
}

// The declared entries that are others in the cluster: "class is A here and B in the cluster".
std::string DifferingEntries(const Entries& declared, const Entries& cluster) {
  std::string text;
  for (const auto& [key, value] : declared) {
    const std::string today = KeyOfToday(key);
    const std::string theirs = ValueOf(cluster, today);
    const bool same = today == "class" ? ShortClass(value) == ShortClass(theirs)
                                       : IsSameConstant(value, theirs);
    if (same) continue;
    text += Concat({(text.empty() ? "" : ", "), today, " is ", value, " here and ",
        (theirs.empty() ? "not set" : Printable(theirs)), " in the cluster"});
  }
  return text;
}

class OptionDriftFinder {
 public:
  OptionDriftFinder(const TableSchema& declared, const ClusterSchema& cluster,
                    std::vector<SchemaDifference>* found)
      : declared_(declared), cluster_(cluster), table_(*cluster.table), found_(found) {}

  void Find() {
    FindTtl();
    FindGcGrace();
    FindCompaction();
    for (const auto& [option, raw] : declared_.other_options) FindOther(option, raw);
  }

 private:
  void Add(DriftKind kind, DriftWeight weight, const std::string& option, std::string what,
           std::string advice) {
    found_->push_back({kind, weight, option, std::move(what), std::move(advice),
                       AlterOptionsStatement(cluster_, declared_, {option}), INT64_MIN});
  }

  void FindTtl() {
    if (declared_.default_ttl_s == table_.default_ttl_s) return;
    Add(DriftKind::kDefaultTtl, DriftWeight::kWarns, "default_time_to_live", Concat({
        "default_time_to_live is ", declared_.default_ttl_s, " here and ", table_.default_ttl_s,
        " in the cluster"}),
        "Rows from here are sent with the expiry that they have; those of other writers get the "
        "cluster's. `cistern schema apply` alters it, or this statement");
  }

  void FindGcGrace() {
    if (declared_.gc_grace_s == table_.gc_grace_s) return;
    const bool earlier = table_.gc_grace_s < declared_.gc_grace_s;
    Add(DriftKind::kGcGrace, DriftWeight::kWarns, "gc_grace_seconds", Concat({
        "gc_grace_seconds is ", declared_.gc_grace_s, " here and ", table_.gc_grace_s,
        " in the cluster"}), Concat({"The cluster may forget deletes ",
            (earlier ? "earlier" : "later"), " than they are kept here. `cistern schema apply` "
            "alters it, or this statement"}));
  }

  void FindCompaction() {
    if (declared_.compaction.empty()) return;
    Entries ours = declared_.compaction;
    if (IsTimeWindow(ours)) {  // what is not said is a day
      ours.emplace("compaction_window_unit", "DAYS");
      ours.emplace("compaction_window_size", "1");
    }
    const std::string differing = DifferingEntries(ours, table_.compaction);
    if (differing.empty()) return;
    Add(DriftKind::kCompaction, DriftWeight::kWarns, "compaction", "compaction: " + differing,
        "It decides when the cluster gives back the room of rows that are over, and changes no "
        "row. `cistern schema apply` alters it, or this statement");
  }

  void FindOther(const std::string& option, const std::string& raw) {
    const auto theirs = table_.other_options.find(option);
    const std::optional<OptionValue> ours = ParseOptionValue(raw);
    if (!ours.has_value() || theirs == table_.other_options.end()) return;
    std::string differing;
    if (ours->is_map && theirs->second.is_map) {
      differing = DifferingEntries(ours->entries, theirs->second.entries);
    } else if (!ours->is_map && !theirs->second.is_map &&
               !IsSameConstant(ours->constant, theirs->second.constant)) {
      differing = Concat({"it is ", ours->constant, " here and ",
          Printable(theirs->second.constant), " in the cluster"});
    }
    if (differing.empty()) return;
    Add(DriftKind::kOption, DriftWeight::kHarmless, option, Concat({option, ": ", differing}),
        "`cistern schema apply` alters it, or this statement");
  }

  const TableSchema& declared_;
  const ClusterSchema& cluster_;
  const ClusterTable& table_;
  std::vector<SchemaDifference>* found_;
};

}  // namespace

void FindOptionDrift(const TableSchema& declared, const ClusterSchema& cluster,
                     std::vector<SchemaDifference>* found) {
  OptionDriftFinder(declared, cluster, found).Find();
}

}  // namespace cistern::replicate
