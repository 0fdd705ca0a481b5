#include "storage/seal_records.h"

#include <algorithm>

#include "cistern/limits.h"
#include "storage/record_coding.h"

namespace cistern {

using record_coding::Begin;
using record_coding::Decode;
using record_coding::DecodeFields;
using record_coding::ReadFlag;
using record_coding::Sealed;

namespace {

constexpr uint64_t kFamiliesMax = 1 << 16;
constexpr uint64_t kStatisticsBytesMax = 1 << 16;  // of 256 columns

void PutFamilies(std::string* out, const std::vector<uint64_t>& ids) {
  PutVarint(out, ids.size());
  for (const uint64_t id : ids) PutVarint(out, id);
}

void ReadFamilies(ByteReader* in, const char* field, std::vector<uint64_t>* out) {
  const uint64_t count = in->ReadCount(field, kFamiliesMax);
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    const uint64_t id = in->ReadVarint(field);
    if (!out->empty() && id <= out->back()) in->Fail(field, "is not behind the one before");
    out->push_back(id);
  }
}

void PutDictionaries(std::string* out, const std::vector<WindowDictionary>& dictionaries) {
  PutVarint(out, dictionaries.size());
  for (const WindowDictionary& d : dictionaries) {
    PutVarint(out, d.table_id);
    PutVarint(out, d.column.size());
    *out += d.column;
    PutVarint(out, d.number);
  }
}

// Of records of their version alone.
void ReadDictionaries(ByteReader* in, std::vector<WindowDictionary>* out) {
  const uint64_t count = in->ReadCount("dictionaries", kFamiliesMax);
  if (in->ok() && count == 0) in->Fail("dictionaries", "are none");
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    WindowDictionary d;
    d.table_id = static_cast<uint32_t>(in->ReadCount("table of a dictionary", UINT32_MAX));
    const size_t size = in->ReadCount("column of a dictionary", limits::kNameBytesMax);
    d.column = in->ReadBytes("column of a dictionary", size);
    d.number = in->ReadVarint("dictionary");
    if (!out->empty() && d.number <= out->back().number) {
      in->Fail("dictionary", "is not behind the one before");
    }
    out->push_back(std::move(d));
  }
}

// Absent in version 8 where nothing was proved, and in records from before it was kept.
void ReadProven(ByteReader* in, WindowRecord* r) {
  r->counted_versions = in->ReadCount("versions by count", r->confirmed_versions);
  r->read_back_versions =
      in->ReadCount("versions by rows", r->confirmed_versions - r->counted_versions);
  const bool is_last = in->remaining() == 0;
  if (is_last && r->counted_versions + r->read_back_versions == 0) {
    in->Fail("proved versions", "are none");
  }
}

void ReadStatistics(ByteReader* in, Manifest* m) {
  const size_t size = in->ReadCount("statistics size", kStatisticsBytesMax);
  m->schema_version =
      size == 0 ? 0 : static_cast<uint32_t>(in->ReadCount("schema version", UINT32_MAX));
  m->statistics = in->ReadBytes("statistics", size);
}

ProofLevel ReadProof(ByteReader* in) {
  const auto proof = static_cast<ProofLevel>(in->ReadU8("proof"));
  if (proof != ProofLevel::kCount && proof != ProofLevel::kRows) in->Fail("proof", "is not known");
  return proof;
}

}  // namespace

void AddSeal(const Manifest& manifest, WindowRecord* window) {
  window->version_count += manifest.version_count();
  window->byte_count += manifest.byte_count;
  ++window->seal_count;
  if (manifest.has_endless_rows) ++window->endless_row_seals;
  if (manifest.has_deletes) ++window->delete_seals;
  window->expiry_s_last = std::max(window->expiry_s_last, manifest.expiry_s_last);
}

void AddConfirmed(const Manifest& manifest, WindowRecord* window) {
  const uint64_t versions = manifest.version_count();
  window->confirmed_versions += versions;
  if (manifest.proof == ProofLevel::kCount) window->counted_versions += versions;
  if (manifest.proof == ProofLevel::kRows) window->read_back_versions += versions;
}

// A seal whose outbox entry damage took was never counted, and may take what others have: no part
// may be more than the whole then, or the record would not be read any more.
void TakeConfirmed(const Manifest& manifest, WindowRecord* window) {
  const uint64_t versions = manifest.version_count();
  const auto take = [versions](uint64_t* sum) { *sum -= std::min(versions, *sum); };
  take(&window->confirmed_versions);
  if (manifest.proof == ProofLevel::kCount) take(&window->counted_versions);
  if (manifest.proof == ProofLevel::kRows) take(&window->read_back_versions);
  uint64_t rest = window->confirmed_versions;
  window->read_back_versions = std::min(window->read_back_versions, rest);
  rest -= window->read_back_versions;
  window->counted_versions = std::min(window->counted_versions, rest);
}

std::string EncodeWindow(const WindowRecord& r) {
  std::string out = Begin(r.dictionaries.empty() ? record_coding::kRecordVersion
                                                 : record_coding::kRecordVersionOfDictionaries);
  PutVarint(&out, r.span.class_width_s);
  PutSigned(&out, r.span.start_s);
  PutSigned(&out, r.span.end_s);
  PutVarint(&out, r.version_count);
  PutVarint(&out, r.byte_count);
  PutVarint(&out, r.seal_count);
  PutVarint(&out, r.endless_row_seals);
  PutVarint(&out, r.delete_seals);
  PutVarint(&out, r.expiry_s_last);
  PutVarint(&out, r.confirmed_count);
  PutVarint(&out, r.confirmed_versions);
  PutSigned(&out, r.confirmed_us_last);
  out.push_back(r.ended ? 1 : 0);
  PutFamilies(&out, r.sources);
  PutFamilies(&out, r.awaited);
  if (r.counted_versions + r.read_back_versions > 0 || !r.dictionaries.empty()) {
    PutVarint(&out, r.counted_versions);
    PutVarint(&out, r.read_back_versions);
  }
  if (!r.dictionaries.empty()) PutDictionaries(&out, r.dictionaries);
  return Sealed(std::move(out));
}

Result<WindowRecord> DecodeWindow(std::string_view bytes) {
  const bool has_dictionaries =
      !bytes.empty() &&
      static_cast<uint8_t>(bytes[0]) == record_coding::kRecordVersionOfDictionaries;
  const auto read = [has_dictionaries](ByteReader* in, WindowRecord* r) {
    r->span.class_width_s = in->ReadVarint("class width");
    r->span.start_s = in->ReadSigned("start");
    r->span.end_s = in->ReadSigned("end");
    if (in->ok() && r->span.start_s >= r->span.end_s) in->Fail("end", "is not behind the start");
    r->version_count = in->ReadVarint("versions");
    r->byte_count = in->ReadVarint("bytes");
    r->seal_count = in->ReadVarint("seals");
    r->endless_row_seals = in->ReadCount("seals with endless rows", r->seal_count);
    r->delete_seals = in->ReadCount("seals with deletes", r->seal_count);
    r->expiry_s_last = static_cast<uint32_t>(in->ReadCount("expiry", UINT32_MAX));
    r->confirmed_count = in->ReadCount("confirmed seals", r->seal_count);
    r->confirmed_versions = in->ReadCount("confirmed versions", r->version_count);
    r->confirmed_us_last = in->ReadSigned("confirmed_us_last");
    r->ended = ReadFlag(in, "ended");
    ReadFamilies(in, "sources", &r->sources);
    ReadFamilies(in, "awaited", &r->awaited);
    if (has_dictionaries || in->remaining() > 0) ReadProven(in, r);
    if (has_dictionaries) ReadDictionaries(in, &r->dictionaries);
  };
  return Decode<WindowRecord>(bytes, "window record", read,
                              record_coding::kRecordVersionOfDictionaries);
}

std::string EncodeManifest(const Manifest& m) {
  std::string out = Begin();
  PutVarint(&out, m.row_count);
  PutVarint(&out, m.delete_count);
  PutVarint(&out, m.byte_count);
  PutSigned(&out, m.first_time);
  PutSigned(&out, m.last_time);
  PutSigned(&out, m.write_us_first);
  PutSigned(&out, m.write_us_last);
  PutVarint(&out, m.expiry_s_last);
  out.push_back(m.has_endless_rows ? 1 : 0);
  out.push_back(m.has_deletes ? 1 : 0);
  PutLittle<uint64_t>(&out, m.content_hash);
  out.push_back(m.rotations ? 1 : 0);
  if (m.rotations) PutIntervals(&out, *m.rotations);
  PutVarint(&out, m.statistics.size());
  if (!m.statistics.empty()) PutVarint(&out, m.schema_version);
  out += m.statistics;
  if (m.proof != ProofLevel::kAck) out.push_back(static_cast<char>(m.proof));
  return Sealed(std::move(out));
}

Status DecodeManifest(std::string_view bytes, Manifest* m) {
  return DecodeFields(bytes, "manifest", [m](ByteReader* in) {
    m->row_count = in->ReadVarint("rows");
    m->delete_count = in->ReadVarint("deletes");
    m->byte_count = in->ReadVarint("bytes");
    m->first_time = in->ReadSigned("first time");
    m->last_time = in->ReadSigned("last time");
    m->write_us_first = in->ReadSigned("first write time");
    m->write_us_last = in->ReadSigned("last write time");
    if (in->ok() && (m->first_time > m->last_time || m->write_us_first > m->write_us_last)) {
      in->Fail("times", "go backwards");
    }
    m->expiry_s_last = static_cast<uint32_t>(in->ReadCount("expiry", UINT32_MAX));
    m->has_endless_rows = ReadFlag(in, "endless rows");
    m->has_deletes = ReadFlag(in, "has deletes");
    m->content_hash = in->ReadU64("content hash");
    m->rotations.reset();
    if (ReadFlag(in, "names rotations")) ReadIntervals(in, &m->rotations.emplace());
    if (in->ok() && m->rotations && m->rotations->empty()) in->Fail("rotations", "are none");
    ReadStatistics(in, m);
    m->proof = in->remaining() > 0 ? ReadProof(in) : ProofLevel::kAck;
  });
}

Result<Manifest> DecodeManifest(std::string_view bytes) {
  Manifest m;
  CISTERN_RETURN_IF_ERROR(DecodeManifest(bytes, &m));
  return m;
}

}  // namespace cistern
