// What a proof is made of: values that are the same, answers that are none, single findings; and
// tables of other shapes than that of seal_proof_test.cc.
#include "engine/replicate/row_judge.h"

#include <gtest/gtest.h>

#include <utility>

#include "cistern/limits.h"
#include "engine/replicate/page_watch.h"
#include "engine/replicate/proof_statements.h"
#include "engine/replicate/same_value.h"
#include "engine/replicate/upstream_rows.h"
#include "tests/engine/replicate/proof_test_util.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kWriteUs = (kDayStartS + 86'400) * 1'000'000;
constexpr int64_t kNowS = kDayStartS + 100'000;

// [int] count, then [int] length and bytes of each.
std::string Collection(const std::vector<std::string>& elements, int32_t count) {
  std::string bytes = IntBytes(count);
  for (const std::string& element : elements) {
    bytes += IntBytes(static_cast<int32_t>(element.size())) + element;
  }
  return bytes;
}
std::string Collection(const std::vector<std::string>& elements) {
  return Collection(elements, static_cast<int32_t>(elements.size()));
}

// Without rows, and each leads to another one: a proof would go on for ever.
TEST(UpstreamRowsTest, PagesLeadToAnEnd) {
  const auto schema = SmallTable();
  cql::RowsResult page;
  page.rows = cql::RowsView({}, 0, RowAnswerWidth(*schema));
  page.metadata.has_more_pages = true;
  UpstreamRows rows(*schema);
  size_t taken = 0;
  for (; taken < 10 * limits::kCqlEmptyPagesMax; ++taken) {
    page.metadata.paging_state = "page " + std::to_string(taken);
    if (rows.Take(page).code() == StatusCode::kCorruption) break;
    EXPECT_FALSE(*rows.Next());
  }
  EXPECT_EQ(taken, limits::kCqlEmptyPagesMax);
  rows.Clear();
  EXPECT_TRUE(rows.Take(page).ok());
  EXPECT_EQ(rows.Take(page).code(), StatusCode::kCorruption);  // where we are already
  rows.Clear();
  page.metadata.paging_state.clear();
  EXPECT_EQ(rows.Take(page).code(), StatusCode::kCorruption);
  page.metadata.has_more_pages = false;
  EXPECT_TRUE(rows.Take(page).ok());
}

TEST(SameValueTest, SetsAndMapsHaveNoOrder) {
  const ColumnType text{CqlType::kText, {}};
  const ColumnType list{CqlType::kList, {text}};
  const ColumnType set{CqlType::kSet, {text}};
  const ColumnType map{CqlType::kMap, {text, set}};
  EXPECT_TRUE(SameValue(text, "a", "a"));
  EXPECT_FALSE(SameValue(text, "a", "b"));
  const std::string ab = Collection({"a", "b"});
  const std::string ba = Collection({"b", "a"});
  EXPECT_TRUE(SameValue(set, ab, ba));
  EXPECT_TRUE(SameValue(set, ab, Collection({"a", "b", "a"})));
  EXPECT_FALSE(SameValue(set, ab, Collection({"a", "c"})));
  EXPECT_FALSE(SameValue(set, ab, Collection({"a"})));
  EXPECT_FALSE(SameValue(list, ab, ba));
  EXPECT_TRUE(SameValue(map, Collection({"k", ab, "l", ba}, 2), Collection({"l", ab, "k", ba}, 2)));
  EXPECT_FALSE(SameValue(map, Collection({"k", ab}, 1), Collection({"l", ab}, 1)));
  // A list of sets, in its order.
  const ColumnType nested{CqlType::kList, {set}};
  EXPECT_FALSE(
      SameValue(nested, Collection({ab, Collection({})}), Collection({Collection({}), ab})));
  EXPECT_TRUE(SameValue(nested, Collection({ab}), Collection({ba})));
}

TEST(SameValueTest, OfAKeyThatStandsTwiceTheLastValueCounts) {
  const ColumnType text{CqlType::kText, {}};
  const ColumnType map{CqlType::kMap, {text, text}};
  const std::string twice = Collection({"k", "old", "l", "x", "k", "new"}, 3);
  EXPECT_TRUE(SameValue(map, twice, Collection({"k", "new", "l", "x"}, 2)));
  EXPECT_FALSE(SameValue(map, twice, Collection({"k", "old", "l", "x"}, 2)));
  EXPECT_FALSE(SameValue(map, Collection({"k"}, 1), Collection({"k", "new"}, 1)));
}

TEST(SameValueTest, FieldsThatAreNullAtTheEndMayBeMissing) {
  const ColumnType text{CqlType::kText, {}};
  const ColumnType tuple{CqlType::kTuple, {text, {CqlType::kSet, {text}}}};
  const auto field = [](const std::string& bytes) {
    return IntBytes(static_cast<int32_t>(bytes.size())) + bytes;
  };
  EXPECT_TRUE(SameValue(tuple, field("a"), field("a") + IntBytes(-1)));
  EXPECT_FALSE(SameValue(tuple, field("a"), field("a") + field(Collection({}))));
  EXPECT_TRUE(SameValue(tuple, field("a") + field(Collection({"x", "y"})),
                        field("a") + field(Collection({"y", "x"}))));
  EXPECT_FALSE(SameValue(tuple, field("a"), field("b")));
  ColumnType vector{CqlType::kVector, {{CqlType::kSet, {text}}}};
  vector.dimension = 1;
  EXPECT_TRUE(SameValue(vector, "\x0e" + Collection({"x", "y"}), "\x0e" + Collection({"y", "x"})));
}

TEST(SameValueTest, BytesThatAreNoCollectionAreTheSameIfTheyAreEqual) {
  const ColumnType set{CqlType::kSet, {{CqlType::kText, {}}}};
  const std::string ab = Collection({"a", "b"});
  for (const std::string& bad :
       {std::string(), std::string("abc"), Collection({"a", "b"}, 3), Collection({"a", "b"}, 1),
        Collection({"a", "b"}, -1), ab + "x", IntBytes(1) + IntBytes(-1),
        IntBytes(0x7fffffff) + IntBytes(0x7fffffff)}) {
    EXPECT_FALSE(SameValue(set, ab, bad));
    EXPECT_FALSE(SameValue(set, bad, ab));
    EXPECT_TRUE(SameValue(set, bad, bad));
  }
}

// An answer with these cells, one row of `width` behind another.
std::unique_ptr<AnswerBytes> AnswerOf(const std::vector<std::optional<std::string>>& cells,
                                      size_t width) {
  auto answer = std::make_unique<AnswerBytes>();
  for (const auto& cell : cells) {
    answer->bytes += IntBytes(cell ? static_cast<int32_t>(cell->size()) : -1) + cell.value_or("");
  }
  answer->rows.rows = cql::RowsView(answer->bytes, cells.size() / width, width);
  return answer;
}

std::string Bigint(int64_t value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

StatusCode CodeOf(const std::vector<std::optional<std::string>>& cells) {
  const auto schema = SmallTable();
  UpstreamRows rows(*schema);
  const Status taken = rows.Take(AnswerOf(cells, 7)->rows);
  EXPECT_TRUE(taken.ok()) << taken.ToString();
  for (;;) {
    const Result<bool> next = rows.Next();
    if (!next.ok()) return next.status().code();
    if (!*next) return StatusCode::kOk;
  }
}

TEST(UpstreamRowsTest, TakesRowsApart) {
  const auto schema = SmallTable();
  UpstreamRows rows(*schema);
  ASSERT_TRUE(rows.Take(AnswerOf({Bigint(5), IntBytes(7), Bigint(-9), std::nullopt, std::nullopt,
                                  std::nullopt, std::nullopt,  // the next row
                                  Bigint(6), std::nullopt, std::nullopt, std::nullopt, "x",
                                  Bigint(3), IntBytes(60)},
                                 7)
                            ->rows)
                  .ok());
  ASSERT_TRUE(*rows.Next());
  EXPECT_EQ(rows.row().key, (RowKey{{5, ""}}));
  EXPECT_EQ(rows.row().cells[0].value, IntBytes(7));
  EXPECT_EQ(rows.row().cells[0].write_us, -9);
  EXPECT_FALSE(rows.row().cells[0].ttl_s.has_value());
  EXPECT_FALSE(rows.row().cells[1].value.has_value());
  ASSERT_TRUE(*rows.Next());
  EXPECT_EQ(rows.row().cells[1].value, "x");
  EXPECT_EQ(rows.row().cells[1].ttl_s, 60);
  EXPECT_FALSE(*rows.Next());
}

TEST(UpstreamRowsTest, RefusesWhatIsNoAnswer) {
  const auto row = [](std::optional<std::string> key, std::optional<std::string> write_us,
                      std::optional<std::string> ttl_s) {
    return std::vector<std::optional<std::string>>{key,          IntBytes(1),  write_us,    ttl_s,
                                                   std::nullopt, std::nullopt, std::nullopt};
  };
  const auto both = [](std::vector<std::optional<std::string>> a,
                       const std::vector<std::optional<std::string>>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const auto first = row(Bigint(1), Bigint(1), std::nullopt);
  const auto second = row(Bigint(2), Bigint(1), IntBytes(4));
  EXPECT_EQ(CodeOf(both(first, second)), StatusCode::kOk);
  EXPECT_EQ(CodeOf(both(second, first)), StatusCode::kCorruption);
  EXPECT_EQ(CodeOf(both(first, first)), StatusCode::kCorruption);
  EXPECT_EQ(CodeOf(row(Bigint(1), std::nullopt, std::nullopt)), StatusCode::kCorruption);
  EXPECT_EQ(CodeOf(row(Bigint(1), IntBytes(1), std::nullopt)), StatusCode::kCorruption);
  EXPECT_EQ(CodeOf(row(Bigint(1), Bigint(1), Bigint(1))), StatusCode::kCorruption);
  // Other writers may have such keys.
  EXPECT_EQ(CodeOf(both(second, row("", Bigint(1), std::nullopt))), StatusCode::kOk);
  EXPECT_EQ(CodeOf(row(std::nullopt, Bigint(1), std::nullopt)), StatusCode::kOk);

  const auto schema = SmallTable();
  UpstreamRows rows(*schema);
  EXPECT_EQ(rows.Take(AnswerOf({Bigint(1)}, 1)->rows).code(), StatusCode::kCorruption);
}

TEST(SealProofAnswersTest, ACountOfAnotherShapeIsAskedForAgain) {
  const auto schema = SmallTable();
  SealSource source;
  source.binder = BinderOf(schema, {"p1"});
  const int64_t first_ms = kDayStartS * 1000;
  source.content = ContentOf({PageOf(*schema, {Small(first_ms, kWriteUs, 0, kVersionLiveness,
                                                     Cell::Fixed(1), Cell::Absent())})},
                             {});
  ProofOptions options;
  options.level = ProofLevel::kCount;
  const std::vector<std::optional<std::string>> right = {
      Bigint(1),        Bigint(first_ms), Bigint(first_ms), Bigint(1),
      Bigint(kWriteUs), Bigint(0),        std::nullopt};
  const auto ask = [&](SealProof* proof) {
    for (;;) {
      const auto step = proof->Next(kNowS);
      ASSERT_TRUE(step.ok());
      ASSERT_NE(*step, ProofStep::kEnd);
      if (*step == ProofStep::kAsk) return;
    }
  };
  SealProof proof(options, source);
  ask(&proof);
  EXPECT_EQ(proof.Take(AnswerOf({Bigint(1)}, 1)->rows).code(), StatusCode::kCorruption);
  EXPECT_EQ(proof.Take(AnswerOf({}, 7)->rows).code(), StatusCode::kCorruption);
  ask(&proof);
  EXPECT_EQ(proof.query().statement, ProofStatement::kCount);
  ASSERT_TRUE(proof.Take(AnswerOf(right, 7)->rows).ok());
  EXPECT_EQ(*proof.Next(kNowS), ProofStep::kEnd);
  // One less, or a null, in any place: the rows are read.
  for (const size_t at : {0, 1, 2, 3, 4}) {
    for (const bool is_null : {false, true}) {
      auto wrong = right;
      wrong[at] =
          is_null ? std::nullopt : std::optional(Bigint(GetBig<int64_t>(right[at]->data()) - 1));
      SealProof other(options, source);
      ask(&other);
      ASSERT_TRUE(other.Take(AnswerOf(wrong, 7)->rows).ok());
      ask(&other);
      EXPECT_EQ(other.query().statement, ProofStatement::kRows) << at;
    }
  }
}

// A row of SmallTable with a cell in `a`, here and there.
Finding FindingOf(const SealCell& ours, const UpstreamCell& upstream, const JudgeRules& rules) {
  const auto schema = SmallTable();
  SealRow row;
  row.key = {{kDayStartS * 1000, ""}};
  row.cells = {ours, {}};
  const UpstreamRow shown{row.key, {upstream, {}}};
  return JudgeRow(*schema, row, &shown, rules).finding;
}

TEST(RowJudgeTest, TiesInEventTimeAreOverwrites) {
  const std::string low = IntBytes(1);
  const std::string high = IntBytes(2);
  const JudgeRules write_time{.now_s = kNowS};
  const JudgeRules event_time{.mode = TimestampMode::kEventTime, .now_s = kNowS};
  const SealCell ours_low{CellState::kValue, 5, 0, low};
  const SealCell ours_high{CellState::kValue, 5, 0, high};
  EXPECT_EQ(FindingOf(ours_low, {high, 5, {}}, event_time), Finding::kNewer);
  EXPECT_EQ(FindingOf(ours_low, {high, 5, {}}, write_time), Finding::kDiffers);
  EXPECT_EQ(FindingOf(ours_high, {low, 5, {}}, event_time), Finding::kOlder);
  EXPECT_EQ(FindingOf(ours_high, {low, 5, {}}, write_time), Finding::kOlder);
  // What expires beats what does not, and what expires later the rest.
  EXPECT_EQ(FindingOf(ours_high, {low, 5, 60}, event_time), Finding::kNewer);
  const SealCell expiring{CellState::kValue, 5, static_cast<uint32_t>(kNowS + 100), low};
  EXPECT_EQ(FindingOf(expiring, {high, 5, {}}, event_time), Finding::kOlder);
  EXPECT_EQ(FindingOf(expiring, {high, 5, 50}, event_time), Finding::kOlder);
  EXPECT_EQ(FindingOf(expiring, {high, 5, 150}, event_time), Finding::kNewer);
  EXPECT_EQ(FindingOf(expiring, {low, 5, 100}, event_time), Finding::kAsSent);
}

// Of such a collection the cluster tells no write time.
TEST(RowJudgeTest, ACollectionThatIsNotFrozenIsTheSameOrSentOnceMore) {
  const auto schema = ParseTable(
      "CREATE TABLE ks.t (id text, day date, ts timestamp, s set<text>, "
      "PRIMARY KEY ((id, day), ts))");
  const std::string ab = Collection({"a", "b"});
  const std::string ba = Collection({"b", "a"});
  const std::string c = Collection({"c"});
  const auto finding = [&](SealCell ours, std::optional<std::string> shown,
                           int64_t deleted_up_to_us = kNothingDeleted) {
    SealRow row;
    row.key = {{kDayStartS * 1000, ""}};
    row.deleted_up_to_us = deleted_up_to_us;
    row.cells = {std::move(ours)};
    UpstreamRow upstream{row.key, {{}}};
    if (shown) upstream.cells[0].value = *shown;
    return JudgeRow(*schema, row, &upstream, JudgeRules{.now_s = kNowS}).finding;
  };
  const SealCell value{CellState::kValue, 5, 0, ab};
  EXPECT_EQ(finding(value, ba), Finding::kAsSent);
  EXPECT_EQ(finding(value, c), Finding::kUnseen);
  EXPECT_EQ(finding(value, std::nullopt), Finding::kAbsent);
  const SealCell over{CellState::kValue, 5, static_cast<uint32_t>(kNowS - 9), ab};
  EXPECT_EQ(finding(over, std::nullopt), Finding::kOver);
  const SealCell null{CellState::kNull, 5, 0, ""};
  EXPECT_EQ(finding(null, std::nullopt), Finding::kDeleted);
  EXPECT_EQ(finding(null, c), Finding::kUnseen);
  EXPECT_EQ(finding({}, c), Finding::kNothing);
  EXPECT_EQ(finding({}, c, 5), Finding::kUnseen);
}

// Another row of the bucket may have set it later; one that is not shown does not show it.
TEST(RowJudgeTest, AStaticCellIsOfAllRowsOfItsBucket) {
  const auto schema = ParseTable(
      "CREATE TABLE ks.t (id text, day date, ts timestamp, f text static, v int, "
      "PRIMARY KEY ((id, day), ts)) WITH comment = 'cistern: bucket day = 1 day; timestamps = "
      "event'");
  JudgeRules rules{.mode = TimestampMode::kEventTime, .now_s = kNowS};
  SealRow row;
  row.key = {{kDayStartS * 1000, ""}};
  row.cells = {{CellState::kValue, 5, 0, "1.9"}, {}};
  UpstreamRow upstream{row.key, {{}, {}}};
  EXPECT_EQ(JudgeRow(*schema, row, &upstream, rules).finding, Finding::kAbsent);
  upstream.cells[0] = {"1.8", 4, std::nullopt};
  EXPECT_EQ(JudgeRow(*schema, row, &upstream, rules).finding, Finding::kOlder);
  upstream.cells[0] = {"1.10", 6, std::nullopt};
  EXPECT_EQ(JudgeRow(*schema, row, &upstream, rules).finding, Finding::kAsSent);
  EXPECT_EQ(JudgeRow(*schema, row, nullptr, rules).finding, Finding::kNothing);
  row.marker = {CellState::kValue, 5, 0, ""};
  EXPECT_EQ(JudgeRow(*schema, row, nullptr, rules).finding, Finding::kAbsent);
  // What is not there after a second sending was set later, and has expired.
  upstream.cells[0] = {};
  EXPECT_EQ(JudgeRow(*schema, row, &upstream, rules).finding, Finding::kAbsent);
  rules.was_sent_again = true;
  EXPECT_EQ(JudgeRow(*schema, row, &upstream, rules).finding, Finding::kAsSent);
  EXPECT_EQ(JudgeRow(*schema, row, nullptr, rules).finding, Finding::kAbsent);
}

// Cassandra looks at the expiry before the value, and which of two is the later one is known but
// for the slack.
TEST(RowJudgeTest, OfTwoThatExpireAboutTogetherTheClusterDecides) {
  const SealCell ours{CellState::kValue, 5, static_cast<uint32_t>(kNowS + 100), IntBytes(2)};
  JudgeRules rules{
      .mode = TimestampMode::kEventTime, .now_s = kNowS, .expiry_slack_s = 2};
  for (const bool was_sent_again : {false, true}) {
    rules.was_sent_again = was_sent_again;
    const Finding about_together = was_sent_again ? Finding::kNewer : Finding::kOlder;
    for (const int32_t ttl_s : {98, 100, 102}) {
      EXPECT_EQ(FindingOf(ours, {IntBytes(1), 5, ttl_s}, rules), about_together) << ttl_s;
      EXPECT_EQ(FindingOf(ours, {IntBytes(3), 5, ttl_s}, rules), about_together) << ttl_s;
    }
    EXPECT_EQ(FindingOf(ours, {IntBytes(1), 5, 97}, rules), Finding::kOlder);
    EXPECT_EQ(FindingOf(ours, {IntBytes(1), 5, 103}, rules), Finding::kNewer);
  }
}

TEST(RowJudgeTest, WithoutATrustedClockTheClusterDecidesOfAnyTwoExpiries) {
  const SealCell ours{CellState::kValue, 5, static_cast<uint32_t>(kNowS + 100), IntBytes(2)};
  JudgeRules rules{.mode = TimestampMode::kEventTime, .now_s = std::nullopt, .expiry_slack_s = 2};
  for (const int32_t ttl_s : {1, 100, 100'000}) {
    for (const int32_t value : {1, 3}) {
      rules.was_sent_again = false;
      EXPECT_EQ(FindingOf(ours, {IntBytes(value), 5, ttl_s}, rules), Finding::kOlder) << ttl_s;
      rules.was_sent_again = true;
      EXPECT_EQ(FindingOf(ours, {IntBytes(value), 5, ttl_s}, rules), Finding::kNewer) << ttl_s;
    }
  }
  // Without an expiry the value decides, and ours would have stayed.
  const SealCell stays{CellState::kValue, 5, 0, IntBytes(2)};
  EXPECT_EQ(FindingOf(stays, {IntBytes(1), 5, {}}, rules), Finding::kOlder);
}

TEST(RowJudgeTest, WhatWasOverMayNotHaveBeenSent) {
  const SealCell over{CellState::kValue, 5, static_cast<uint32_t>(kNowS - 9), IntBytes(1)};
  const SealCell lives{CellState::kValue, 5, static_cast<uint32_t>(kNowS + 9), IntBytes(1)};
  const UpstreamCell older{IntBytes(3), 4, {}};
  JudgeRules rules{.older_may_exist = false, .now_s = kNowS};
  EXPECT_EQ(FindingOf(over, older, rules), Finding::kOver);
  EXPECT_EQ(FindingOf(lives, older, rules), Finding::kOlder);
  rules.older_may_exist = true;
  EXPECT_EQ(FindingOf(over, older, rules), Finding::kOlder);
}

// The name of a column may have what a shell takes for something else.
TEST(RowJudgeTest, WhatIsToBeAgreedToCanBePasted) {
  const auto schema = SmallTable();
  SealRow row;
  row.key = {{kDayStartS * 1000, ""}};
  row.cells = {{CellState::kValue, 5, 0, IntBytes(1)}, {}};
  const HiddenColumn odd{.up_to_us = 5, .drop = "k.t.it's a $x@2027-01-15"};
  const std::string told = DescribeHidden(*schema, row, 0, odd);
  EXPECT_NE(told.find("--accept-hidden 'k.t.it'\\''s a $x@2027-01-15'"), std::string::npos)
      << told;
}

TEST(RowJudgeTest, WhatItsColumnHidesIsNotMissing) {
  const SealCell ours{CellState::kValue, 5, 0, IntBytes(1)};
  const SealCell over{CellState::kValue, 5, static_cast<uint32_t>(kNowS - 9), IntBytes(1)};
  HiddenColumns hidden = {{.up_to_us = 5}, {}};
  const JudgeRules rules{.now_s = kNowS, .hidden = &hidden};
  EXPECT_EQ(FindingOf(ours, {}, rules), Finding::kHidden);
  EXPECT_EQ(FindingOf(over, {}, rules), Finding::kOver);
  EXPECT_EQ(FindingOf({}, {}, rules), Finding::kNothing);
  EXPECT_EQ(FindingOf(ours, {IntBytes(2), 6, {}}, rules), Finding::kNewer);
  hidden[0].is_accepted = true;
  EXPECT_EQ(FindingOf(ours, {}, rules), Finding::kAgreed);
  hidden[0].up_to_us = 4;
  EXPECT_EQ(FindingOf(ours, {}, rules), Finding::kAbsent);
  hidden.clear();
  EXPECT_EQ(FindingOf(ours, {}, rules), Finding::kAbsent);
}

// Pages, rows and columns of several directions, and a row whose versions stand in two pages.
TEST(SealProofShapesTest, DescendingTimesAreWalkedBackwards) {
  const auto schema = ParseTable(
      "CREATE TABLE ks.d (id text, day date, ts timestamp, n int, v int, "
      "PRIMARY KEY ((id, day), ts, n)) WITH CLUSTERING ORDER BY (ts DESC, n ASC)");
  std::vector<VersionColumns> pages;
  for (int64_t page = 0; page < 4; ++page) {
    std::vector<TestVersion> versions;
    for (int64_t n = 3; n >= 0; --n) {  // kept in the reverse of the declared order
      versions.push_back({kWriteUs + page,
                          0,
                          kVersionLiveness,
                          {Cell::Fixed(kDayStartS * 1000 + page), Cell::Fixed(n), Cell::Fixed(n)}});
    }
    if (page > 0) {
      versions.insert(versions.begin(), {kWriteUs + 9,
                                         0,
                                         0,
                                         {Cell::Fixed(kDayStartS * 1000 + page - 1), Cell::Fixed(0),
                                          Cell::Fixed(99)}});
    }
    pages.push_back(PageOf(*schema, versions));
  }
  SealSource source;
  source.binder = BinderOf(schema, {"p1"});
  source.content = ContentOf(pages, {});
  ProofServer server(schema);
  server.Push(source, kNowS);
  ProofOptions options;
  options.level = ProofLevel::kRows;
  options.page_rows_max = 3;
  SealProof proof(options, source);
  RunProof(&proof, &server, kNowS);
  EXPECT_EQ(proof.end(), ProofEnd::kProven);
  EXPECT_EQ(proof.tally(), (ProofTally{.proven = 16}));

  server.ChangeRows([](const auto& key, StoredRow*) {
    return key[0].fixed != kDayStartS * 1000 + 1 || key[1].fixed != 0;
  });
  SealProof second(options, source);
  RunProof(&second, &server, kNowS);
  ASSERT_EQ(second.end(), ProofEnd::kSendAgain);
  // The row stands in pages 1 and 2, and another one that is counted with page 1 in page 0 too.
  EXPECT_EQ(second.tally(), (ProofTally{.proven = 5}));  // those that are counted with page 3
  EXPECT_EQ(second.source_to_send().content.page_count, 3u);
  server.Push(second.source_to_send(), kNowS);
  second.SentAgain();
  RunProof(&second, &server, kNowS);
  EXPECT_EQ(second.end(), ProofEnd::kProven);
  EXPECT_EQ(second.tally(), (ProofTally{.proven = 16}));
}

TEST(SealProofShapesTest, RowsOfKeysAloneAreThereOrNot) {
  const auto schema = ParseTable(
      "CREATE TABLE ks.k (id text, day date, ts timestamp, n text, "
      "PRIMARY KEY ((id, day), ts, n))");
  std::vector<TestVersion> versions;
  for (int64_t i = 0; i < 6; ++i) {
    versions.push_back({kWriteUs,
                        i == 5 ? static_cast<uint32_t>(kNowS + 50) : 0,
                        kVersionLiveness,
                        {Cell::Fixed(kDayStartS * 1000 + i), Cell::Bytes("x")}});
  }
  SealSource source;
  source.binder = BinderOf(schema, {"p1"});
  source.content = ContentOf({PageOf(*schema, versions)}, {});
  ProofServer server(schema);
  server.Push(source, kNowS);
  for (const ProofLevel level : {ProofLevel::kCount, ProofLevel::kRows}) {
    ProofOptions options;
    options.level = level;
    SealProof proof(options, source);
    RunProof(&proof, &server, kNowS);
    EXPECT_EQ(proof.end(), ProofEnd::kProven);
    EXPECT_EQ(proof.reached(), level);
    EXPECT_EQ(proof.tally().proven, level == ProofLevel::kRows ? 6u : 0u);
  }
  server.ChangeRows([](const auto& key, StoredRow*) { return key[0].fixed % 1000 != 2; });
  ProofOptions options;
  options.level = ProofLevel::kCount;
  SealProof proof(options, source);
  RunProof(&proof, &server, kNowS);
  EXPECT_EQ(proof.end(), ProofEnd::kSendAgain);
  EXPECT_EQ(proof.reached(), ProofLevel::kRows);
}

}  // namespace
}  // namespace cistern::replicate
