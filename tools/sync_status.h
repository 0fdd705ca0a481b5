// What waits for the cluster, as the tool tells it.
#ifndef CISTERN_TOOLS_SYNC_STATUS_H_
#define CISTERN_TOOLS_SYNC_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/status.h"
#include "engine/replication_service.h"

namespace cistern::tool {

struct SyncStatus {
  OutboxStatus outbox;
  std::vector<ParkedSeal> parked;
  int64_t now_s = 0;  // seconds since 1970
};

// Lines for a person; the first one is the age of the oldest bucket that is not confirmed:
//   oldest unconfirmed bucket ended 3 h 12 min ago
[[nodiscard]] std::string SyncStatusText(const SyncStatus& status);

// One line, an object:
//   {"oldest_unconfirmed_end":"2013-03-02T00:00:00Z","oldest_unconfirmed_age_s":11520,
//    "seals_waiting":12,"versions_waiting":3400,"seals_unlisted":0,"seals_parked":1,
//    "versions_parked":20,
//    "versions_confirmed":9000,"versions_confirmed_by_count":3000,
//    "versions_confirmed_by_rows":1000,"versions_open":7,"bytes_waiting":21000,
//    "bytes_parked":160,"bytes_confirmed":60000,"bytes_open":0,
//    "buckets_overdue":0,"versions_overdue":0,
//    "oldest_open_written":"2013-03-02T09:00:00Z","overdue_since":null,"not_sealed_because":"",
//    "parked":[{"table":"plant.air","entity":"a","bucket":"'2013-03-01'","split":0,"seal":17,
//    "versions":20,"parked_at":"...","attempts":1,"error_code":8704,"words":"..."}]}
// Of the confirmed ones the next two are proved so, the rest was acknowledged. Bytes are of pages,
// as they are stored.
// The end is null where all that is sealed is confirmed. The age is that of what upstream lacks:
// since the end of that bucket, or since the oldest row that is not sealed was written, whichever
// is more; null where there is neither, negative of a bucket that goes on. An error code is null
// where the server gave none.
[[nodiscard]] std::string SyncStatusJson(const SyncStatus& status);

// "plant.air, entity a, bucket '2013-03-01', seal 17: Invalid: ..."; of a table with splits, which
// one too.
[[nodiscard]] std::string ParkedText(const ParkedSeal& parked);

// In one line, why the cluster is away; and what to look at where its words do not say it.
[[nodiscard]] std::string AwayText(const ReplicationStatus& status);

// "; 3 seals proved by rows, 1.2 MiB read back": what was proved since `before`, if anything.
[[nodiscard]] std::string ProofText(const ReplicationCounters& now,
                                    const ReplicationCounters& before);

// "3 seals wait that the outbox does not name, so they are not sent: `cistern verify` tells more".
[[nodiscard]] std::string UnlistedText(uint64_t seals);

// "1 row is absent upstream, as a whole or with values, though sent twice: ...".
[[nodiscard]] std::string ShadowedText(uint64_t rows);

// "3 h 12 min", "45 s": the two largest units.
[[nodiscard]] std::string AgeText(int64_t seconds);

// In one line, a blank for what breaks it and for the blanks behind: what a server said, or a
// statement.
[[nodiscard]] std::string OneLine(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_STATUS_H_
