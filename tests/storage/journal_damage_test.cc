// Damaged journal records are refused, and never more than that.
#include <gtest/gtest.h>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "tests/storage/journal_test_util.h"

namespace cistern {
namespace {

using journal_test::RandomJournal;
using journal_test::RecordingSink;
using journal_test::Seen;

// Some records of one family, and a decoder that has read the ones before `upto`.
class JournalDamage : public testing::Test {
 protected:
  JournalDamage() {
    RandomJournal journal(5, tables_);
    for (int i = 0; i < 60; ++i) {
      std::vector<Seen> want;
      records_.push_back(journal.NextRecord(&want));
    }
  }
  std::unique_ptr<JournalDecoder> DecoderAt(size_t upto) const {
    auto decoder = std::make_unique<JournalDecoder>(journal_test::LookupIn(tables_), nullptr);
    RecordingSink sink;
    for (size_t i = 0; i < upto; ++i) {
      EXPECT_TRUE(decoder->Decode(records_[i], i + 1, &sink).ok());
    }
    return decoder;
  }
  static std::string Sealed(std::string body) {
    PutLittle<uint64_t>(&body, Checksum(body));
    return body;
  }
  static std::string BodyOf(const std::string& record) {
    return record.substr(0, record.size() - 8);
  }

  std::vector<journal_test::SchemaPtr> tables_ = journal_test::Tables();
  std::vector<std::string> records_;
};

TEST_F(JournalDamage, EveryTruncationIsCorruptionAndNothingIsSeen) {
  for (const size_t i : {0u, 7u, 59u}) {
    for (size_t size = 0; size < records_[i].size(); ++size) {
      JournalDecoder decoder(journal_test::LookupIn(tables_), nullptr);
      RecordingSink sink;
      const Status s = decoder.Decode(records_[i].substr(0, size), i + 1, &sink);
      ASSERT_EQ(s.code(), StatusCode::kCorruption) << i << " at " << size;
      ASSERT_TRUE(sink.seen.empty());
    }
  }
}

TEST_F(JournalDamage, EveryFlippedBitIsCorruptionAndNothingIsSeen) {
  for (const size_t i : {0u, 7u}) {
    for (size_t bit = 0; bit < records_[i].size() * 8; ++bit) {
      std::string record = records_[i];
      record[bit / 8] = static_cast<char>(record[bit / 8] ^ 1 << (bit % 8));
      JournalDecoder decoder(journal_test::LookupIn(tables_), nullptr);
      RecordingSink sink;
      ASSERT_EQ(decoder.Decode(record, i + 1, &sink).code(), StatusCode::kCorruption) << bit;
      ASSERT_TRUE(sink.seen.empty());
    }
  }
}

// The checksum is right, so every field must defend itself.
TEST_F(JournalDamage, SealedRecordsWithChangedBytesNeverGoOutOfBounds) {
  std::mt19937_64 random(11);
  size_t refused = 0;
  size_t accepted = 0;
  for (size_t i = 0; i < records_.size(); i += 5) {
    const std::string body = BodyOf(records_[i]);
    for (int round = 0; round < 60; ++round) {
      std::string changed = body;
      for (uint64_t n = 1 + random() % 3; n > 0; --n) {
        const size_t at = random() % changed.size();
        changed[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
      }
      if (random() % 4 == 0) changed.resize(random() % changed.size() + 1);
      const auto decoder = DecoderAt(i);
      RecordingSink sink;
      const Status s = decoder->Decode(Sealed(changed), i + 1, &sink);
      (s.ok() ? accepted : refused) += 1;
      if (!s.ok()) {
        ASSERT_TRUE(s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew)
            << s.ToString();
      }
      // What was given out are values of the tables' types.
      for (const Seen& seen : sink.seen) {
        if (seen.is_range_delete) continue;
        const TableSchema& schema = *tables_[seen.table_id];
        for (size_t c = 0; c < schema.columns.size(); ++c) {
          const ColumnType& type = schema.columns[c].type;
          if (seen.states[c] != CellState::kValue || type.lane() == Lane::kFixed) continue;
          ASSERT_TRUE(CheckWireBytes(type, seen.bytes[c]).ok()) << schema.columns[c].name;
        }
      }
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(accepted, 10u);
}

TEST_F(JournalDamage, BytesBehindTheEndAreCorruption) {
  RecordingSink sink;
  const Status s = DecoderAt(0)->Decode(Sealed(BodyOf(records_[0]) + '\0'), 1, &sink);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("'end'"), std::string::npos) << s.message();
}

TEST_F(JournalDamage, RecordOfAnotherSequenceIsRefused) {
  RecordingSink sink;
  const Status s = DecoderAt(0)->Decode(records_[0], 2, &sink);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("'sequence'"), std::string::npos) << s.message();
  EXPECT_TRUE(sink.seen.empty());
}

TEST_F(JournalDamage, NewerVersionIsTooNew) {
  std::string body = BodyOf(records_[0]);
  body[0] = static_cast<char>(journal::kRecordVersion + 1);
  RecordingSink sink;
  EXPECT_EQ(DecoderAt(0)->Decode(Sealed(body), 1, &sink).code(), StatusCode::kTooNew);
}

// Each check of a field by itself: a record of the plain table, written by hand.
class JournalField : public testing::Test {
 protected:
  // A record with one operation, `operation` its bytes.
  Status Decode(const std::string& operation, uint64_t count = 1) {
    std::string body(1, static_cast<char>(version_));
    PutVarint(&body, 1);  // sequence
    PutSigned(&body, 5);  // first_us
    PutVarint(&body, 0);  // boot
    PutVarint(&body, 0);  // expiry
    PutVarint(&body, count);
    body += operation;
    PutLittle<uint64_t>(&body, Checksum(body));
    JournalDecoder decoder(journal_test::LookupIn({row_test::PlainTable()}), nullptr);
    return decoder.Decode(body, 1, &sink_);
  }
  void ExpectRefused(const std::string& operation, const char* field, uint64_t count = 1) {
    const Status s = Decode(operation, count);
    EXPECT_EQ(s.code(), StatusCode::kCorruption) << s.ToString();
    EXPECT_NE(s.message().find("'" + std::string(field) + "'"), std::string::npos) << s.message();
  }
  // New entity "p" of table 0; `flags` are added.
  static std::string Define(int flags = 0, uint64_t table = 0,
                            const std::string& key = std::string("\0\1p", 3)) {
    std::string out(1, static_cast<char>(8 | flags));
    PutVarint(&out, table);
    PutVarint(&out, key.size());
    return out + key;
  }
  uint8_t version_ = journal::kRecordVersion;
  RecordingSink sink_;
};

TEST_F(JournalField, ATimestampGoesOnToTheNextOperation) {
  const std::string rows = Define() + '\0' + std::string(1, '\x40') + '\2' + '\0' +
                           std::string(1, '\0') + '\0';
  for (const auto& [version, times] :
       {std::pair<uint8_t, std::vector<int64_t>>{journal::kRecordVersion, {5, 6, 6}},
        {journal::kRecordVersionOfSteps, {5, 7, 8}}}) {
    version_ = version;
    sink_.seen.clear();
    const Status s = Decode(rows, 3);
    ASSERT_TRUE(s.ok()) << s.ToString();
    std::vector<int64_t> seen;
    for (const auto& row : sink_.seen) seen.push_back(row.write_us);
    EXPECT_EQ(seen, times) << "version " << int{version};
  }
}

TEST_F(JournalField, ValidOneIsSeen) {
  const Status s = Decode(Define() + '\0');  // nothing changed: time 0, values 0
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_EQ(sink_.seen.size(), 1u);
  EXPECT_EQ(sink_.seen[0].write_us, 5);
}
TEST_F(JournalField, UndefinedEntity) {
  ExpectRefused("\4\7", "entity");
  ExpectRefused(std::string(2, '\0'), "entity");
}
TEST_F(JournalField, AFamilyBeginsOnce) {
  EXPECT_TRUE(Decode(Define(4) + '\0').ok()) << "the first entity of a family";
  ExpectRefused(Define() + '\0' + Define(4) + '\0', "entity", 2);
}
TEST_F(JournalField, UnknownTable) { ExpectRefused(Define(0, 7) + '\0', "table"); }
TEST_F(JournalField, KeyOfAnotherShape) {
  ExpectRefused(Define(0, 0, "p") + '\0', "entity key");
  ExpectRefused(Define(0, 0, std::string("\0\2p", 3)) + '\0', "entity key");
  ExpectRefused(Define(0, 0, std::string("\0\1px", 4)) + '\0', "entity key");
  ExpectRefused(Define(0, 0, std::string("\0\1\xff", 3)) + '\0', "entity key");
}
TEST_F(JournalField, KeyBeyondItsLimit) {
  ExpectRefused(Define(0, 0, std::string(limits::kEntityKeyBytesMax + 1, 'x')), "entity length");
}
TEST_F(JournalField, SplitBeyondItsLimit) {
  std::string operation = Define(32);
  PutVarint(&operation, limits::kSplitCountMax + 1);
  ExpectRefused(operation + '\0', "split");
}
TEST_F(JournalField, UnknownCellState) { ExpectRefused(Define(16) + '\3', "shape"); }
TEST_F(JournalField, MaskIsMissing) { ExpectRefused(Define(), "changed mask"); }
TEST_F(JournalField, IntegerBeyondItsColumn) {
  std::string operation = Define() + '\2';  // ts, a, b, d: a changed
  PutSigned(&operation, int64_t{1} << 31);
  ExpectRefused(operation, "integer");
}
TEST_F(JournalField, TextIsNotUtf8) { ExpectRefused(Define() + "\4\1\xff", "text"); }
TEST_F(JournalField, TextBeyondItsLimit) {
  std::string operation = Define() + '\4';
  PutVarint(&operation, limits::kCellBytesMax + 1);
  ExpectRefused(operation, "text length");
}
TEST_F(JournalField, RealWithUnknownEscape) { ExpectRefused(Define() + "\x8\5", "real"); }
TEST_F(JournalField, ExponentBeyondItsLimit) { ExpectRefused(Define() + "\x8\3\x10", "exponent"); }
TEST_F(JournalField, RawDoubleIsCut) { ExpectRefused(Define() + "\x8\1xxx", "raw double"); }
TEST_F(JournalField, CountBeyondTheBytes) { ExpectRefused(Define() + '\0', "flags", 2); }
TEST_F(JournalField, CountBeyondItsLimit) { ExpectRefused("", "count", uint64_t{1} << 40); }

}  // namespace
}  // namespace cistern
