// A connection's bytes to and from envelopes, in both versions, with and without LZ4.
//
// Both sides begin bare: envelopes one behind another, never compressed. Once the server has
// answered STARTUP with READY or AUTHENTICATE, everything that follows in either direction is
//
//   v5  in frames (frame.h)
//   v4  bare; with LZ4 a body may be packed, which envelope_flag::kCompressed tells:
//       i32 bytes unpacked, big-endian, then a raw LZ4 block
//
// One thread at a time. Neither does I/O.
#ifndef CISTERN_CQL_ENVELOPE_STREAM_H_
#define CISTERN_CQL_ENVELOPE_STREAM_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/limits.h"
#include "cistern/result.h"
#include "engine/cql/envelope.h"
#include "engine/cql/protocol.h"

namespace cistern::cql {

// Envelopes to what is sent. Keeps nothing between two calls but its form.
class EnvelopeEncoder {
 public:
  // What follows is sent in the form of an established connection.
  void Establish(ProtocolVersion version, Compression compression);

  // `envelopes`: one or more whole ones, one behind another, as requests append them. Appends to
  // *out what is sent: in v5 as many as fit share a frame, and one that is longer is sliced.
  void Encode(std::string_view envelopes, std::string* out) const;

 private:
  void EncodeFrames(std::string_view envelopes, std::string* out) const;

  bool established_ = false;
  ProtocolVersion version_ = ProtocolVersion::kV5;
  Compression compression_ = Compression::kNone;
};

// Bytes that came to envelopes:
//
//   decoder.Feed(bytes);
//   for (;;) {
//     Result<std::optional<Envelope>> next = decoder.Next();
//     if (!next.ok()) close the connection: every later call fails too
//     if (!next->has_value()) break;  // more bytes are needed
//     use **next before the next call
//   }
//
// Its buffers grow to the largest envelope that it was given, never beyond the limit plus one
// frame, and shrink to limits::kCqlBufferKeptBytes when they are empty. A length that a peer
// claims allocates nothing: only bytes that came do, and what LZ4 can make of them.
class EnvelopeDecoder {
 public:
  // `expected`: the direction of what comes. `body_bytes_max`: of one envelope once established,
  // unpacked; until then it is limits::kCqlHandshakeBytesMax, if that is less.
  explicit EnvelopeDecoder(Direction expected,
                           size_t body_bytes_max = limits::kCqlResponseBytesMax);

  // Bytes that are still to be decoded, and those that come, have the form of an established
  // connection. Call it between the READY or AUTHENTICATE that Next gave and the next call of Next.
  // Before, envelopes of versions 3 to 6 are given (a server refuses a version in one of its own);
  // after, only of this one.
  void Establish(ProtocolVersion version, Compression compression);

  // Adds bytes that came. Ends the life of the envelope that Next gave last.
  void Feed(std::string_view bytes);

  // The next whole envelope, its body unpacked; nullopt: Feed more. It lives until the next call.
  //   kCorruption  this is not the protocol, or bytes were damaged on their way
  //   kTooLarge    an envelope is longer than the limit
  // After an error each call gives it again.
  [[nodiscard]] Result<std::optional<Envelope>> Next();

  // Bytes that its buffers take of the heap.
  [[nodiscard]] size_t memory_bytes() const;

 private:
  void EndLast();      // the envelope that Next gave
  void DropDecoded();  // of input_
  [[nodiscard]] Result<std::optional<Envelope>> NextBare();
  [[nodiscard]] Result<std::optional<Envelope>> NextFramed();
  [[nodiscard]] Result<std::optional<Envelope>> NextInFrame();
  [[nodiscard]] Result<std::optional<Envelope>> AddSlice(std::string_view slice);
  [[nodiscard]] Result<EnvelopeHeader> ParseHeader(std::string_view bytes) const;
  [[nodiscard]] Result<std::optional<Envelope>> Unpack(const Envelope& envelope);

  Direction expected_;
  size_t body_bytes_max_;
  bool established_ = false;
  ProtocolVersion version_ = ProtocolVersion::kV5;
  Compression compression_ = Compression::kNone;
  Status failure_;

  std::string input_;           // bytes fed
  size_t position_ = 0;         // of input_: decoded
  std::string unpacked_;        // payload of a frame or body of an envelope, from LZ4
  std::string_view frame_;      // what is left of a self-contained frame: in input_ or unpacked_
  std::string slices_;          // of an envelope longer than a frame
  size_t slices_expected_ = 0;  // bytes of that envelope, its header included; 0: there is none
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_ENVELOPE_STREAM_H_
