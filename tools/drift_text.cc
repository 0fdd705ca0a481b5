#include "tools/drift_text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "tools/counted.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

using replicate::DriftKind;
using replicate::DriftWeight;
using replicate::SchemaDifference;
using replicate::SchemaDrift;

std::string Indented(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

// The time from which on nothing may be sent; empty: all may, or nothing at all.
std::string BlockedFromText(const SchemaDrift& drift) {
  const std::optional<int64_t> from_s = drift.BlockedFrom();
  if (!from_s.has_value() || *from_s == INT64_MIN) return {};
  return FormatTicks(*from_s, TimeUnit::kSeconds);
}

// The time up to which what was written is hidden there; empty: nothing is.
std::string HiddenUpToText(const SchemaDrift& drift) {
  const std::optional<int64_t> up_to_us = drift.HiddenUpTo();
  return up_to_us.has_value() ? FormatTicks(*up_to_us, TimeUnit::kMicros) : std::string();
}

std::string WhatMaySend(const SchemaDrift& drift) {
  const std::string from = BlockedFromText(drift);
  const std::string hidden = HiddenUpToText(drift);
  std::string text = "rows may be sent";
  if (drift.BlockedFrom().has_value()) text = "no " + text;
  if (!from.empty()) text += fmt::format(" of buckets from {} on", from);
  if (hidden.empty() || drift.BlockedFrom() == INT64_MIN) return text;
  return text + fmt::format("{} no bucket with rows that were written up to {}",
                            from.empty() ? ", but" : ", and", hidden);
}

}  // namespace

std::string_view WeightName(DriftWeight weight) {
  switch (weight) {
    case DriftWeight::kBlocks: return "blocks";
    case DriftWeight::kWarns: return "warns";
    case DriftWeight::kHarmless: break;
  }
  return "harmless";
}

std::string_view KindName(DriftKind kind) {
  switch (kind) {
    case DriftKind::kKeyspaceMissing: return "keyspace_missing";
    case DriftKind::kTableMissing: return "table_missing";
    case DriftKind::kTableKind: return "table_kind";
    case DriftKind::kKey: return "key";
    case DriftKind::kClusteringOrder: return "clustering_order";
    case DriftKind::kColumnType: return "column_type";
    case DriftKind::kColumnKind: return "column_kind";
    case DriftKind::kColumnMissing: return "column_missing";
    case DriftKind::kColumnGone: return "column_gone";
    case DriftKind::kColumnRevived: return "column_revived";
    case DriftKind::kColumnAdded: return "column_added";
    case DriftKind::kStaticAdded: return "static_added";
    case DriftKind::kBucketRule: return "bucket_rule";
    case DriftKind::kSplitRule: return "split_rule";
    case DriftKind::kTimeUnit: return "time_unit";
    case DriftKind::kTimestamps: return "timestamps";
    case DriftKind::kRuleUnreadable: return "rule_unreadable";
    case DriftKind::kRuleMissing: return "rule_missing";
    case DriftKind::kComment: return "comment";
    case DriftKind::kDefaultTtl: return "default_ttl";
    case DriftKind::kGcGrace: return "gc_grace";
    case DriftKind::kCompaction: return "compaction";
    case DriftKind::kOption: return "option";
    case DriftKind::kDurableWrites: break;
  }
  return "durable_writes";
}

std::string DriftText(const SchemaDrift& drift) {
  if (drift.differences.empty()) return fmt::format("{}: no difference\n", drift.table);
  std::string text = fmt::format("{}: {}; {}\n", drift.table,
                                 Counted(drift.differences.size(), "difference"),
                                 WhatMaySend(drift));
  for (const SchemaDifference& one : drift.differences) {
    text += fmt::format("{}: {}", WeightName(one.weight), one.what);
    if (!one.advice.empty()) text += ". " + one.advice;
    text += one.cql.empty() ? "\n" : ":\n" + Indented(one.cql) + "\n";
  }
  return text;
}

std::string DriftJson(const SchemaDrift& drift) {
  std::string json = "{\"table\":";
  const auto add = [&json](std::string_view name, std::string_view value) {
    json += fmt::format(",\"{}\":", name);
    AppendJsonString(value, &json);
  };
  AppendJsonString(drift.table, &json);
  json += fmt::format(",\"blocks\":{}", drift.Has(DriftWeight::kBlocks));
  for (const auto& [name, time] : {std::pair("blocks_from", BlockedFromText(drift)),
                                   std::pair("hides_up_to", HiddenUpToText(drift))}) {
    if (time.empty()) {
      json += fmt::format(",\"{}\":null", name);
    } else {
      add(name, time);
    }
  }
  json += ",\"differences\":[";
  bool is_first = true;
  for (const SchemaDifference& one : drift.differences) {
    json += is_first ? "{\"weight\":" : ",{\"weight\":";
    is_first = false;
    AppendJsonString(WeightName(one.weight), &json);
    add("kind", KindName(one.kind));
    add("subject", one.subject);
    add("what", one.what);
    add("advice", one.advice);
    add("cql", one.cql);
    json += "}";
  }
  return json + "]}\n";
}

}  // namespace cistern::tool
