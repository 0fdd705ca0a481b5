// The files of a RocksDB store that nobody has open, by column family.
#ifndef CISTERN_BENCH_PEERS_STORE_FILES_H_
#define CISTERN_BENCH_PEERS_STORE_FILES_H_

#include <cstdint>
#include <map>
#include <string>

namespace cistern::bench {

// Family -> bytes of its SST files; empty where it cannot be opened.
[[nodiscard]] std::map<std::string, uint64_t> FamilyFileBytes(const std::string& directory);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_STORE_FILES_H_
