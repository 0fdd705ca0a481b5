// Every limit of Cistern, in one place. A request beyond one gets kTooLarge,
// kInvalidArgument or kOutOfRange with the limit's value, before anything of that size is
// allocated. Where "clamped" stands the nearest value within is taken instead, silently.
#ifndef CISTERN_LIMITS_H_
#define CISTERN_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cistern::limits {

// --- tables
inline constexpr size_t kTableCountMax = 1024;
inline constexpr size_t kColumnCountMax = 256;           // all columns of a table, keys included
inline constexpr size_t kNameBytesMax = 48;  // keyspace, table, column: Cassandra's own limit
inline constexpr size_t kDdlBytesMax = 64 * 1024;        // CREATE TABLE text
inline constexpr size_t kTypeDepthMax = 8;               // frozen<list<frozen<...>>>
inline constexpr size_t kTypePartsMax = 1024;            // types inside of a column's type
inline constexpr size_t kUserTypesMax = 256;             // of one text, and read of a keyspace
inline constexpr uint32_t kVectorDimensionMax = 8192;
inline constexpr uint32_t kSplitCountMax = 1024;
inline constexpr size_t kBucketRulesMax = 64;  // of a table, one after another in event time
inline constexpr size_t kSchemaVersionsMax = 1024;       // declarations of a table, all kept

// --- rows
inline constexpr size_t kEntityKeyBytesMax = 1024;       // all entity columns, encoded
inline constexpr size_t kClusteringKeyBytesMax = 1024;   // all clustering columns, encoded
inline constexpr size_t kCellBytesMax = 1024 * 1024;     // one text or blob value
inline constexpr size_t kVarintBytesMax = 1024;  // digits of a varint or decimal: about 2,460
inline constexpr size_t kRowBytesMax = 1024 * 1024;
inline constexpr size_t kBatchBytesMax = 8 * 1024 * 1024;  // and BatchBytesMax below
inline constexpr size_t kBatchRowsMax = 65536;
inline constexpr uint32_t kTtlSecondsMax = 630'720'000;  // 20 years of 365 days, as Cassandra
inline constexpr int64_t kExpirySecondsMax = 4'294'967'294;  // clamped; 2106-02-07, Cassandra 5's
inline constexpr size_t kDeleteBucketsMax = 4096;        // buckets that one range delete may cover
inline constexpr size_t kBucketRangeDeletesMax = 65536;  // range deletes kept for one bucket

// --- event time
// 0001-01-01 .. 9999-12-31 in seconds: beyond it a timestamp is taken for a wrong unit.
inline constexpr int64_t kEventSecondsMin = -62'135'596'800;
inline constexpr int64_t kEventSecondsMax = 253'402'300'799;
inline constexpr int64_t kFutureSecondsDefault = 24 * 3600;  // event times ahead of a trusted clock
inline constexpr int64_t kFutureSecondsMax = kEventSecondsMax - kEventSecondsMin;  // from 0

// --- the wall clock
// It may differ by so much from what the monotonic clock says without being doubted: a time server
// sets a clock that drifts, and rows expire earlier or later by no more.
inline constexpr int64_t kClockStepSeconds = 300;
// A quarter of a day: glitches of time servers and receivers are over by then, and what waits to be
// sealed is little.
inline constexpr int64_t kClockDwellSecondsDefault = 6 * 3600;
inline constexpr int64_t kClockDwellSecondsMax = 366ll * 86'400;  // from 0
inline constexpr int64_t kClockBootAheadSecondsDefault = 7 * 86'400;  // off over a long weekend
inline constexpr int64_t kClockBootAheadSecondsMax = kFutureSecondsMax;  // from 0
// So far behind the last trusted time may a boot find it: clocks without a battery begin with a
// time that was saved now and then.
inline constexpr int64_t kClockBootBackSeconds = 86'400;

// --- queues and commit groups
inline constexpr size_t kProducerCountMax = 1024;
inline constexpr size_t kProducerQueueSlots = 1024;      // batches queued by one producer
inline constexpr size_t kOutcomesMax = 1024;  // of submitted batches, kept by one producer
inline constexpr size_t kCommitGroupBytesMax = 1024 * 1024;  // of several batches; one may be more

// --- segments
inline constexpr uint32_t kPageRowsMax = 4096;
inline constexpr size_t kPageBytesMax = 16 * 1024 * 1024;  // more is refused before allocating
inline constexpr uint32_t kSegmentPagesMax = 65536;
inline constexpr size_t kDictionaryBytesMax = 64 * 1024;  // of a trained one; more is refused
inline constexpr size_t kDictionaryColumnsMax = 16;      // of text that have one, or may get one
inline constexpr size_t kWindowDictionariesMax = 64;     // of all columns and trainings
inline constexpr size_t kMergedDictionariesMax = 4096;   // then a window is merged no more

// --- scans
inline constexpr size_t kScanBatchRowsDefault = 1024;    // clamped to 1..kPageRowsMax
inline constexpr size_t kScanBucketsAheadMax = 16;       // clamped, from 1
inline constexpr uint32_t kScanThreadsMax = 16;          // clamped
inline constexpr size_t kScanTokenBytesMax = 4096;
inline constexpr size_t kScanGapsMax = 1000;              // named by a cursor, the first ones
inline constexpr size_t kConditionsMax = 64;              // of one scan
inline constexpr size_t kAggregatesMax = 256;             // of one request
inline constexpr size_t kGroupColumnsMax = 16;            // of one aggregate
inline constexpr size_t kAggregateGroupsMax = 10'000;     // in one step of one entity
inline constexpr size_t kAggregateBatchRowsDefault = 1024;  // clamped to 1..kPageRowsMax
inline constexpr size_t kCursorCountMax = 256;
// Buckets without a visible row that one Cursor::Next passes; then it gives an empty batch.
inline constexpr size_t kEmptyBucketsMax = 256;
inline constexpr int64_t kFollowWaitUsMax = 3'600'000'000;
inline constexpr int64_t kFollowPauseUs = 10'000;  // between two looks of a follower

// --- times of EngineOptions
inline constexpr int64_t kReopenWaitUs = 10'000'000;  // of a write, while a store is opened anew
inline constexpr int64_t kSyncIntervalUsMax = 3'600'000'000;     // from 1
inline constexpr int64_t kCommitIntervalUsMax = 1'000'000;       // from 0
inline constexpr int64_t kHeadAgeUsMax = 366ll * 86'400'000'000;  // from 1
// Of grace and idle time, from 0. Longer means never: EngineOptions::seal_when_due.
inline constexpr int64_t kSealDelaySecondsMax = 366ll * 86'400;
inline constexpr int64_t kKeepSecondsMax = 100ll * 365 * 86'400;  // from 0; of either kind

// --- memory and disk
inline constexpr size_t kMemoryBudgetBytesMin = 8 * 1024 * 1024;
inline constexpr size_t kMemoryBudgetBytesDefault = 64 * 1024 * 1024;
inline constexpr uint64_t kDiskBudgetBytesMin = 32ull * 1024 * 1024;
inline constexpr uint64_t kInfoLogBytesMax = 2 * 1024 * 1024;  // two files of half this size each
inline constexpr size_t kSpillFamilyCountMax = 12;       // files' groups that hold segments
inline constexpr size_t kWindowFamilyCountMax = 48;  // of sealed buckets; a small budget has fewer
inline constexpr size_t kWindowFamilyBytes = 92 * 1024;  // of memory for each of these
inline constexpr uint8_t kSpillTierMax = 5;  // of those groups; each takes 32 of the one below

// --- the second copy of the catalog, CATALOG-1 and CATALOG-2
inline constexpr size_t kCatalogCopyBytesMax = 64 * 1024 * 1024;   // of one of the files
inline constexpr size_t kCatalogFrameBytesMax = 16 * 1024 * 1024;  // read at once: one change

// --- backups
inline constexpr size_t kBackupKeepDefault = 7;
inline constexpr size_t kBackupKeepMax = 1000;           // from 1
inline constexpr size_t kBackupFilesMax = 65536;         // of one backup
inline constexpr size_t kBackupProblemsMax = 1000;       // named by one, the first ones
inline constexpr size_t kBackupMemoryBytes = 1024 * 1024;  // of the budget, while one is written

// --- bounds that follow from EngineOptions::memory_budget_bytes, the argument of these functions.
// Metrics::memory_budget_bytes has that of an open engine.
// Of a batch that an engine takes, by RowBatch::byte_count(): an eighth of the budget, at most
// kBatchBytesMax, and at least what any one row has.
[[nodiscard]] constexpr size_t BatchBytesMax(size_t memory_budget_bytes) {
  constexpr size_t kOneRow = kRowBytesMax + kColumnCountMax * (sizeof(int64_t) + 1);
  return std::clamp(memory_budget_bytes / 8, kOneRow, kBatchBytesMax);
}
// Of all batches that wait in queues, by RowBatch::MemoryBytes() and what is held beside it: a
// quarter of the budget. More than that is kBusy for Producer::Submit. One batch is always taken
// where none waits.
[[nodiscard]] constexpr size_t QueuedBytesMax(size_t memory_budget_bytes) {
  return memory_budget_bytes / 4;
}

// --- replication
inline constexpr size_t kCqlRequestBytesMax = 8 * 1024 * 1024;    // body of a request, as sent
inline constexpr size_t kCqlResponseBytesMax = 16 * 1024 * 1024;  // body of a response, unpacked
inline constexpr size_t kCqlHandshakeBytesMax = 64 * 1024;  // the same, until a server is ready
inline constexpr size_t kCqlBufferKeptBytes = 256 * 1024;  // of a connection's buffer that is empty
inline constexpr size_t kCqlColumnCountMax = 4096;       // of one result or statement
inline constexpr size_t kCqlTypeDepthMax = 16;           // of a type in a server's metadata
inline constexpr size_t kCqlTypeBytesMax = 4096;         // of such a type's text
inline constexpr size_t kCqlWarningCountMax = 16;        // kept of one response, the first ones
inline constexpr size_t kDrainItemsMax = 1024;           // of the outbox, known at once
inline constexpr size_t kPushStatementsDefault = 400;    // of one batch
inline constexpr size_t kPushStatementsMax = 65535;      // the protocol's; from 1
inline constexpr size_t kPushBatchBytesDefault = 64 * 1024;
// A mutation of Cassandra is at most half a segment of its log, 16 MiB; a row grows there.
inline constexpr size_t kPushBatchBytesMin = 1024;
inline constexpr size_t kPushBatchBytesMax = 4 * 1024 * 1024;
inline constexpr size_t kPushingSealsDefault = 8;        // sent side by side
inline constexpr size_t kPushingSealsMax = 256;
inline constexpr size_t kHoldingSealsMax = 32768;        // acknowledged and not confirmed yet
inline constexpr size_t kParkedSealsPerTableMax = 1024;  // then the table is held
inline constexpr size_t kPushRecordsMax = 4096;          // seals that are parked or begun
inline constexpr size_t kPushPositionBytesMax = 64;      // of how far a seal has been pushed
inline constexpr size_t kParkedWordsBytesMax = 512;      // kept of a server's words; cut there
inline constexpr size_t kClusterNodesMax = 4096;         // more are passed over
// For routing alone: where a ring is not known in full, some requests take one hop more.
inline constexpr size_t kClusterTokensPerNodeMax = 1024;  // the first ones; Cassandra 5 has 16
inline constexpr size_t kClusterTokensMax = 64 * 1024;    // of one answer; then each node has one
inline constexpr size_t kClusterTopologyBytesMax = 4 * 1024 * 1024;  // a longer answer is not read
inline constexpr size_t kClusterSchemaBytesMax = 2 * 1024 * 1024;    // of one question of a table
inline constexpr size_t kCqlEmptyPagesMax = 100;  // of an answer, one behind another
// Of the ids that a server gives a prepared statement and its columns; Cassandra's have 16.
inline constexpr size_t kStatementIdBytesMax = 64;
inline constexpr size_t kClusterColumnsMax = 8192;       // of a table upstream, dropped ones apart
inline constexpr size_t kAcceptedDropsMax = 4096;        // of columns upstream, by a person
inline constexpr size_t kClusterTypeBytesMax = 4096;     // text of a type, to be understood
inline constexpr uint64_t kInFlightBytesMin = 64 * 1024;         // sent and not answered
inline constexpr uint64_t kInFlightBytesMax = 16 * 1024 * 1024;  // what a session takes
inline constexpr uint64_t kBandwidthMin = 1024;                  // bytes a second
inline constexpr uint64_t kBandwidthMax = 1ull << 40;
inline constexpr int64_t kLiveSpanSecondsMax = 366ll * 86'400;   // from 1
inline constexpr int64_t kHoldUsMax = 3'600'000'000;             // from 0
inline constexpr int64_t kConnectTimeoutUsMin = 1'000;
inline constexpr int64_t kConnectTimeoutUsMax = 3'600'000'000;
inline constexpr int64_t kReplicationWaitUsMax = 3'600'000'000;  // from 0
inline constexpr size_t kPasswordBytesMax = 4096;        // longer is no password but another file

}  // namespace cistern::limits

#endif  // CISTERN_LIMITS_H_
