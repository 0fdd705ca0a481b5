// Peer: one engine that stores the rows of a workload, behind one interface for all.
#ifndef CISTERN_BENCH_PEERS_PEER_H_
#define CISTERN_BENCH_PEERS_PEER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/peers/peer_table.h"
#include "bench/peers/row_sums.h"
#include "cistern/result.h"

namespace cistern::bench {

class RowVisitor {
 public:
  virtual ~RowVisitor() = default;
  virtual void Visit(const RowView& row) = 0;
};

// Of one column; cells without a value do not count.
struct PeerAggregate {
  uint64_t count = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;

  void Add(double value) {
    ++count;
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
  }
};

// What every engine is opened with.
struct PeerSetup {
  PeerTable table;
  std::string directory;
  size_t memory_bytes = 32 << 20;  // for what it buffers and caches
};

// One thread at a time. What an append was answered for survives the end of the process; nothing
// is synced to the device for it. The destructor closes the store.
class Peer {
 public:
  virtual ~Peer() = default;

  // One transaction, or one write batch.
  [[nodiscard]] virtual Status Append(const RowBlock& rows) = 0;
  // Until the store is as it would rest: everything sealed, flushed, compacted, checkpointed that
  // the engine does by itself, now or later.
  [[nodiscard]] virtual Status Settle() = 0;

  // Every row, or all of one entity, with all columns. Order as the engine likes.
  [[nodiscard]] virtual Status ScanRows(RowVisitor* visitor) = 0;
  [[nodiscard]] virtual Status ScanEntity(uint32_t entity, RowVisitor* visitor) = 0;
  // Every row with all columns, in whatever form the engine has them: by column if it can.
  [[nodiscard]] virtual Status ScanColumns(RowSums* sums) = 0;
  // Of a column of numbers, all rows of an entity.
  [[nodiscard]] virtual Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) = 0;
  // --- small questions, answered at rest. kNotSupported: this engine is not asked them.
  // The newest row of an entity, with all columns, or the row of that time. None: no visit.
  [[nodiscard]] virtual Status NewestRow(uint32_t /*entity*/, RowVisitor* /*visitor*/) {
    return Status::NotSupported("no small questions");
  }
  [[nodiscard]] virtual Status RowAt(uint32_t /*entity*/, int64_t /*time_ms*/,
                                     RowVisitor* /*visitor*/) {
    return Status::NotSupported("no small questions");
  }
  // The event time of its newest row; 0: it has none.
  [[nodiscard]] virtual Result<int64_t> NewestTime(uint32_t /*entity*/) {
    return Status::NotSupported("no small questions");
  }

  // Gives the rows before that time up and their room back; kNotSupported: it has no way.
  [[nodiscard]] virtual Status DropBefore(int64_t time_ms) = 0;

  // Figures that only this engine has, at rest, for a row: name -> bytes.
  [[nodiscard]] virtual std::map<std::string, double> OwnFigures(uint64_t /*rows*/) { return {}; }
};

// An engine in one form of use.
struct PeerKind {
  std::string name;
  std::string settings;  // printed with the table
  // Creates the store in the directory, or opens the one that is there.
  Result<std::unique_ptr<Peer>> (*open)(const PeerSetup& setup) = nullptr;
  double rows_share = 1;   // of the workload's rows: for what would take all day
  bool can_drop = true;
};

// By file. Those that were not built, or whose library is not there, give none.
[[nodiscard]] std::vector<PeerKind> CisternPeers();
[[nodiscard]] std::vector<PeerKind> RocksDbPeers();
[[nodiscard]] std::vector<PeerKind> SqlitePeers();
[[nodiscard]] std::vector<PeerKind> LevelDbPeers();
[[nodiscard]] std::vector<PeerKind> LmdbPeers();
// `library`: path of libduckdb.so; empty: none.
[[nodiscard]] std::vector<PeerKind> DuckDbPeers(const std::string& library);

// The rows are made and forgotten: what their making costs.
inline constexpr const char* kGenerator = "generator";
[[nodiscard]] PeerKind GeneratorKind();

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PEER_H_
