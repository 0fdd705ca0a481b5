#include "tools/sync_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/cql/protocol.h"
#include "engine/cql/readable.h"
#include "tools/counted.h"
#include "tools/record_printer.h"
#include "tools/size_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

std::string CountText(uint64_t seals, uint64_t versions, uint64_t bytes) {
  return fmt::format("{}, {}, {}", Counted(seals, "seal"), Counted(versions, "row version"),
                     FormatSize(bytes));
}

std::string OldestText(const SyncStatus& status) {
  if (!status.outbox.oldest_end_s) return "all that is sealed is confirmed\n";
  const int64_t age_s = status.now_s - *status.outbox.oldest_end_s;
  return age_s >= 0 ? fmt::format("oldest unconfirmed bucket ended {} ago\n", AgeText(age_s))
                    : fmt::format("oldest unconfirmed bucket ends in {}\n", AgeText(-age_s));
}

std::string OpenText(const OpenRows& open, int64_t now_s) {
  std::string text = fmt::format("not sealed yet: {}, {}", Counted(open.versions, "row version"),
                                 FormatSize(open.bytes));
  if (open.oldest_us) {
    text += fmt::format(", the oldest written {} ago",
                        AgeText(std::max<int64_t>(now_s - *open.oldest_us / kMicrosPerSecond, 0)));
  }
  text += "\n";
  if (open.buckets_overdue > 0) {
    text += fmt::format("overdue: {}, {}, the first for {}\n",
                        Counted(open.buckets_overdue, "bucket"),
                        Counted(open.versions_overdue, "row version"),
                        AgeText(now_s - *open.overdue_since_us / kMicrosPerSecond));
  }
  if (!open.why.ok()) text += "why: " + OneLine(open.why.message()) + "\n";
  return text;
}

// Of what upstream does not have: the oldest bucket that is sealed, or the oldest open row.
std::optional<int64_t> OldestAge(const SyncStatus& status) {
  std::optional<int64_t> age_s;
  const OutboxStatus& outbox = status.outbox;
  if (outbox.oldest_end_s) age_s = status.now_s - *outbox.oldest_end_s;
  if (!outbox.open.oldest_us) return age_s;
  const int64_t open_s = status.now_s - *outbox.open.oldest_us / kMicrosPerSecond;
  return std::max(age_s.value_or(open_s), open_s);
}

std::string SecondsJson(std::optional<int64_t> seconds) {
  return seconds ? fmt::format("{}", *seconds) : "null";
}

void AddTime(std::string_view name, std::optional<int64_t> time_us, std::string* json) {
  *json += fmt::format(",\"{}\":", name);
  if (!time_us) {
    *json += "null";
    return;
  }
  AppendJsonString(FormatTicks(*time_us, TimeUnit::kMicros), json);
}

void AddText(std::string_view name, std::string_view value, std::string* json) {
  *json += fmt::format(",\"{}\":", name);
  AppendJsonString(value, json);
}

std::string ParkedJson(const ParkedSeal& parked) {
  std::string json = "{\"table\":";
  AppendJsonString(parked.table, &json);
  AddText("entity", parked.entity, &json);
  AddText("bucket", parked.bucket, &json);
  json += fmt::format(",\"split\":{},\"seal\":{},\"versions\":{}", parked.split, parked.seal,
                      parked.versions);
  AddText("parked_at", FormatTicks(parked.parked_us, TimeUnit::kMicros), &json);
  json += fmt::format(",\"attempts\":{},\"error_code\":{}", parked.attempts,
                      parked.error_code == 0 ? "null" : fmt::format("{}", parked.error_code));
  AddText("words", parked.words, &json);
  return json + "}";
}

}  // namespace

std::string SyncStatusText(const SyncStatus& status) {
  const OutboxStatus& outbox = status.outbox;
  std::string text = OldestText(status);
  text += fmt::format("waiting: {}\n", CountText(outbox.seals_waiting, outbox.versions_waiting,
                                               outbox.bytes_waiting));
  if (outbox.seals_unlisted > 0) text += UnlistedText(outbox.seals_unlisted) + "\n";
  text += fmt::format("parked: {}\n", CountText(outbox.seals_parked, outbox.versions_parked,
                                               outbox.bytes_parked));
  text += fmt::format("confirmed: {}, {}, {} proved by count, {} by rows\n",
                      Counted(outbox.versions_confirmed, "row version"),
                      FormatSize(outbox.bytes_confirmed),
                      outbox.versions_confirmed_by_count, outbox.versions_confirmed_by_rows);
  text += OpenText(outbox.open, status.now_s);
  for (const ParkedSeal& seal : status.parked) {
    text += fmt::format("parked: {}\n", ParkedText(seal));
  }
  return text;
}

std::string SyncStatusJson(const SyncStatus& status) {
  const OutboxStatus& outbox = status.outbox;
  std::string json = "{\"oldest_unconfirmed_end\":";
  if (outbox.oldest_end_s) {
    AppendJsonString(FormatTicks(*outbox.oldest_end_s, TimeUnit::kSeconds), &json);
  } else {
    json += "null";
  }
  json += ",\"oldest_unconfirmed_age_s\":" + SecondsJson(OldestAge(status));
  for (const auto& [name, count] :
       {std::pair("seals_waiting", outbox.seals_waiting),
        std::pair("versions_waiting", outbox.versions_waiting),
        std::pair("seals_unlisted", outbox.seals_unlisted),
        std::pair("seals_parked", outbox.seals_parked),
        std::pair("versions_parked", outbox.versions_parked),
        std::pair("versions_confirmed", outbox.versions_confirmed),
        std::pair("versions_confirmed_by_count", outbox.versions_confirmed_by_count),
        std::pair("versions_confirmed_by_rows", outbox.versions_confirmed_by_rows),
        std::pair("versions_open", outbox.open.versions),
        std::pair("bytes_waiting", outbox.bytes_waiting),
        std::pair("bytes_parked", outbox.bytes_parked),
        std::pair("bytes_confirmed", outbox.bytes_confirmed),
        std::pair("bytes_open", outbox.open.bytes),
        std::pair("buckets_overdue", outbox.open.buckets_overdue),
        std::pair("versions_overdue", outbox.open.versions_overdue)}) {
    json += fmt::format(",\"{}\":{}", name, count);
  }
  AddTime("oldest_open_written", outbox.open.oldest_us, &json);
  AddTime("overdue_since", outbox.open.overdue_since_us, &json);
  AddText("not_sealed_because", outbox.open.why.message(), &json);
  json += ",\"parked\":[";
  for (size_t i = 0; i < status.parked.size(); ++i) {
    if (i > 0) json += ',';
    json += ParkedJson(status.parked[i]);
  }
  return json + "]}\n";
}

std::string ParkedText(const ParkedSeal& parked) {
  const std::string split = parked.split == 0 ? "" : fmt::format(", split {}", parked.split);
  return OneLine(fmt::format("{}, entity {}, bucket {}{}, seal {}: {}", parked.table, parked.entity,
                             parked.bucket, split, parked.seal, parked.words));
}

std::string AwayText(const ReplicationStatus& status) {
  std::string text = OneLine(status.away.message());
  if (status.away_error_code == static_cast<int32_t>(cql::ErrorCode::kUnavailable)) {
    text += "; nodes are down, or its keyspace asks for more replicas than there are nodes";
  }
  return text;
}

std::string ProofText(const ReplicationCounters& now, const ReplicationCounters& before) {
  std::string text;
  if (const uint64_t counted = now.seals_counted - before.seals_counted; counted > 0) {
    text += fmt::format("; {} proved by count", Counted(counted, "seal"));
  }
  if (const uint64_t read = now.seals_read_back - before.seals_read_back; read > 0) {
    text += fmt::format("; {} proved by rows, {} read back", Counted(read, "seal"),
                        FormatSize(now.bytes_read_back - before.bytes_read_back));
  }
  if (const uint64_t shadowed = now.rows_shadowed - before.rows_shadowed; shadowed > 0) {
    text += fmt::format("; {} shadowed upstream", Counted(shadowed, "row"));
  }
  if (const uint64_t other = now.rows_overwritten - before.rows_overwritten; other > 0) {
    text += fmt::format("; {} overwritten by another writer", Counted(other, "row"));
  }
  if (const uint64_t hidden = now.rows_hidden - before.rows_hidden; hidden > 0) {
    text += fmt::format("; {} with values that are hidden upstream, as agreed",
                        Counted(hidden, "row"));
  }
  return text;
}

std::string UnlistedText(uint64_t seals) {
  return fmt::format("{} {} that the outbox does not name, so {} not sent: `cistern verify` tells "
                     "more",
                     Counted(seals, "seal"), seals == 1 ? "waits" : "wait",
                     seals == 1 ? "it is" : "they are");
}

std::string ShadowedText(uint64_t rows) {
  return fmt::format("{} {} absent upstream, as a whole or with values, though sent twice: "
                     "something newer has deleted that there",
                     Counted(rows, "row"), rows == 1 ? "is" : "are");
}

std::string AgeText(int64_t seconds) {
  const std::pair<std::string_view, int64_t> units[] = {
      {"d", 86'400}, {"h", 3600}, {"min", 60}, {"s", 1}};
  std::string text;
  for (const auto& [unit, width] : units) {
    const int64_t count = seconds / width;
    const bool is_second = !text.empty();
    seconds %= width;
    if (count == 0 && !is_second) continue;
    if (count > 0) text += fmt::format("{}{} {}", is_second ? " " : "", count, unit);
    if (is_second) break;
  }
  return text.empty() ? "0 s" : text;
}

std::string OneLine(std::string_view text) {
  std::string line;
  bool is_after_break = false;  // where an indented line began
  for (const char c : text) {
    const bool is_break = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    if (is_after_break && (is_break || c == ' ')) continue;
    line += is_break ? ' ' : c;
    is_after_break = is_break;
  }
  return cql::Readable(line, line.size());
}

}  // namespace cistern::tool
