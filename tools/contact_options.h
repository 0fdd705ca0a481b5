// How a cluster is reached: the options that all commands share which speak to one.
#ifndef CISTERN_TOOLS_CONTACT_OPTIONS_H_
#define CISTERN_TOOLS_CONTACT_OPTIONS_H_

#include <functional>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/cluster.h"
#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "engine/cql/session.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// As the command line has them; an empty text: not given. A password is in a file alone: command
// lines and environments are seen by others.
struct ContactOptions {
  std::vector<std::string> contacts;  // HOST[:PORT], several with commas between
  std::string user;
  std::string password_file;
  std::string credentials_dir;  // where the password and our key are, if their names are relative
  std::optional<bool> tls;  // given as false too: it goes before a file
  std::string ca;
  std::string client_cert;
  std::string client_key;
  std::optional<bool> allow_cleartext_password;
  std::string local_dc;
  std::string connect_timeout;
  std::string protocol;
  std::string compression;
};

// A flag that may be taken back by =false, as where a file of settings has it too. Any other value
// is refused.
void AddTruth(CLI::App* command, const std::string& name, std::function<void(bool)> take,
              const std::string& what);

void AddContactOptions(CLI::App* command, ContactOptions* options);
// For a command that sends rows.
void AddConsistencyOption(CLI::App* command, std::string* text);

// What they come to.
struct ContactPlan {
  cql::SessionOptions session;
  int64_t connect_timeout_us = 0;     // until a host takes requests
  int64_t read_timeout_us = 120'000'000;  // of the schema of a table, six questions in all
  std::vector<std::string> warnings;  // for a person; the command goes on
};

// kInvalidArgument for what can be told to be wrong before anything is sent: a host that is none,
// a file that cannot be read, an option that the others leave without effect, a password that
// would go over the network in clear. The file of the password is read anew at each connect.
[[nodiscard]] Result<ContactPlan> PlanContact(const ContactOptions& options);

// Seconds of "10s" or "5m"; kInvalidArgument likewise.
[[nodiscard]] Result<int64_t> ParseConnectTimeout(std::string_view option, std::string_view text);

// "v5", "v4": that version of the native protocol and no other. kInvalidArgument likewise.
[[nodiscard]] Result<ClusterProtocol> ParseProtocol(std::string_view option,
                                                    std::string_view text);

// "lz4", "none": whether LZ4 is used where the server has it. kInvalidArgument likewise.
[[nodiscard]] Result<ClusterCompression> ParseCompression(std::string_view option,
                                                          std::string_view text);

// "LOCAL_QUORUM", in either case: a level that writes can have. kInvalidArgument likewise.
[[nodiscard]] Result<Consistency> ParseConsistency(std::string_view option,
                                                   std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CONTACT_OPTIONS_H_
