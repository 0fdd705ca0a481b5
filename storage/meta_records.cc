#include "storage/meta_records.h"

#include "cistern/limits.h"
#include "storage/record_coding.h"

namespace cistern {

using record_coding::Begin;
using record_coding::Decode;
using record_coding::PutString;
using record_coding::ReadFlag;
using record_coding::Sealed;

namespace {

// So far from 1970, or from the start of a boot, no clock is, and sums of two such times fit.
constexpr int64_t kClockUsMax = int64_t{1} << 60;

constexpr uint8_t kWitnessed = 1;
constexpr uint8_t kVouched = 2;

int64_t ReadClockTime(ByteReader* in, const char* field) {
  const int64_t time_us = in->ReadSigned(field);
  if (in->ok() && (time_us > kClockUsMax || time_us < -kClockUsMax)) {
    in->Fail(field, "lies beyond what a clock shows");
  }
  return time_us;
}

void ReadClock(ByteReader* in, ClockRecord* r) {
  r->certain_us = ReadClockTime(in, "certain_us");
  r->boot_id = in->ReadBytes("boot id", in->ReadCount("boot id length", 64));
  r->monotonic_us = ReadClockTime(in, "monotonic_us");
  const uint8_t state = in->ReadU8("clock state");
  if (state > (kWitnessed | kVouched)) in->Fail("clock state", "has unknown bits");
  r->witnessed = (state & kWitnessed) != 0;
  r->vouched = (state & kVouched) != 0;
  r->pending_us = ReadClockTime(in, "pending_us");
  r->dwelt_us = ReadClockTime(in, "dwelt_us");
}

}  // namespace

std::string EncodeState(const StateRecord& r) {
  std::string out = Begin(record_coding::kRecordVersionOfClock);
  PutVarint(&out, r.sequence_reserved);
  PutVarint(&out, r.journal_floor);
  PutVarint(&out, r.versions_written);
  PutVarint(&out, r.versions_superseded);
  PutVarint(&out, r.versions_expired);
  PutVarint(&out, r.versions_shed);
  PutSigned(&out, r.write_us_last);
  PutSigned(&out, r.clock.trusted_us);
  PutSigned(&out, r.clock.certain_us);
  PutString(&out, r.clock.boot_id);
  PutSigned(&out, r.clock.monotonic_us);
  out.push_back(static_cast<char>((r.clock.witnessed ? kWitnessed : 0) |
                                  (r.clock.vouched ? kVouched : 0)));
  PutSigned(&out, r.clock.pending_us);
  PutSigned(&out, r.clock.dwelt_us);
  return Sealed(std::move(out));
}

Result<StateRecord> DecodeState(std::string_view bytes) {
  // The version before had the newest time that was believed, and took all of it for certain.
  const bool has_clock =
      !bytes.empty() && static_cast<uint8_t>(bytes[0]) > record_coding::kRecordVersion;
  const auto read = [has_clock](ByteReader* in, StateRecord* r) {
    r->sequence_reserved = in->ReadVarint("sequence_reserved");
    r->journal_floor = in->ReadVarint("journal_floor");
    r->versions_written = in->ReadVarint("versions_written");
    r->versions_superseded = in->ReadVarint("versions_superseded");
    r->versions_expired = in->ReadVarint("versions_expired");
    r->versions_shed = in->ReadVarint("versions_shed");
    r->write_us_last = in->ReadSigned("write_us_last");
    r->clock.trusted_us = ReadClockTime(in, "trusted_us");
    r->clock.certain_us = r->clock.trusted_us;
    if (has_clock) ReadClock(in, &r->clock);
  };
  return Decode<StateRecord>(bytes, "state record", read, record_coding::kRecordVersionOfClock);
}

std::string EncodeTable(const TableRecord& r) {
  std::string out = Begin();
  PutVarint(&out, r.journal_before);
  PutString(&out, r.cql);
  return Sealed(std::move(out));
}

Result<TableRecord> DecodeTable(std::string_view bytes) {
  return Decode<TableRecord>(bytes, "table record", [](ByteReader* in, TableRecord* r) {
    r->journal_before = in->ReadVarint("journal_before");
    r->cql = in->ReadBytes("cql", in->ReadCount("cql length", limits::kDdlBytesMax * 4));
  });
}

std::string EncodeBoot(const BootRecord& r) {
  std::string out = Begin();
  PutString(&out, r.boot_id);
  PutSigned(&out, r.monotonic_us);
  PutSigned(&out, r.base_us);
  out.push_back(r.resolved ? 1 : 0);
  PutSigned(&out, r.last_count_us);
  return Sealed(std::move(out));
}

Result<BootRecord> DecodeBoot(std::string_view bytes) {
  return Decode<BootRecord>(bytes, "boot record", [](ByteReader* in, BootRecord* r) {
    r->boot_id = in->ReadBytes("boot id", in->ReadCount("boot id length", 64));
    r->monotonic_us = in->ReadSigned("monotonic_us");
    r->base_us = in->ReadSigned("base_us");
    r->resolved = ReadFlag(in, "resolved");
    r->last_count_us = in->ReadSigned("last_count_us");
    int64_t last_us = 0;
    if (in->ok() && __builtin_add_overflow(r->base_us, r->last_count_us, &last_us)) {
      in->Fail("last_count_us", "lies beyond all times");
    }
  });
}

std::string EncodeSpill(const SpillRecord& r) {
  std::string out = Begin();
  out.push_back(static_cast<char>((r.superseded ? 1 : 0) | r.tier << 1));
  PutVarint(&out, r.version_count);
  PutVarint(&out, r.sealed_count);
  PutVarint(&out, r.byte_count);
  PutIntervals(&out, r.committed);
  return Sealed(std::move(out));
}

Result<SpillRecord> DecodeSpill(std::string_view bytes) {
  return Decode<SpillRecord>(bytes, "spill record", [](ByteReader* in, SpillRecord* r) {
    const uint8_t state = in->ReadU8("state");
    r->superseded = (state & 1) != 0;
    r->tier = state >> 1;
    if (r->tier > limits::kSpillTierMax) in->Fail("state", "has a tier beyond the last one");
    r->version_count = in->ReadVarint("versions");
    r->sealed_count = in->ReadCount("sealed", r->version_count);
    r->byte_count = in->ReadVarint("bytes");
    ReadIntervals(in, &r->committed);
  });
}

}  // namespace cistern
