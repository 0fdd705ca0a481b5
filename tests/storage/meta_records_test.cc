// The records of meta: round trips, every cut, every flipped bit, fields that lie.
#include "storage/meta_records.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/push_records.h"
#include "storage/record_coding.h"
#include "storage/seal_records.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

struct Kind {
  std::string name;  // as errors say it
  std::string bytes;
  std::function<Status(std::string_view)> decode;
};

Manifest SomeManifest() {
  Manifest m;
  m.row_count = 3'600;
  m.delete_count = 300;
  m.byte_count = 1 << 20;
  m.first_time = -1'799'971'200'000;
  m.last_time = 1'799'971'200'000;
  m.write_us_first = -5;
  m.write_us_last = 1'799'971'200'000'000;
  m.expiry_s_last = UINT32_MAX;
  m.has_deletes = true;
  m.content_hash = 0x0123456789abcdef;
  m.schema_version = 300;
  m.statistics = "of columns";
  return m;
}

PushRecord SomePush(PushState state) {
  PushRecord r;
  r.state = state;
  r.window_id = 70'000;
  r.bucket = {300, "pump-7", 1'799'971'200, 3};
  r.version_count = 3'900;
  if (state == PushState::kPushing) {
    r.position = "17 pages";
    return r;
  }
  r.parked_us = 1'799'971'200'000'000;
  r.attempts = 300;
  r.error_code = 0x2200;
  r.words = "Unknown identifier celsius";
  return r;
}

// One record of each kind, every field with a value of several bytes.
std::vector<Kind> EveryKind() {
  const auto outcome = [](const auto& result) { return result.status(); };
  return {
      {"state record",
       EncodeState({1'000'000, 70'000, 9'000'000'000, 300, 40, 7, -5'000'000'000,
                    {1 << 30, 1 << 29, "boot", 77, true, false, 1 << 28, 5}}),
       [=](std::string_view bytes) { return outcome(DecodeState(bytes)); }},
      {"table record", EncodeTable({300, "CREATE TABLE t (...)"}),
       [=](std::string_view bytes) { return outcome(DecodeTable(bytes)); }},
      {"boot record", EncodeBoot({"3d1c-boot", 123'456'789, -987'654'321, true}),
       [=](std::string_view bytes) { return outcome(DecodeBoot(bytes)); }},
      {"spill record",
       EncodeSpill({false, 70'000, 5'000, 1 << 30, {{1, 300}, {400, 1}, {70'000, 2}}}),
       [=](std::string_view bytes) { return outcome(DecodeSpill(bytes)); }},
      {"window record",
       EncodeWindow({{86'400, -5'000'000'000, 5'000'000'000}, 70'000, 1 << 30, 400, 3,
                     300, 1'900'000'000, 5, 60'000, 1'799'971'200'000'000, true, {4, 7, 300}}),
       [=](std::string_view bytes) { return outcome(DecodeWindow(bytes)); }},
      {"manifest", EncodeManifest(SomeManifest()),
       [=](std::string_view bytes) { return outcome(DecodeManifest(bytes)); }},
      {"push record", EncodePush(SomePush(PushState::kPushing)),
       [=](std::string_view bytes) { return outcome(DecodePush(bytes)); }},
      {"push record", EncodePush(SomePush(PushState::kParked)),
       [=](std::string_view bytes) { return outcome(DecodePush(bytes)); }},
  };
}

// A record with these fields whose version and checksum are right.
std::string Sealed(const std::string& fields, char version = record_coding::kRecordVersion) {
  std::string record = version + fields;
  PutLittle<uint64_t>(&record, Checksum(record));
  return record;
}

std::string Varints(const std::vector<uint64_t>& values) {
  std::string out;
  for (const uint64_t v : values) PutVarint(&out, v);
  return out;
}

TEST(MetaRecords, EveryFieldComesBack) {
  const ClockRecord clock{int64_t{1} << 60, -(int64_t{1} << 60), std::string(64, 'b'), 5,
                          true,             true,                7,                    8};
  const StateRecord state{UINT64_MAX, 1, 2, UINT64_MAX - 1, 3, 4, INT64_MIN, clock};
  const auto s = DecodeState(EncodeState(state));
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  EXPECT_EQ(s->sequence_reserved, state.sequence_reserved);
  EXPECT_EQ(s->journal_floor, state.journal_floor);
  EXPECT_EQ(s->versions_written, state.versions_written);
  EXPECT_EQ(s->versions_superseded, state.versions_superseded);
  EXPECT_EQ(s->versions_expired, state.versions_expired);
  EXPECT_EQ(s->versions_shed, state.versions_shed);
  EXPECT_EQ(s->write_us_last, state.write_us_last);
  EXPECT_EQ(s->clock, clock);

  const TableRecord table{UINT64_MAX, std::string(limits::kDdlBytesMax, 'x')};
  const auto t = DecodeTable(EncodeTable(table));
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_EQ(t->journal_before, table.journal_before);
  EXPECT_EQ(t->cql, table.cql);

  const BootRecord boot{std::string(64, 'b'), INT64_MAX, INT64_MIN, true, INT64_MAX};
  const auto b = DecodeBoot(EncodeBoot(boot));
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_EQ(b->boot_id, boot.boot_id);
  EXPECT_EQ(b->monotonic_us, boot.monotonic_us);
  EXPECT_EQ(b->base_us, boot.base_us);
  EXPECT_EQ(b->resolved, boot.resolved);
  EXPECT_EQ(b->last_count_us, boot.last_count_us);

  const BootRecord beyond{"b", 0, INT64_MAX, true, 1};
  EXPECT_EQ(DecodeBoot(EncodeBoot(beyond)).status().code(), StatusCode::kCorruption);
}

TEST(MetaRecords, RandomSpillRecordsKeepTheirRotations) {
  Rng random(1);
  for (int round = 0; round < 300; ++round) {
    SpillRecord record;
    record.superseded = random.OneIn(2);
    record.version_count = random.Next() >> random.Below(64);
    record.byte_count = random.Next() >> random.Below(64);
    std::vector<bool> added(200);
    for (uint64_t n = random.Below(120); n > 0; --n) {
      const uint64_t rotation = random.Below(added.size());
      if (!added[rotation]) record.Add(rotation);
      added[rotation] = true;
    }
    const auto back = DecodeSpill(EncodeSpill(record));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    ASSERT_EQ(back->superseded, record.superseded);
    ASSERT_EQ(back->version_count, record.version_count);
    ASSERT_EQ(back->byte_count, record.byte_count);
    size_t runs = 0;  // neighbours are one interval
    for (size_t r = 0; r < added.size(); ++r) {
      ASSERT_EQ(back->Contains(r), added[r]) << "round " << round << " rotation " << r;
      runs += added[r] && (r == 0 || !added[r - 1]);
    }
    ASSERT_EQ(back->committed.size(), runs);
  }
}

TEST(MetaRecords, EveryCutIsCorruptionThatNamesTheRecord) {
  for (const Kind& kind : EveryKind()) {
    ASSERT_TRUE(kind.decode(kind.bytes).ok()) << kind.name;
    for (size_t cut = 0; cut < kind.bytes.size(); ++cut) {
      const Status s = kind.decode(std::string_view(kind.bytes).substr(0, cut));
      ASSERT_EQ(s.code(), StatusCode::kCorruption) << kind.name << " cut at " << cut;
      ASSERT_NE(s.message().find(kind.name), std::string::npos) << s.message();
    }
    EXPECT_EQ(kind.decode(kind.bytes + '\0').code(), StatusCode::kCorruption) << kind.name;
  }
}

// What a store of the version before knew of time was one number, which it took for certain.
TEST(MetaRecords, AStateRecordOfTheVersionBeforeIsRead) {
  std::string fields = Varints({1, 2, 3, 4, 5, 6});
  PutSigned(&fields, -7);
  PutSigned(&fields, 8);
  const auto state = DecodeState(Sealed(fields));
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->versions_shed, 6u);
  EXPECT_EQ(state->write_us_last, -7);
  ClockRecord known;
  known.trusted_us = known.certain_us = 8;
  EXPECT_EQ(state->clock, known);
}

TEST(MetaRecords, NoFlippedBitIsAccepted) {
  for (const Kind& kind : EveryKind()) {
    for (size_t bit = 0; bit < kind.bytes.size() * 8; ++bit) {
      std::string damaged = kind.bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      ASSERT_EQ(kind.decode(damaged).code(), StatusCode::kCorruption) << kind.name << " " << bit;
    }
  }
}

TEST(MetaRecords, ARecordIsNotTakenForOneOfAnotherVersion) {
  for (const Kind& kind : EveryKind()) {
    const std::string fields = kind.bytes.substr(1, kind.bytes.size() - 9);
    EXPECT_EQ(Sealed(fields, kind.bytes[0]), kind.bytes);
    const auto of_version = [&](int version) {
      return kind.decode(Sealed(fields, static_cast<char>(version))).code();
    };
    const std::string_view name = kind.name;
    const int newest = name == "window record"  ? record_coding::kRecordVersionOfDictionaries
                       : name == "state record" ? record_coding::kRecordVersionOfClock
                                                : record_coding::kRecordVersion;
    EXPECT_EQ(of_version(newest + 1), StatusCode::kTooNew) << kind.name;
    EXPECT_EQ(of_version(record_coding::kRecordVersion - 1), StatusCode::kNotSupported)
        << kind.name;
    EXPECT_EQ(of_version(0), StatusCode::kNotSupported) << kind.name;
  }
}

// Fields are checked by themselves too: a right checksum may stand over wrong fields.
TEST(MetaRecords, FieldsThatLieUnderARightChecksumAreCorruption) {
  for (const Kind& kind : EveryKind()) {
    const char version = kind.bytes[0];
    const std::string fields = kind.bytes.substr(1, kind.bytes.size() - 9);
    for (size_t cut = 0; cut < fields.size(); ++cut) {
      EXPECT_EQ(kind.decode(Sealed(fields.substr(0, cut), version)).code(),
                StatusCode::kCorruption)
          << kind.name << " cut at " << cut;
    }
    EXPECT_EQ(kind.decode(Sealed(fields + "x", version)).code(), StatusCode::kCorruption)
        << kind.name;
  }
  const std::string varint_too_long(11, '\xff');
  EXPECT_EQ(DecodeState(Sealed(varint_too_long)).status().code(), StatusCode::kCorruption);
  // A length far beyond what is there, and one beyond the limit.
  EXPECT_FALSE(DecodeTable(Sealed(Varints({0, 1000}) + "short")).ok());
  EXPECT_FALSE(DecodeTable(Sealed(Varints({0, uint64_t{1} << 60}))).ok());
  EXPECT_FALSE(DecodeBoot(Sealed(Varints({65}) + std::string(65, 'b') + Varints({0, 0, 0}))).ok());
  // Intervals: more than there are, empty, out of order, overlapping, touching, beyond the last
  // number.
  const auto spill = [](const std::vector<uint64_t>& intervals) {
    return DecodeSpill(Sealed('\0' + Varints({5, 2, 5}) + Varints(intervals))).ok();
  };
  EXPECT_TRUE(spill({2, 1, 3, 5, 1}));
  EXPECT_FALSE(spill({2, 1, 3, 4, 1}));
  EXPECT_FALSE(spill({uint64_t{1} << 40, 1, 3}));
  EXPECT_FALSE(spill({1, 1, 0}));
  EXPECT_FALSE(spill({2, 4, 1, 1, 3}));
  EXPECT_FALSE(spill({2, 1, 3, 3, 1}));
  EXPECT_FALSE(spill({1, UINT64_MAX, 2}));
  // More rotations than a family takes: a reader would seek for each.
  EXPECT_TRUE(spill({2, 1, 1 << 19, 1 << 20, 1 << 19}));
  EXPECT_FALSE(spill({2, 1, 1 << 19, 1 << 20, (1 << 19) + 1}));
  EXPECT_FALSE(spill({1, 1, uint64_t{1} << 60}));
}

// A flag is 0 or 1, a tier one of the few; anything else is not what we wrote.
TEST(MetaRecords, FlagsAndTiersAreThoseThatAreWritten) {
  for (int state = 0; state < 256; ++state) {
    const auto spill = DecodeSpill(Sealed(static_cast<char>(state) + Varints({5, 2, 5, 0})));
    EXPECT_EQ(spill.ok(), state / 2 <= limits::kSpillTierMax) << state;
    if (!spill.ok()) continue;
    EXPECT_EQ(spill->superseded, state % 2 == 1);
    EXPECT_EQ(spill->tier, state / 2);
    EXPECT_EQ(EncodeSpill(*spill), Sealed(static_cast<char>(state) + Varints({5, 2, 5, 0})));
  }
  EXPECT_FALSE(DecodeBoot(Sealed(Varints({0, 0, 0, 2}))).ok());
}

TEST(MetaRecords, SealsComeBack) {
  const auto manifest = DecodeManifest(EncodeManifest(SomeManifest()));
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(*manifest, SomeManifest());
  EXPECT_EQ(manifest->version_count(), 3'900u);
  Manifest with_rotations = SomeManifest();
  with_rotations.rotations = {{7, 2}, {10, 1}};
  const auto named = DecodeManifest(EncodeManifest(with_rotations));
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  EXPECT_EQ(*named, with_rotations);
  const WindowRecord record{WindowSpan{}, 9, 2, 3, 2, 1, 99, 3, 8, 77, true, {5, 8}};  // all times
  const auto window = DecodeWindow(EncodeWindow(record));
  ASSERT_TRUE(window.ok()) << window.status().ToString();
  EXPECT_EQ(window->span, record.span);
  EXPECT_EQ(window->version_count, 9u);
  EXPECT_EQ(window->byte_count, 2u);
  EXPECT_EQ(window->seal_count, 3u);
  EXPECT_EQ(window->endless_row_seals, 2u);
  EXPECT_EQ(window->delete_seals, 1u);
  EXPECT_EQ(window->expiry_s_last, 99u);
  EXPECT_EQ(window->confirmed_count, 3u);
  EXPECT_EQ(window->confirmed_versions, 8u);
  EXPECT_EQ(window->confirmed_us_last, 77);
  EXPECT_TRUE(window->ended);
  EXPECT_EQ(window->sources, record.sources);
}

// Behind all else, where there are any.
TEST(MetaRecords, DictionariesOfAWindowComeBackAndMayBeAbsent) {
  WindowRecord window = {{}, 900, 2, 3, 0, 0, 0, 3, 600, 77, false, {5}, {8}, 300, 200};
  window.dictionaries = {{1, "state", 70}, {1, "line", 71}, {2, std::string(48, 'x'), 1ull << 40}};
  const auto back = DecodeWindow(EncodeWindow(window));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->dictionaries, window.dictionaries);
  EXPECT_EQ(back->counted_versions, 300u);
  window.counted_versions = window.read_back_versions = 0;
  const auto unproved = DecodeWindow(EncodeWindow(window));
  ASSERT_TRUE(unproved.ok()) << unproved.status().ToString();
  EXPECT_EQ(unproved->dictionaries, window.dictionaries);
  EXPECT_EQ(unproved->counted_versions, 0u);
  window.dictionaries.clear();
  const std::string none = EncodeWindow(window);
  const std::string fields = none.substr(1, none.size() - 9);
  const auto is_read = [&](const std::string& rest) {
    return DecodeWindow(Sealed(fields + rest, record_coding::kRecordVersionOfDictionaries)).ok();
  };
  const std::string one = Varints({0, 0, 1, 7, 1}) + "s" + Varints({70});
  EXPECT_TRUE(is_read(one));
  EXPECT_EQ(EncodeWindow(window)[0], record_coding::kRecordVersion);
  window.dictionaries = {{7, "s", 70}};
  EXPECT_EQ(EncodeWindow(window)[0], 9) << "who does not know dictionaries calls it too new";
  EXPECT_FALSE(DecodeWindow(Sealed(fields + one)).ok()) << "version 8 has none";
  EXPECT_FALSE(is_read("")) << "version 9 has some";
  EXPECT_FALSE(is_read(Varints({0, 0})));
  EXPECT_FALSE(is_read(Varints({0, 0, 0}))) << "no dictionaries are not written";
  EXPECT_FALSE(is_read(Varints({0, 0, 2, 7, 1}) + "s" + Varints({70}))) << "one of two";
  EXPECT_FALSE(is_read(Varints({0, 0, 1, 7, 9}) + "s" + Varints({70}))) << "a name cut";
  EXPECT_FALSE(is_read(Varints({0, 0, 1, 7, 49}) + std::string(49, 's') + Varints({70})));
  EXPECT_FALSE(is_read(Varints({0, 0, 1, 1ull << 32, 1}) + "s" + Varints({70})));
  EXPECT_FALSE(is_read(Varints({0, 0, 2, 7, 1}) + "s" + Varints({70, 7, 1}) + "t" + Varints({70})))
      << "not ascending";
  EXPECT_FALSE(is_read(Varints({0, 0, 1ull << 40}))) << "more than may be";
}

// One byte of a manifest and two numbers of a window, behind all else, where something was proved.
// Records from before they were kept end where these begin.
TEST(MetaRecords, HowArrivalWasProvedComesBackAndMayBeAbsent) {
  const WindowRecord window = {{}, 900, 2, 3, 0, 0, 0, 3, 600, 77, false, {5}, {8}, 300, 200};
  const auto window_back = DecodeWindow(EncodeWindow(window));
  ASSERT_TRUE(window_back.ok()) << window_back.status().ToString();
  EXPECT_EQ(window_back->counted_versions, 300u);
  EXPECT_EQ(window_back->read_back_versions, 200u);
  EXPECT_EQ(window_back->awaited, window.awaited);
  WindowRecord before = window;
  before.counted_versions = before.read_back_versions = 0;
  const std::string older = EncodeWindow(before);
  const std::string fields = older.substr(1, older.size() - 9);
  EXPECT_EQ(EncodeWindow(window), Sealed(fields + Varints({300, 200})));
  const auto older_back = DecodeWindow(older);
  ASSERT_TRUE(older_back.ok()) << older_back.status().ToString();
  EXPECT_EQ(older_back->confirmed_versions, 600u);
  EXPECT_EQ(older_back->counted_versions, 0u);
  EXPECT_EQ(older_back->read_back_versions, 0u);
  const auto is_read = [&](const std::string& proven) {
    return DecodeWindow(Sealed(fields + proven)).ok();
  };
  EXPECT_TRUE(is_read(Varints({0, 600})));
  EXPECT_TRUE(is_read(Varints({600, 0})));
  EXPECT_FALSE(is_read(Varints({300}))) << "one of two";
  EXPECT_FALSE(is_read(Varints({601, 0}))) << "more than are confirmed";
  EXPECT_FALSE(is_read(Varints({300, 301}))) << "more than are confirmed";
  EXPECT_FALSE(is_read(Varints({1, UINT64_MAX})));
  EXPECT_FALSE(is_read(Varints({0, 0}))) << "nothing is not written";
  EXPECT_FALSE(is_read(Varints({1, 1, 0}))) << "bytes after its end";

  const std::string waits = EncodeManifest(SomeManifest());
  const std::string manifest = waits.substr(1, waits.size() - 9);
  EXPECT_EQ(DecodeManifest(waits)->proof, ProofLevel::kAck);
  for (int level = 0; level < 256; ++level) {
    const std::string bytes = Sealed(manifest + static_cast<char>(level));
    const auto back = DecodeManifest(bytes);
    ASSERT_EQ(back.ok(), level == 1 || level == 2) << level;
    if (!back.ok()) continue;
    EXPECT_EQ(static_cast<int>(back->proof), level);
    EXPECT_EQ(EncodeManifest(*back), bytes);
  }
}

// Times that go backwards, a span without time, more sealed versions than there are.
TEST(MetaRecords, SealsThatContradictThemselvesAreCorruption) {
  Manifest backwards = SomeManifest();
  std::swap(backwards.first_time, backwards.last_time);
  EXPECT_FALSE(DecodeManifest(EncodeManifest(backwards)).ok());
  backwards = SomeManifest();
  std::swap(backwards.write_us_first, backwards.write_us_last);
  EXPECT_FALSE(DecodeManifest(EncodeManifest(backwards)).ok());
  for (const SequenceIntervals& rotations :
       {SequenceIntervals{}, {{7, 2}, {9, 1}}, {{7, 2}, {8, 1}}, {{7, 0}}}) {
    Manifest named = SomeManifest();
    named.rotations = rotations;
    EXPECT_FALSE(DecodeManifest(EncodeManifest(named)).ok());
  }
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{86'400, 7, 7}, 0, 0, 0})).ok());
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{}, 1, 1, 1, 2})).ok()) << "more endless than all";
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{}, 1, 1, 1, 0, 2})).ok()) << "more with deletes";
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{}, 1, 1, 1, 0, 0, 0, 2})).ok()) << "more confirmed";
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{}, 1, 1, 1, 0, 0, 0, 1, 2})).ok()) << "more in them";
  EXPECT_FALSE(DecodeWindow(EncodeWindow({{}, 1, 1, 1, 0, 0, 0, 0, 0, 0, false, {6, 6}})).ok());
  EXPECT_FALSE(DecodeSpill(Sealed('\0' + Varints({5, 6, 5, 0}))).ok());
}

TEST(MetaRecords, RandomBytesUnderARightChecksumNeverCrash) {
  Rng random(2);
  const std::vector<Kind> kinds = EveryKind();
  for (int round = 0; round < 20'000; ++round) {
    const Kind& kind = kinds[random.Below(kinds.size())];
    std::string fields = kind.bytes.substr(1, kind.bytes.size() - 9);
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
      fields[random.Below(fields.size())] = static_cast<char>(random.Next());
    }
    const Status s = kind.decode(Sealed(fields));
    ASSERT_TRUE(s.ok() || s.code() == StatusCode::kCorruption) << s.ToString();
  }
}

}  // namespace
}  // namespace cistern
