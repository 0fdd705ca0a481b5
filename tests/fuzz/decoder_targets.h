// What a fuzzer, or a replay of its corpus, does with one input. Each ends the process if
// a decoder breaks its promise; damage that a decoder reports is fine.
#ifndef CISTERN_TESTS_FUZZ_DECODER_TARGETS_H_
#define CISTERN_TESTS_FUZZ_DECODER_TARGETS_H_

#include <string_view>

namespace cistern {

// First byte: which of three schemas; the rest: a page without its checksum, which is
// added. What decodes is encoded again and must decode to the same.
void FuzzPage(std::string_view input);

// The content of a trained dictionary. One that loads must compress what it decompresses.
void FuzzDictionary(std::string_view input);

// A segment header without its checksum, in the same way.
void FuzzHeader(std::string_view input);

// One run of a column. First byte: its encoding; second: one of ten types; two more: how many
// values there are; the rest: what is decoded. What decodes is encoded again, as are the bytes read
// as values, and all must come back in no more bytes than the bound of FORMAT.md.
void FuzzCodec(std::string_view input);

// What a Cassandra server sends. First byte: protocol version, compression, before or after
// the handshake; second: how long the pieces are that it comes in; the rest: its bytes, as
// they are and, in v5, in frames with right checksums too. What decodes is encoded again and
// must decode to the same.
void FuzzCqlResponse(std::string_view input);

// LZ4 blocks: packs the bytes, and rows made of them (first byte: their length), which must come
// back; unpacks them as a block that claims the bytes that its first two say.
void FuzzLz4(std::string_view input);

// A pattern of times up to the first newline, and behind it a text to read by the pattern. What is
// read lies in the years that there are, and is moved by the clock of the input or by nothing.
void FuzzTimePattern(std::string_view input);

}  // namespace cistern

#endif  // CISTERN_TESTS_FUZZ_DECODER_TARGETS_H_
