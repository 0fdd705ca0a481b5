// Asks a cluster for the schema of a table, and runs the statements of a plan: the one place where
// the schema meets the network.
//
// All of it on the loop's thread. What is begun here ends by itself: with what it was asked for,
// with an error of the session (kClosed once that is closed), or at its timeout. `done` is called
// once, from the loop, never from inside the call that took it. Loop and session must live until
// then; a session that is closed ends all.
#ifndef CISTERN_ENGINE_REPLICATE_SCHEMA_READER_H_
#define CISTERN_ENGINE_REPLICATE_SCHEMA_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/event_loop.h"
#include "engine/cql/session.h"
#include "engine/replicate/cluster_schema.h"

namespace cistern::replicate {

using SchemaDone = std::function<void(const Result<ClusterSchema>&)>;
using RowsDone = std::function<void(const Result<SystemRows>&)>;
// How statements went: the first error, and the server's code of it where there is one.
struct Applied {
  Status status;
  std::optional<cql::ErrorCode> error_code{};
};
using AppliedDone = std::function<void(const Applied&)>;
// `lags_up`: with kBusy, whether a node that lags behind the one that was asked takes requests.
using AgreementDone = std::function<void(const Status&, bool lags_up)>;

// Reads what the cluster has under these names: six questions, one after another.
//   kCorruption, kTooLarge  of ReadClusterSchema
//   others                  of the session; the message says which question was asked
void ReadSchema(cql::EventLoop& loop, cql::Session& session, const std::string& keyspace,
                const std::string& table, SchemaDone done);

// Asks for rows of any table, with values for the text's markers, and takes them all: at most
// limits::kClusterColumnsMax of limits::kClusterSchemaBytesMax bytes. Errors as above.
void AskRows(cql::EventLoop& loop, cql::Session& session, const std::string& cql,
             cql::ValueRun values, RowsDone done);

// Waits until all nodes have the same version of the schema, as far as one is known of each.
//   kBusy  they still have several at the timeout; the message names the nodes of each. A node that
//          is down keeps its old one and learns the new one when it is back
//   kInvalidArgument  a server refuses the question
//   others            they could not be asked, so that nothing is known
void AwaitSchemaAgreement(cql::EventLoop& loop, cql::Session& session, int64_t timeout_us,
                          AgreementDone done);

// Runs statements one after another, each once all nodes agree on the one before, and waits for
// agreement on the last. Ends at the first error, which names its statement. One whose answer was
// lost may have run, and may fail when it is repeated: read the schema again and compare, then
// plan anew; that alone tells what is still to be done.
void ApplyStatements(cql::EventLoop& loop, cql::Session& session,
                     std::vector<std::string> statements, int64_t agreement_timeout_us,
                     AppliedDone done);

// Whether all nodes have one version, from rows of system.local and of its peers. Pure.
// `answers`: each is one node's own row and its peers, in any parts.
//   kBusy        they have several
//   kCorruption  the rows are not those of such tables
[[nodiscard]] Status CheckAgreement(const std::vector<SystemRows>& answers);
// Host ids, as text, of the nodes that have another version than the first one told of. Pure.
[[nodiscard]] std::vector<std::string> LaggingNodes(const std::vector<SystemRows>& answers);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SCHEMA_READER_H_
