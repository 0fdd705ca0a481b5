// ClusterAccess: how a Cassandra cluster is reached, and as whom.
#ifndef CISTERN_CLUSTER_H_
#define CISTERN_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cistern/result.h"

namespace cistern {

// Versions of Cassandra's native protocol.
enum class ClusterProtocol : uint8_t {
  kAny,  // v5, and v4 with nodes that have no v5
  kV5,   // Cassandra 4 and newer
  kV4,   // also Cassandra 3; the exact second of an expiry cannot be sent
};

// Of what goes over the network.
enum class ClusterCompression : uint8_t { kNone, kLz4 };

// Gives the password, or why there is none: words that are shown where the connection's failure
// is. Called by the replication's own thread, or by the one in Replication::Run. Must not throw,
// nor wait for long: everything of the network waits for it.
using PasswordSource = std::function<Result<std::string>()>;

// What is wrong in itself, or does nothing beside the others, is refused by Replication::Start
// with the knob's name; so is a file that cannot be read. limits.h has the bounds.
struct ClusterAccess {
  // --- where
  // Nodes of the cluster, HOST or HOST:PORT, an IPv6 address in brackets: "db-1",
  // "10.1.2.3:19042", "[fd00::1]". One that answers is enough, the others are learned from it;
  // more of them are the way back after an outage. At least one. The port is 9042 unless said.
  std::vector<std::string> contacts{};
  // Only nodes of this data center are asked. Empty: that of the first node that answers.
  std::string local_dc{};
  // How long one attempt to reach a node may take: the resolution of its name, and each of its
  // addresses. From kConnectTimeoutUsMin, 1 ms, to kConnectTimeoutUsMax, an hour. It is tried
  // again for as long as it takes. (`cistern sync --connect-timeout` is how long it waits for a
  // first node in all.)
  int64_t connect_timeout_us = 5'000'000;

  // --- as whom
  // The name to log in with. Empty: without a password; a cluster that asks for one refuses us.
  std::string user{};
  // Goes with `user`, one of the two. Of the file the first line counts. Either is asked at each
  // connect, so that a changed password counts, and it is wiped from memory once it was sent. At
  // most kPasswordBytesMax. No message ever holds it.
  std::string password_file{};
  PasswordSource password{};
  // Without it a password goes over TLS alone. For a network that you trust; not beside `tls`.
  bool allow_cleartext_password = false;

  // --- TLS 1.2 or newer
  // The server's certificate is always verified, and must name the host of `contacts`.
  bool tls = false;
  // Of `tls`, PEM, read at each connect: the authorities to trust (empty: those of the system);
  // our own certificate with its chain, where the cluster asks for one; its key without a pass
  // phrase, which goes with it and which nobody else should be able to read.
  std::string ca_file{};
  std::string certificate_file{};
  std::string key_file{};

  // --- how
  ClusterProtocol protocol = ClusterProtocol::kAny;
  // kLz4: where a node has it. Telemetry shrinks to less than half; costs some processor time.
  ClusterCompression compression = ClusterCompression::kLz4;
};

}  // namespace cistern

#endif  // CISTERN_CLUSTER_H_
