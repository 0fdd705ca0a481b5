#include "storage/meta_records.h"

#include "cistern/limits.h"
#include "storage/record_coding.h"

namespace cistern {

using record_coding::Begin;
using record_coding::Decode;
using record_coding::PutString;
using record_coding::ReadFlag;
using record_coding::Sealed;

std::string EncodeState(const StateRecord& r) {
  std::string out = Begin();
  PutVarint(&out, r.sequence_reserved);
  PutVarint(&out, r.journal_floor);
  PutVarint(&out, r.versions_written);
  PutVarint(&out, r.versions_superseded);
  PutVarint(&out, r.versions_expired);
  PutVarint(&out, r.versions_shed);
  PutSigned(&out, r.write_us_last);
  PutSigned(&out, r.trusted_us);
  return Sealed(std::move(out));
}

Result<StateRecord> DecodeState(std::string_view bytes) {
  return Decode<StateRecord>(bytes, "state record", [](ByteReader* in, StateRecord* r) {
    r->sequence_reserved = in->ReadVarint("sequence_reserved");
    r->journal_floor = in->ReadVarint("journal_floor");
    r->versions_written = in->ReadVarint("versions_written");
    r->versions_superseded = in->ReadVarint("versions_superseded");
    r->versions_expired = in->ReadVarint("versions_expired");
    r->versions_shed = in->ReadVarint("versions_shed");
    r->write_us_last = in->ReadSigned("write_us_last");
    r->trusted_us = in->ReadSigned("trusted_us");
  });
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
