// What RocksDB 7.8 believes of a file of segments (SST) without having checked it.
#ifndef CISTERN_STORAGE_TABLE_CHECK_H_
#define CISTERN_STORAGE_TABLE_CHECK_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>

namespace cistern {

// When RocksDB opens a file it takes the block of properties apart before it compares its
// checksum, and one flipped bit in it trips an assertion of Debian's build: the process ends, at
// every attempt. And the footer, which no checksum covers, says which kind of checksum the blocks
// have: a flipped bit there means none. So both are looked at before RocksDB has the file: one read
// of its last 4 KiB, mostly, each time that a file is opened.
//
// Corruption names what is wrong; an error of the device is returned. What RocksDB checks itself
// is left to it: OK.
[[nodiscard]] rocksdb::IOStatus CheckTable(const rocksdb::FSRandomAccessFile& file,
                                           const std::string& path, uint64_t size_bytes);

}  // namespace cistern

#endif  // CISTERN_STORAGE_TABLE_CHECK_H_
