// HostStatements: of which prepared statements a host has told the types.
//
// A host may have a statement for the types of a table that was dropped and made anew, and takes
// the bytes of values for those. So nothing bound goes to a host before it has told, on this
// connection, for which types it has the statement, and nothing while it is asked again. Pure: no
// I/O.
#ifndef CISTERN_CQL_HOST_STATEMENTS_H_
#define CISTERN_CQL_HOST_STATEMENTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "engine/cql/host_pool.h"

namespace cistern::cql {

// What came of a PREPARE.
enum class PrepareWord : uint8_t {
  kSame,   // the host has the statement for the types that were known
  kOther,  // for others
  kNone,   // an ERROR: it does not have it
  kLost,   // nobody knows: no answer, or one after which it may have it all the same
};

// One thread at a time. At most hosts x statements are remembered.
class HostStatements {
 private:
  struct Telling {
    bool is_told = false;
    uint32_t under_way = 0;  // PREPAREs that are not answered
    bool overlaps = false;   // of those, or of them and some that were under way with them
    uint64_t passed = 0;     // what is told to PREPAREs up to this one does not count
  };

 public:
  // A PREPARE that is under way; empty: of a statement that has no number yet.
  struct Asking {
    std::shared_ptr<Telling> telling = {};
    uint64_t number = 0;
  };

  // Whether the host has told the types of all of them, and is not asked again for any.
  [[nodiscard]] bool IsTold(HostId host, std::span<const uint32_t> statements) const;
  // Whether it is asked for any statement.
  [[nodiscard]] bool IsAsked(HostId host) const;

  // A PREPARE was sent; End is called once for each. Also where the host has gone meanwhile: what
  // it told then counts for nothing.
  [[nodiscard]] Asking Begin(HostId host, uint32_t statement);
  void End(const Asking& asking, PrepareWord word);
  // The host was the first to tell of a statement, to the only PREPARE of it.
  void NoteTold(HostId host, uint32_t statement);
  // `host` has told other types than were known: what others have told counts no more.
  void NoteOtherTypes(HostId host, uint32_t statement);
  // The host says that it has forgotten the statement.
  void NoteForgotten(HostId host, uint32_t statement);
  // Its connection has ended: on the next one nothing is told.
  void Forget(HostId host);

 private:
  std::map<std::pair<HostId, uint32_t>, std::shared_ptr<Telling>> tellings_;
  uint64_t number_last_ = 0;  // of all PREPAREs
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_HOST_STATEMENTS_H_
