// Seals pushed to a server by Cassandra's rules, which is then tampered with, and what proofs say.
#include "engine/replicate/seal_proof.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/replicate/page_shadow.h"
#include "tests/engine/replicate/proof_test_util.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kFirstMs = kDayStartS * 1000;
constexpr int64_t kWriteUs = (kDayStartS + 86'400) * kMicros;
constexpr int64_t kNowS = kDayStartS + 100'000;
constexpr auto kSoonS = static_cast<uint32_t>(kNowS + 1'000);

fake_cassandra::ClusteringKey KeyAt(int64_t i) {
  return {CellValue{kFirstMs + i, ""}};
}

TestVersion RowAt(int64_t i, uint32_t expiry_s = 0) {
  return Small(kFirstMs + i, kWriteUs + i, expiry_s, kVersionLiveness,
               Cell::Fixed(static_cast<int32_t>(i)), Cell::Bytes("b" + std::to_string(i)));
}

// Rows [first, end) of SmallTable.
VersionColumns RowsFrom(int64_t first, int64_t end) {
  std::vector<TestVersion> rows;
  for (int64_t i = first; i < end; ++i) rows.push_back(RowAt(i));
  return PageOf(*SmallTable(), rows);
}

// A seal of SmallTable, the server that has it, and one proof of it.
class SealProofTest : public ::testing::Test {
 protected:
  void Seal(std::vector<VersionColumns> pages, std::vector<RangeDelete> deletes = {}) {
    source_.binder = BinderOf(schema_, {"p1"});
    source_.content = ContentOf(std::move(pages), std::move(deletes));
    server_ = std::make_unique<ProofServer>(schema_);
    server_->Push(source_, kNowS);
  }
  void Begin(ProofLevel level) {
    options_.level = level;
    proof_.emplace(options_, source_);
  }
  ProofEnd Run(int64_t now_s = kNowS) {
    RunProof(&*proof_, server_.get(), now_s);
    return proof_->end();
  }
  ProofEnd Prove(ProofLevel level) {
    Begin(level);
    return Run();
  }
  ProofEnd SendAgainAndRun(int64_t now_s = kNowS) {
    EXPECT_EQ(proof_->end(), ProofEnd::kSendAgain);
    server_->Push(proof_->source_to_send(), now_s);
    proof_->SentAgain();
    return Run(now_s);
  }
  void Drop(int64_t i) {
    server_->ChangeRows([&](const auto& key, StoredRow*) { return !(key == KeyAt(i)); });
  }
  // The cell of row `i` becomes what `change` makes of it.
  void ChangeCell(int64_t i, const std::string& column,
                  const std::function<void(fake_cassandra::StoredCell*)>& change) {
    server_->ChangeRows([&](const auto& key, StoredRow* row) {
      if (key == KeyAt(i)) change(&row->cells.at(column));
      return true;
    });
  }

  const std::shared_ptr<const TableSchema> schema_ = SmallTable();
  SealSource source_;
  std::unique_ptr<ProofServer> server_;
  ProofOptions options_;
  std::optional<SealProof> proof_;
};

TEST(ProofTextsTest, NameAllRegularColumnsAndBoundTheTime) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (site int, \"Id\" text, day date, ts bigint, n text, v int, \"W\" text, "
      "m map<text, int>, "
      "PRIMARY KEY ((site, day, \"Id\"), ts, n)) WITH comment = "
      "'cistern: bucket day = 1 day; time ts = us'");
  const auto texts = ProofTexts(*StatementsOf(schema));
  const std::string from =
      " FROM k.t WHERE site = ? AND day = ? AND \"Id\" = ? AND ts >= ? AND "
      "ts <= ?";
  EXPECT_EQ(texts[0],
            "SELECT count(*), min(ts), max(ts), count(writetime(v)), max(writetime(v)), "
            "count(writetime(\"W\")), max(writetime(\"W\"))" +
                from);
  EXPECT_EQ(texts[1],
            "SELECT ts, n, v, writetime(v), ttl(v), \"W\", writetime(\"W\"), "
            "ttl(\"W\"), m" +
                from);
  EXPECT_EQ(CountAnswerWidth(*schema), 7u);
  EXPECT_EQ(RowAnswerWidth(*schema), 9u);
}

TEST_F(SealProofTest, AnAcknowledgedSealIsProvenWithoutAQuery) {
  Seal({RowsFrom(0, 3)});
  EXPECT_EQ(Prove(ProofLevel::kAck), ProofEnd::kProven);
  EXPECT_EQ(proof_->reached(), ProofLevel::kAck);
  EXPECT_EQ(server_->query_count, 0u);
}

TEST_F(SealProofTest, ACountIsOneQuery) {
  Seal({RowsFrom(0, 30), RowsFrom(30, 60)});
  EXPECT_EQ(Prove(ProofLevel::kCount), ProofEnd::kProven);
  EXPECT_EQ(proof_->reached(), ProofLevel::kCount);
  EXPECT_EQ(server_->query_count, 1u);
}

TEST_F(SealProofTest, AllRowsAreProvenOverManyPages) {
  Seal({RowsFrom(0, 30), RowsFrom(30, 31), RowsFrom(31, 60)});
  options_.page_rows_max = 7;
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->reached(), ProofLevel::kRows);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 60}));
  EXPECT_EQ(server_->query_count, 9u);
}

TEST_F(SealProofTest, AnswersAreBoundedInBytes) {
  std::vector<TestVersion> rows;
  for (int64_t i = 0; i < 20; ++i) {
    rows.push_back(Small(kFirstMs + i, kWriteUs, 0, kVersionLiveness, Cell::Absent(),
                         Cell::Bytes(std::string(10'000, 'x'))));
  }
  Seal({PageOf(*schema_, rows)});
  options_.page_bytes = 50'000;
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally().proven, 20u);
  EXPECT_GE(server_->query_count, 5u);
  EXPECT_LE(server_->query_count, 8u);
}

TEST_F(SealProofTest, AMissingRowIsSentOnceMore) {
  Seal({RowsFrom(0, 10), RowsFrom(10, 20), RowsFrom(20, 30), RowsFrom(30, 40), RowsFrom(40, 50)});
  Drop(12);
  Drop(35);
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 20}));  // of pages 0 and 4
  const SealSource again = proof_->source_to_send();
  ASSERT_EQ(again.content.page_count, 3u);
  const SealPage first = *again.content.read_page(0, kNowS);
  EXPECT_EQ(first.rows.columns[schema_->time_column()].fixed[0], kFirstMs + 10);
  EXPECT_TRUE(again.options.older_may_exist);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 50}));
}

TEST_F(SealProofTest, WhatIsAbsentEvenThenIsShadowed) {
  Seal({RowsFrom(0, 10)});
  StoredRow deleted;
  deleted.deletion = {kWriteUs + 1'000, kNowS};
  server_->Write(KeyAt(4), deleted);
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 9, .shadowed = 1}));
}

TEST_F(SealProofTest, ADeletedCellUpstreamIsShadowed) {
  Seal({RowsFrom(0, 3)});
  server_->Write(KeyAt(1), RowOf(kWriteUs + 50, false, {{"b", std::nullopt}}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2, .shadowed = 1}));
}

TEST_F(SealProofTest, AnEmptyPartitionIsShadowedToo) {
  Seal({RowsFrom(0, 10), RowsFrom(10, 20)});
  StoredRow deleted;
  deleted.deletion = {kWriteUs + 1'000, kNowS};
  for (int64_t i = 0; i < 20; ++i) server_->Write(KeyAt(i), deleted);
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.shadowed = 20}));
}

// A column that was dropped upstream and added again shows no value from before.
TEST_F(SealProofTest, WhatItsColumnHidesIsNotProvenUntilSomebodyAgrees) {
  options_.hidden = {{.up_to_us = kWriteUs + 4, .drop = "ks.t.a@2027-01-15"}, {}};
  for (const bool is_accepted : {false, true}) {
    SCOPED_TRACE(is_accepted);
    Seal({RowsFrom(0, 10)});
    server_->ChangeRows([](const auto& key, StoredRow* row) {
      if (key[0].fixed <= kFirstMs + 4) row->cells.erase("a");
      return true;
    });
    options_.hidden[0].is_accepted = is_accepted;
    ASSERT_EQ(Prove(ProofLevel::kRows), is_accepted ? ProofEnd::kProven : ProofEnd::kNotProven);
    EXPECT_EQ(proof_->tally(), is_accepted ? (ProofTally{.proven = 5, .hidden = 5})
                                           : (ProofTally{.proven = 5, .differing = 5}));
    for (const char* part : {"column 'a' was dropped", "--accept-hidden ks.t.a@2027-01-15"}) {
      EXPECT_EQ(proof_->why().find(part) != std::string::npos, !is_accepted) << proof_->why();
    }
    // They are not counted.
    EXPECT_EQ(Prove(ProofLevel::kCount), ProofEnd::kProven);
    EXPECT_EQ(proof_->reached(), ProofLevel::kCount);
  }
}

TEST_F(SealProofTest, OverwritesAndRowsOfOthersAreNoFailure) {
  Seal({RowsFrom(0, 5)});
  server_->Write(KeyAt(2), RowOf(kWriteUs + 100, true, {{"a", IntBytes(77)}}));
  server_->Write({CellValue{kFirstMs + 1, ""}}, RowOf(1, true, {}));  // older: changes nothing
  server_->Write(KeyAt(-5), RowOf(kWriteUs, true, {{"a", IntBytes(1)}}));
  server_->Write(KeyAt(500), RowOf(kWriteUs, true, {{"a", IntBytes(1)}}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 4, .newer = 1}));
  EXPECT_NE(proof_->first_newer().find("column 'a' shows a write of " +
                                       std::to_string(kWriteUs + 100) + " us over ours of " +
                                       std::to_string(kWriteUs + 2) + " us"),
            std::string::npos)
      << proof_->first_newer();
}

TEST_F(SealProofTest, AnotherValueOfTheSameTimeIsNotProven) {
  Seal({RowsFrom(0, 5)});
  ChangeCell(3, "b", [](auto* cell) { cell->value = "zzz"; });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kNotProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 4, .differing = 1}));
  EXPECT_NE(proof_->why().find("column 'b' has another value at our own write time " +
                               std::to_string(kWriteUs + 3)),
            std::string::npos)
      << proof_->why();
  EXPECT_NE(proof_->why().find("table ks.t: row ts = "), std::string::npos) << proof_->why();
}

// Cassandra would keep ours of the two, so ours is not there.
TEST_F(SealProofTest, ALesserValueOfTheSameTimeIsMendedBySending) {
  Seal({RowsFrom(0, 5)});
  const auto damage = [&] { ChangeCell(3, "b", [](auto* cell) { cell->value = "a"; }); };
  damage();
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 5}));

  damage();
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  proof_->SentAgain();  // and nothing came
  EXPECT_EQ(Run(), ProofEnd::kNotProven);
  EXPECT_NE(proof_->why().find("still shows a value"), std::string::npos) << proof_->why();
}

TEST_F(SealProofTest, AnOlderValueIsMendedBySending) {
  Seal({RowsFrom(0, 5)});
  ChangeCell(0, "a", [](auto* cell) { cell->timestamp_us = kWriteUs - 9; });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 5}));
}

TEST_F(SealProofTest, ATtlThatWeDidNotGiveIsNotProven) {
  Seal({RowsFrom(0, 5)});
  ChangeCell(3, "a", [](auto* cell) {
    cell->ttl_s = 500;
    cell->local_deletion_s = kNowS + 500;
  });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kNotProven);
  EXPECT_NE(proof_->why().find("but with a TTL"), std::string::npos) << proof_->why();
}

TEST_F(SealProofTest, ATtlThatIsLostIsMendedBySending) {
  Seal({PageOf(*schema_, {RowAt(0, kSoonS)})});
  ChangeCell(0, "a", [](auto* cell) {
    cell->ttl_s = 0;
    cell->local_deletion_s = fake_cassandra::kNever;
  });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
}

TEST_F(SealProofTest, RowsMayExpireBeforeTheProof) {
  for (const bool names_now : {true, false}) {
    source_.options.names_now = names_now;
    Seal({PageOf(*schema_,
                 {RowAt(0, kSoonS), RowAt(1), RowAt(2, kSoonS + 3), RowAt(3, kSoonS + 90)})});
    Begin(ProofLevel::kRows);
    EXPECT_EQ(Run(kSoonS + 2), ProofEnd::kProven);
    EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 3, .expired = 1}));
    Begin(ProofLevel::kRows);  // the server's clock is ahead of ours
    RunProof(&*proof_, server_.get(), kSoonS + 1, kSoonS + 3);
    EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2, .expired = 2}));
  }
}

TEST_F(SealProofTest, WithoutAClockWhatExpiresMayBeOver) {
  Seal({PageOf(*schema_, {RowAt(0, kSoonS), RowAt(1), RowAt(2, kSoonS)})});
  Drop(0);
  Begin(ProofLevel::kRows);
  RunProof(&*proof_, server_.get(), std::nullopt, kNowS);
  EXPECT_EQ(proof_->end(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2, .expired = 1}));
}

// What is over soon may be gone when the server has come to count it, and is not expected.
TEST_F(SealProofTest, WhatExpiresWithinAMinuteIsNotCounted) {
  const auto now_s = static_cast<uint32_t>(kNowS);
  for (const uint32_t life_s : {1u, 30u, 60u, 90u}) {
    Seal({PageOf(*schema_, {RowAt(0), RowAt(1, now_s + life_s), RowAt(2)})});
    Drop(1);
    const bool is_expected = life_s > 60;
    EXPECT_EQ(Prove(ProofLevel::kCount), is_expected ? ProofEnd::kSendAgain : ProofEnd::kProven);
    EXPECT_EQ(proof_->reached(), is_expected ? ProofLevel::kRows : ProofLevel::kCount) << life_s;
  }
}

// A row that is over is not sent where nothing lies below it; what is sent once more always is.
TEST_F(SealProofTest, OnceItWasSentAgainNothingOlderMayShow) {
  source_.options.older_may_exist = false;
  for (const bool is_sent : {true, false}) {
    Seal({PageOf(*schema_, {RowAt(0, kSoonS), RowAt(1)})});
    server_->ChangeRows([](const auto& key, StoredRow* row) {
      if (key == KeyAt(0)) *row = RowOf(kWriteUs - 5, true, {{"a", IntBytes(7)}});
      return !(key == KeyAt(1));
    });
    Begin(ProofLevel::kRows);
    ASSERT_EQ(Run(kSoonS + 3), ProofEnd::kSendAgain);
    if (is_sent) {
      EXPECT_EQ(SendAgainAndRun(kSoonS + 3), ProofEnd::kProven) << proof_->why();
    } else {
      proof_->SentAgain();
      EXPECT_EQ(Run(kSoonS + 3), ProofEnd::kNotProven);
      EXPECT_EQ(proof_->tally().differing, 1u);
    }
  }
}

TEST_F(SealProofTest, PartialWritesOfDifferentTimesAndLives) {
  Seal({PageOf(*schema_,
               {Small(kFirstMs, kWriteUs, 0, kVersionLiveness, Cell::Fixed(1), Cell::Absent()),
                Small(kFirstMs, kWriteUs + 5, kSoonS, 0, Cell::Absent(), Cell::Bytes("x"))}),
        PageOf(*schema_, {Small(kFirstMs, kWriteUs + 9, 0, 0, Cell::Fixed(2), Cell::Absent()),
                          Small(kFirstMs + 1, kWriteUs, 0, 0, Cell::Null(), Cell::Bytes("y")),
                          Small(kFirstMs + 2, kWriteUs, 0, 0, Cell::Null(), Cell::Null()),
                          Small(kFirstMs + 3, kWriteUs, 0, 0, Cell::Absent(), Cell::Absent())})});
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2, .deleted = 1, .empty = 1}));
  EXPECT_EQ(Prove(ProofLevel::kCount), ProofEnd::kProven);
  EXPECT_EQ(proof_->reached(), ProofLevel::kCount);
  ChangeCell(0, "a", [](auto* cell) { cell->timestamp_us = kWriteUs; });  // the update is lost
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(proof_->source_to_send().content.page_count, 2u);  // the row stands in both
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2, .deleted = 1, .empty = 1}));
}

TEST_F(SealProofTest, ACellThatWasNulledMustBeGone) {
  Seal({PageOf(*schema_,
               {Small(kFirstMs, kWriteUs, 0, kVersionLiveness, Cell::Null(), Cell::Bytes("x"))})});
  ChangeCell(0, "a", [](auto* cell) {
    *cell = {kWriteUs, 0, fake_cassandra::kNever, IntBytes(4)};
  });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  proof_->SentAgain();
  EXPECT_EQ(Run(), ProofEnd::kNotProven);
  EXPECT_NE(proof_->why().find("instead of our deletion"), std::string::npos) << proof_->why();
}

TEST_F(SealProofTest, ADeletedRowMustBeAbsent) {
  Seal({PageOf(*schema_, {RowAt(0), Small(kFirstMs + 1, kWriteUs + 1, 0, kVersionDeleteRow,
                                          Cell::Absent(), Cell::Absent())})});
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 1, .deleted = 1}));
  server_->Write(KeyAt(1), RowOf(kWriteUs + 2, true, {{"a", IntBytes(1)}}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 1, .newer = 1}));
  server_->ChangeRows([](const auto& key, StoredRow* row) {
    if (key == KeyAt(1)) *row = RowOf(kWriteUs, true, {{"a", IntBytes(1)}});
    return true;
  });
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  Begin(ProofLevel::kRows);
  ASSERT_EQ(Run(), ProofEnd::kSendAgain);
  proof_->SentAgain();
  EXPECT_EQ(Run(), ProofEnd::kNotProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 1, .differing = 1}));
}

// Nothing tells when a row without cells was written.
TEST_F(SealProofTest, ADeletedRowThatShowsNoCellIsSentOnceMore) {
  Seal({PageOf(*schema_,
               {Small(kFirstMs, kWriteUs, 0, kVersionDeleteRow, Cell::Absent(), Cell::Absent())})});
  server_->Write(KeyAt(0), RowOf(kWriteUs + 7, true, {}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.newer = 1}));
}

TEST_F(SealProofTest, ARangeMustBeEmptyBetweenOurRows) {
  const RangeDelete range{kFirstMs + 2, kFirstMs + 8, kWriteUs + 50, 0};
  Seal({RowsFrom(0, 4), RowsFrom(9, 12)}, {range});
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 5, .deleted = 2}));
  server_->ForgetRanges();
  server_->Write(KeyAt(6), RowOf(kWriteUs + 51, true, {{"a", IntBytes(6)}}));  // newer
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  server_->Write(KeyAt(5), RowOf(kWriteUs + 50, true, {{"a", IntBytes(5)}}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kSendAgain);
  EXPECT_EQ(SendAgainAndRun(), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 5, .deleted = 2}));
}

TEST_F(SealProofTest, ADeleteOfThePartitionIsLookedAtAmongOurRowsAlone) {
  Seal({RowsFrom(10, 12)}, {{.write_us = kWriteUs}});
  server_->ForgetRanges();
  server_->Write(KeyAt(50), RowOf(kWriteUs, true, {{"a", IntBytes(5)}}));
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 2}));
}

TEST_F(SealProofTest, OfDeletesAloneNothingIsAsked) {
  Seal({}, {{.write_us = kWriteUs}});
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->reached(), ProofLevel::kAck);
  EXPECT_EQ(server_->query_count, 0u);
}

TEST_F(SealProofTest, WhatAnotherSealDeletedIsNotAskedFor) {
  Seal({RowsFrom(0, 10)});
  source_.content.read_page = [this, read = source_.content.read_page](
                                  uint32_t page, std::optional<int64_t> now_s) {
    static const std::vector<RangeDelete> kDeletes = {{kFirstMs + 3, kFirstMs + 5, kWriteUs + 100}};
    Result<SealPage> out = read(page, now_s);
    PageShadow shadow(*schema_, TimestampMode::kWriteTime, now_s, &out->rows);
    shadow.AddRanges(kDeletes);
    out->shadowed = shadow.Take();
    return out;
  };
  EXPECT_EQ(Prove(ProofLevel::kRows), ProofEnd::kProven);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 8, .empty = 2}));
}

TEST_F(SealProofTest, PageErrorsLeaveTheProofAsItWas) {
  Seal({RowsFrom(0, 5), RowsFrom(5, 10)});
  size_t reads = 0;
  source_.content.read_page =
      [&reads, read = source_.content.read_page](
          uint32_t page, std::optional<int64_t> now_s) -> Result<SealPage> {
    if (reads++ % 3 == 0) return Status::Busy("not now");
    return read(page, now_s);
  };
  Begin(ProofLevel::kRows);
  size_t busy = 0;
  for (;;) {
    const auto step = proof_->Next(kNowS);
    if (!step.ok()) {
      ASSERT_EQ(step.status().code(), StatusCode::kBusy);
      ++busy;
      continue;
    }
    if (*step == ProofStep::kEnd) break;
    if (*step == ProofStep::kGoOn) continue;
    ASSERT_TRUE(proof_->Take(server_->Answer(proof_->query(), kNowS)->rows).ok());
  }
  EXPECT_GE(busy, 2u);
  EXPECT_EQ(proof_->tally(), (ProofTally{.proven = 10}));
}

}  // namespace
}  // namespace cistern::replicate
