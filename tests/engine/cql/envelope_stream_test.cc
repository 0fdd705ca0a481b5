// Bytes of a connection to envelopes and back: both versions, with and without LZ4, cut anywhere.
#include "engine/cql/envelope_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/cql/frame.h"
#include "lib/base/coding.h"
#include "tests/support/hex.h"
#include "tests/support/rng.h"

namespace cistern::cql {
namespace {

using testing::FromHex;

struct Form {
  ProtocolVersion version;
  Compression compression;
};
constexpr Form kForms[] = {{ProtocolVersion::kV5, Compression::kNone},
                           {ProtocolVersion::kV5, Compression::kLz4},
                           {ProtocolVersion::kV4, Compression::kNone},
                           {ProtocolVersion::kV4, Compression::kLz4}};

std::string EnvelopeOf(ProtocolVersion version, int16_t stream, std::string_view body) {
  EnvelopeHeader header;
  header.version = static_cast<uint8_t>(version);
  header.direction = Direction::kResponse;
  header.stream = stream;
  header.opcode = Opcode::kResult;
  std::string out;
  const size_t begin = BeginEnvelope(header, &out);
  out.append(body);
  EndEnvelope(begin, &out);
  return out;
}

// Bodies of many sizes, also those around the length of a frame.
std::vector<std::string> Bodies() {
  testing::Rng rng(7);
  std::vector<std::string> bodies;
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{10}, size_t{3000}, kFramePayloadBytesMax - 9,
        kFramePayloadBytesMax - 8, size_t{300'000}, size_t{5}, size_t{0}}) {
    std::string body;
    while (body.size() < bytes) body.push_back(static_cast<char>('a' + rng.Below(4)));
    bodies.push_back(body);
  }
  return bodies;
}

std::string Encoded(const Form& form, const std::vector<std::string>& bodies) {
  std::string envelopes;
  for (size_t i = 0; i < bodies.size(); ++i) {
    envelopes += EnvelopeOf(form.version, static_cast<int16_t>(i), bodies[i]);
  }
  EnvelopeEncoder encoder;
  encoder.Establish(form.version, form.compression);
  std::string out;
  encoder.Encode(envelopes, &out);
  return out;
}

EnvelopeDecoder Established(const Form& form, size_t body_bytes_max = 1 << 20) {
  EnvelopeDecoder decoder(Direction::kResponse, body_bytes_max);
  decoder.Establish(form.version, form.compression);
  return decoder;
}

// The first outcome that is not "Feed more", of bytes that come all at once.
Status FirstFailure(EnvelopeDecoder* decoder, std::string_view bytes) {
  decoder->Feed(bytes);
  for (;;) {
    const auto next = decoder->Next();
    if (!next.ok()) return next.status();
    if (!next->has_value()) return Status::Ok();
  }
}

TEST(EnvelopeStream, BringsBackWhatWasSentHoweverItIsCut) {
  const std::vector<std::string> bodies = Bodies();
  for (const Form& form : kForms) {
    const std::string bytes = Encoded(form, bodies);
    for (const size_t step : {size_t{1}, size_t{1000}, size_t{16'384}, bytes.size()}) {
      EnvelopeDecoder decoder = Established(form);
      size_t seen = 0;
      for (size_t at = 0; at < bytes.size(); at += step) {
        decoder.Feed(std::string_view(bytes).substr(at, step));
        for (;;) {
          const auto next = decoder.Next();
          ASSERT_TRUE(next.ok()) << next.status().ToString();
          if (!next->has_value()) break;
          ASSERT_LT(seen, bodies.size());
          EXPECT_EQ((*next)->header.stream, seen);
          EXPECT_EQ((*next)->header.flags, 0);
          EXPECT_TRUE((*next)->body == bodies[seen]);
          ++seen;
        }
      }
      EXPECT_EQ(seen, bodies.size()) << step;
    }
  }
}

// Who feeds more before a frame is used up loses nothing of it.
TEST(EnvelopeStream, KeepsAFrameThatIsNotUsedUp) {
  for (const Form& form : kForms) {
    const std::vector<std::string> bodies = {std::string(100, 'a'), "b", std::string(100, 'c')};
    EnvelopeDecoder decoder = Established(form);
    for (int round = 0; round < 3; ++round) {
      decoder.Feed(Encoded(form, bodies));
      const auto next = decoder.Next();
      ASSERT_TRUE(next.ok() && next->has_value());
      EXPECT_EQ((*next)->body, bodies[static_cast<size_t>(round)]);
    }
    const EnvelopeDecoder moved = std::move(decoder);
    EnvelopeDecoder copy = moved;
    for (size_t i = 3; i < 9; ++i) {
      const auto next = copy.Next();
      ASSERT_TRUE(next.ok() && next->has_value());
      EXPECT_EQ((*next)->body, bodies[i % 3]);
    }
  }
}

TEST(EnvelopeStream, PacksSmallEnvelopesIntoOneFrame) {
  const Form form = kForms[0];
  const std::string two = Encoded(form, {"first", "second"});
  EXPECT_EQ(two.size(), 6 + 9 + 5 + 9 + 6 + 4u);
  const std::string sliced = Encoded(form, {std::string(kFramePayloadBytesMax - 8, 'x')});
  std::string unpacked;
  const auto first = ParseFrame(Compression::kNone, sliced, &unpacked);
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_FALSE((*first)->self_contained);
  EXPECT_EQ((*first)->payload.size(), kFramePayloadBytesMax);
}

TEST(EnvelopeStream, PacksBodiesOfV4) {
  const std::string body(3000, 'x');
  const std::string packed = Encoded(kForms[3], {body, "abc"});
  EXPECT_LT(packed.size(), 100u);
  EXPECT_EQ(packed[1], envelope_flag::kCompressed);
  EXPECT_EQ(GetBig<uint32_t>(&packed[9]), body.size());
  EXPECT_EQ(packed.substr(packed.size() - 12), EnvelopeOf(ProtocolVersion::kV4, 1, "abc"));
}

TEST(EnvelopeStream, IsBareUntilEstablished) {
  EnvelopeEncoder encoder;
  const std::string options = FromHex("050000000500000000");
  std::string out;
  encoder.Encode(options, &out);
  EXPECT_EQ(out, options);

  EnvelopeDecoder decoder(Direction::kResponse);
  const std::string ready = FromHex("850000000200000000");
  decoder.Feed(ready + Encoded(kForms[0], {"framed"}));
  const auto first = decoder.Next();
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ((*first)->header.opcode, Opcode::kReady);
  decoder.Establish(ProtocolVersion::kV5, Compression::kNone);
  const auto second = decoder.Next();
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_EQ((*second)->body, "framed");
}

TEST(EnvelopeStream, TakesTheRefusalOfAnotherVersionBeforeItIsEstablished) {
  for (const char* version : {"83", "84", "85", "86"}) {
    EnvelopeDecoder decoder(Direction::kResponse);
    EXPECT_TRUE(FirstFailure(&decoder, FromHex(std::string(version) + "0000000000000000")).ok());
  }
  for (const char* version : {"05", "82", "87", "48"}) {
    EnvelopeDecoder decoder(Direction::kResponse);
    EXPECT_EQ(FirstFailure(&decoder, FromHex(std::string(version) + "0000000000000000")).code(),
              StatusCode::kCorruption);
  }
  EnvelopeDecoder decoder = Established(kForms[2]);
  EXPECT_EQ(FirstFailure(&decoder, EnvelopeOf(ProtocolVersion::kV5, 0, "")).code(),
            StatusCode::kCorruption);
}

TEST(EnvelopeStream, RefusesLengthsBeforeTheirBytesCome) {
  const std::string giant = FromHex("840000000840000000");  // a gigabyte
  const std::string negative = FromHex("8400000008ffffffff");
  EnvelopeDecoder bare = Established(kForms[2]);
  EXPECT_EQ(FirstFailure(&bare, giant).code(), StatusCode::kTooLarge);
  EnvelopeDecoder other = Established(kForms[2]);
  EXPECT_EQ(FirstFailure(&other, negative).code(), StatusCode::kCorruption);

  // In a frame, whole or as the first slice.
  for (const bool self_contained : {true, false}) {
    std::string bytes;
    std::string envelope = giant;
    envelope[0] = static_cast<char>(0x85);
    AppendFrame(Compression::kNone, envelope, self_contained, &bytes);
    EnvelopeDecoder framed = Established(kForms[0]);
    EXPECT_EQ(FirstFailure(&framed, bytes).code(), StatusCode::kTooLarge);
    EXPECT_LT(framed.memory_bytes(), 1000u);
  }
  // Before a connection is established little is taken.
  EnvelopeDecoder handshake(Direction::kResponse);
  EXPECT_EQ(FirstFailure(&handshake, FromHex("850000000000010001")).code(), StatusCode::kTooLarge);
}

TEST(EnvelopeStream, RefusesToUnpackBeyondTheLimit) {
  const std::string bytes = Encoded(kForms[3], {std::string(5000, 'x')});
  EnvelopeDecoder decoder = Established(kForms[3], 4999);
  EXPECT_EQ(FirstFailure(&decoder, bytes).code(), StatusCode::kTooLarge);
  EnvelopeDecoder enough = Established(kForms[3], 5000);
  EXPECT_TRUE(FirstFailure(&enough, bytes).ok());
  // Nobody agreed on compression.
  EnvelopeDecoder plain = Established(kForms[2]);
  EXPECT_EQ(FirstFailure(&plain, bytes).code(), StatusCode::kCorruption);
  EnvelopeDecoder bare(Direction::kResponse);
  EXPECT_EQ(FirstFailure(&bare, bytes).code(), StatusCode::kCorruption);
}

TEST(EnvelopeStream, RefusesSlicesOutOfOrder) {
  const std::string envelope = EnvelopeOf(ProtocolVersion::kV5, 0, std::string(100, 'x'));
  const auto failure = [](const std::vector<std::pair<std::string, bool>>& frames) {
    std::string bytes;
    for (const auto& [payload, self_contained] : frames) {
      AppendFrame(Compression::kNone, payload, self_contained, &bytes);
    }
    EnvelopeDecoder decoder = Established(kForms[0]);
    return FirstFailure(&decoder, bytes).code();
  };
  const std::string head = envelope.substr(0, 50);
  const std::string tail = envelope.substr(50);
  EXPECT_EQ(failure({{head, false}, {tail, false}}), StatusCode::kOk);
  EXPECT_EQ(failure({{head, false}, {"", false}, {tail, false}}), StatusCode::kOk);
  EXPECT_EQ(failure({{envelope, false}}), StatusCode::kOk);
  EXPECT_EQ(failure({{head, false}, {tail, true}}), StatusCode::kCorruption);
  EXPECT_EQ(failure({{head, false}, {tail + "x", false}}), StatusCode::kCorruption);
  EXPECT_EQ(failure({{envelope.substr(0, 8), false}}), StatusCode::kCorruption);
  EXPECT_EQ(failure({{"", false}}), StatusCode::kCorruption);
  EXPECT_EQ(failure({{"", true}, {envelope + envelope, true}}), StatusCode::kOk);
  EXPECT_EQ(failure({{head, true}}), StatusCode::kCorruption);
  EXPECT_EQ(failure({{envelope + "x", true}}), StatusCode::kCorruption);
}

TEST(EnvelopeStream, GivesAnErrorAgainAndTakesNothingMore) {
  EnvelopeDecoder decoder = Established(kForms[0]);
  std::string bytes = Encoded(kForms[0], {"body"});
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_FALSE(FirstFailure(&decoder, bytes).ok());
  const size_t memory = decoder.memory_bytes();
  EXPECT_FALSE(FirstFailure(&decoder, std::string(10'000, 'x')).ok());
  EXPECT_EQ(decoder.memory_bytes(), memory);
}

// What a gateway with little memory keeps of a connection that once had a large answer.
TEST(EnvelopeStream, GivesMemoryBack) {
  for (const Form& form : kForms) {
    const std::string large = Encoded(form, {std::string(3'000'000, 'x')});
    const std::string small = Encoded(form, {"small"});
    EnvelopeDecoder decoder = Established(form, 4 << 20);
    for (size_t at = 0; at < large.size(); at += 10'000) {
      ASSERT_TRUE(FirstFailure(&decoder, std::string_view(large).substr(at, 10'000)).ok());
      EXPECT_LT(decoder.memory_bytes(), 10'000'000u);
    }
    ASSERT_TRUE(FirstFailure(&decoder, small).ok());
    EXPECT_LE(decoder.memory_bytes(), 3 * limits::kCqlBufferKeptBytes);
  }
}

}  // namespace
}  // namespace cistern::cql
