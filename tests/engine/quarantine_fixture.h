// A store whose files are damaged, taken away and brought back.
#ifndef CISTERN_TESTS_ENGINE_QUARANTINE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_QUARANTINE_FIXTURE_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/engine/spill_fixture.h"

namespace cistern::testing {

class QuarantineFixture : public SpillFixture {
 protected:
  QuarantineFixture() { options_.seal_when_due = false; }

  static std::string ReadFile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void WriteFile(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  // Files of the families whose names begin so.
  std::vector<std::filesystem::path> Tables(const std::string& family) {
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    std::vector<std::filesystem::path> paths;
    for (const auto& file : files) {
      if (file.column_family_name.starts_with(family)) {
        paths.push_back(std::filesystem::path(directory()) / file.relative_filename);
      }
    }
    return paths;
  }
  // A rotation of 50 rows for each of a and b, in one file.
  void FillSmall() {
    RowBatch batch(schema_);
    for (int i = 0; i < 100; ++i) {
      const std::string sensor = i % 2 == 0 ? "a" : "b";
      AddRow(&batch, sensor, next_ts_, i);
      expected_[sensor].emplace_back(next_ts_++, i);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    Rotate();
  }
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_QUARANTINE_FIXTURE_H_
