#include "engine/query/scan_token.h"

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"

namespace cistern {

namespace {

constexpr uint8_t kTokenVersion = 1;
constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Status BadToken() {
  return Status::InvalidArgument(
      "the scan token is not one that a cursor of this store gave out: scan without it");
}

}  // namespace

std::string EncodeScanToken(const ScanToken& token) {
  std::string bytes(1, static_cast<char>(kTokenVersion));
  PutLittle<uint64_t>(&bytes, token.request_checksum);
  PutVarint(&bytes, token.rows_returned);
  PutVarint(&bytes, token.split);
  PutSigned(&bytes, token.start_s);
  PutVarint(&bytes, token.clustering_key.size());
  bytes += token.clustering_key;
  PutLittle<uint64_t>(&bytes, Checksum(bytes));
  std::string text;
  for (const char c : bytes) {
    text.push_back(kHexDigits[static_cast<uint8_t>(c) >> 4]);
    text.push_back(kHexDigits[static_cast<uint8_t>(c) & 15]);
  }
  return text;
}

Result<ScanToken> DecodeScanToken(std::string_view text) {
  if (text.size() % 2 != 0 || text.size() > limits::kScanTokenBytesMax) return BadToken();
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexValue(text[i]);
    const int low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return BadToken();
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  if (bytes.size() < 9) return BadToken();
  const std::string_view body = std::string_view(bytes).substr(0, bytes.size() - 8);
  if (GetLittle<uint64_t>(bytes.data() + body.size()) != Checksum(body)) return BadToken();
  ByteReader in(body, "scan token");
  if (in.ReadU8("version") != kTokenVersion) return BadToken();
  ScanToken token;
  token.request_checksum = in.ReadU64("request");
  token.rows_returned = in.ReadVarint("rows");
  token.split = static_cast<uint32_t>(in.ReadCount("split", UINT16_MAX));
  token.start_s = in.ReadSigned("start");
  token.clustering_key =
      in.ReadBytes("key", in.ReadCount("key length", limits::kScanTokenBytesMax));
  if (!in.ok() || in.remaining() != 0) return BadToken();
  return token;
}

}  // namespace cistern
