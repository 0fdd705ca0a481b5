// Reading a seal of the outbox to send it: its rows as the table shows them now, without what other
// seals of its bucket have deleted.
#ifndef CISTERN_ENGINE_REPLICATE_SEAL_CONTENT_H_
#define CISTERN_ENGINE_REPLICATE_SEAL_CONTENT_H_

#include <memory>

#include "cistern/result.h"
#include "engine/replicate/batch_stream.h"
#include "engine/replicate/push_memory.h"
#include "engine/replicate/timestamp_mode.h"
#include "storage/outbox.h"
#include "storage/seal_records.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern::replicate {

// What seals are read from. Store and tables are borrowed for the call.
struct SealReading {
  Store* store = nullptr;
  const TableSet* tables = nullptr;
  std::shared_ptr<PushMemory> memory;
};

struct OpenedSeal {
  Manifest manifest;
  // Keeps the files of the window, until its last copy is gone, and nothing else of the store: the
  // window may end meanwhile. Copies share one charge, of the page that was read last.
  SealContent content;
  // An older version of a key of the seal may be upstream, sent from this store. Other
  // writers of the partition it does not know.
  bool older_may_exist = true;
  // No row that this store has sent can have been written over a row of the seal.
  bool is_newest = true;
};

// `shown`: the table as the statements have it; it may be altered meanwhile. One thread at a time,
// for the call and for the content.
//
//   kNotFound     no live window has the seal: it is to be forgotten
//   kCorruption   manifest, header or, of read_page, a page: of the seal, or of a confirmed one
//   whose
//                 deletes would have to be known. Names it.
//   kOutOfMemory  of both: budget or share have no room, ask later
[[nodiscard]] Result<OpenedSeal> OpenSeal(const SealReading& from, const TablePtr& shown,
                                          TimestampMode mode, const SealName& name);

// The oldest write timestamp with which a row of the seal is sent, by its manifest alone; the
// highest int64: it has no rows. One lookup, as a walk over a long outbox asks for every seal.
// Errors as above, without kOutOfMemory.
[[nodiscard]] Result<int64_t> ReadFirstWrite(const SealReading& from, const TableSchema& shown,
                                             const SealName& name);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SEAL_CONTENT_H_
