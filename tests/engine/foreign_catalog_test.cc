// A copy of the catalog that is of another store: it is named and not believed.
#include "tests/engine/salvage_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

using ForeignCatalogTest = SalvageFilesTest;

TEST_F(ForeignCatalogTest, OfAnotherStoresCopyNothingIsBelieved) {
  MakeStore();
  const std::string mine = directory();
  directory_ = (fs::path(temp_.path()) / "other").string();
  OpenWithTable(kPumps);
  Shut();
  for (const char* name : {"CATALOG-1", "CATALOG-2"}) {
    fs::copy(PathOf(name), fs::path(mine) / name, fs::copy_options::overwrite_existing);
  }
  directory_ = mine;
  for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
  const auto report =
      Salvage(directory(), (fs::path(temp_.path()) / "salvaged").string(), {.clock = clock_});
  ASSERT_EQ(report.status().code(), StatusCode::kCorruption);
  EXPECT_NE(report.status().message().find("of another store"), std::string::npos)
      << report.status().ToString();
}

// One of the two is of another store, of more changes: the other one is believed.
TEST_F(ForeignCatalogTest, OneCopyOfAnotherStoreCostsNothing) {
  MakeStore();
  const std::string mine = directory();
  const std::string theirs = MakeOtherStore();
  for (const char* name : {"CATALOG-1", "CATALOG-2"}) {
    SCOPED_TRACE(name);
    directory_ = mine;
    Replace(name, theirs);
    ExpectOpened(std::string(name) + " is of another store");
    Replace(name, theirs);
    directory_ = (fs::path(temp_.path()) / name).string();
    fs::copy(mine, directory_, fs::copy_options::recursive);
    for (const std::string& manifest : FilesOf(FileKind::kManifest)) Remove(manifest);
    ExpectSalvaged();
    EXPECT_TRUE(HasProblem(std::string(name) + " is of another store"));
    directory_ = mine;
    Open();
    Shut();
  }
}

// Without CISTERN the copies say which store this is, with ACK as a witness.
TEST_F(ForeignCatalogTest, WhichStoreItIsIsNotGuessed) {
  MakeStore();
  const std::string mine = directory();
  const std::string theirs = MakeOtherStore();
  directory_ = mine;
  Remove("CISTERN");
  Replace("CATALOG-1", theirs);
  ExpectOpened("CATALOG-1 is of another store");
  // Both are foreign: ACK contradicts them.
  Remove("CISTERN");
  for (const char* name : {"CATALOG-1", "CATALOG-2"}) Replace(name, theirs);
  ExpectRefused({"CATALOG-1", "CATALOG-2", "of another store"});
  // One is, and ACK is gone.
  fs::copy(fs::path(theirs) / "CATALOG-1", PathOf("CATALOG-1"),
           fs::copy_options::overwrite_existing);
  fs::copy(kept_, PathOf("CATALOG-2"), fs::copy_options::overwrite_existing);
  Remove("ACK");
  ExpectRefused({"CATALOG-1 and CATALOG-2", "different stores"});
  Remove("CATALOG-1");
  ExpectOpened("CISTERN is missing or damaged");
}

}  // namespace
}  // namespace cistern::testing
