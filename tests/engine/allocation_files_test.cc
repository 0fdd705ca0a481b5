// Files of a store where an allocation fails below RocksDB's own calls.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>

#include "storage/file_system.h"
#include "storage/info_log.h"
#include "tests/support/failing_new.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

// What RocksDB calls of ours, perhaps on a thread of its own, ends with an error and not with an
// exception. Without the engine, as allocations below RocksDB's frames do not fail here.
TEST(FailingAllocations, FilesThrowNothing) {
  const TempDir temp("cistern-files");
  const std::string path = temp.path();
  rocksdb::FileOptions file_options;
  const rocksdb::IOOptions io;
  StoreFileSystem files(nullptr, path);
  ASSERT_TRUE(files.ScanDirectory().ok());
  files.SetManifestListener([](uint64_t, uint64_t) { std::string(100, 'x').append("allocates"); });
  const std::string table = path + "/900001.sst";
  const std::string renamed = table + "x";
  const std::string manifest = path + "/MANIFEST-900002";
  const std::string stood_in = path + "/900003.sst";
  const std::string inside = path + "/quarantine";
  std::unique_ptr<rocksdb::FSWritableFile> file;
  std::unique_ptr<rocksdb::FSRandomAccessFile> read;
  std::unique_ptr<rocksdb::FSSequentialFile> sequential;
  std::unique_ptr<rocksdb::FSRandomRWFile> random;
  rocksdb::FileLock* lock = nullptr;
  files.SetStandIn(stood_in, std::make_shared<const std::string>(100, 's'), 200);
  const std::function<rocksdb::IOStatus()> calls[] = {
      [&] { return files.NewWritableFile(manifest, file_options, &file, nullptr); },
      [&] { return file->Sync(io, nullptr); },
      [&] { return file->Fsync(io, nullptr); },
      [&] { return files.ReopenWritableFile(table, file_options, &file, nullptr); },
      [&] { return files.NewSequentialFile(manifest, file_options, &sequential, nullptr); },
      [&] { return files.NewRandomAccessFile(stood_in, file_options, &read, nullptr); },
      [&] { return files.NewRandomRWFile(table, file_options, &random, nullptr); },
      [&] { return files.RenameFile(table, renamed, io, nullptr); },
      [&] { return files.LinkFile(renamed, table, io, nullptr); },
      [&] { return files.DeleteFile(renamed, io, nullptr); },
      // Refusals are said in words, which need memory.
      [&] { files.SetDiskLimit(1); return file->Append("x", io, nullptr); },
      [&] { return file->Append("x", io, rocksdb::DataVerificationInfo(), nullptr); },
      [&] { files.SetReadOnly(); return files.Truncate(table, 0, io, nullptr); },
      [&] { return files.CreateDir(inside, io, nullptr); },
      [&] { return files.CreateDirIfMissing(inside, io, nullptr); },
      [&] { return files.DeleteDir(inside, io, nullptr); },
      [&] { return files.LockFile(inside, io, &lock, nullptr); },
  };
  size_t failed = 0;
  for (const auto& call : calls) {
    for (uint64_t nth = 1;; ++nth) {
      FailingNew::Arm(nth, FailingNew::Times::kOnce);
      const rocksdb::IOStatus status = call();
      const uint64_t failed_at = FailingNew::Disarm();
      if (failed_at == 0) break;
      ++failed;
      if (!status.ok()) continue;
      break;  // it has been done, and may not be done twice
    }
  }
  EXPECT_GT(failed, 0u);
  file.reset();
  const auto log = std::make_shared<InfoLog>(
      nullptr, path, [](LogLevel, std::string_view) { throw std::bad_alloc(); }, nullptr);
  log->Write(LogLevel::kError, "a sink that throws");
}

}  // namespace
}  // namespace cistern::testing
