// What a ClusterAccess comes to: the options of a session, checked. The tool's options go this way
// too, under their own names.
#ifndef CISTERN_ENGINE_CLUSTER_ACCESS_H_
#define CISTERN_ENGINE_CLUSTER_ACCESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cistern/clock.h"
#include "cistern/cluster.h"
#include "cistern/result.h"
#include "engine/cql/session.h"

namespace cistern {

// What the knobs are called where they are given.
struct AccessNames {
  std::string_view contacts = "ClusterAccess::contacts";
  std::string_view connect_timeout = "ClusterAccess::connect_timeout_us";
  std::string_view user = "ClusterAccess::user";
  std::string_view password_file = "ClusterAccess::password_file";
  std::string_view password = "ClusterAccess::password";
  // Where else than in its file a password may be: "name its file by ..., or ".
  std::string_view other_password = "give it by ClusterAccess::password";
  std::string_view allow_cleartext_password = "ClusterAccess::allow_cleartext_password";
  std::string_view tls = "ClusterAccess::tls";
  std::string_view ca_file = "ClusterAccess::ca_file";
  std::string_view certificate_file = "ClusterAccess::certificate_file";
  std::string_view key_file = "ClusterAccess::key_file";
  std::string_view protocol = "ClusterAccess::protocol";
  std::string_view compression = "ClusterAccess::compression";
};

struct AccessPlan {
  cql::SessionOptions session;
  std::vector<std::string> warnings;  // for a person; it works all the same
};

// kInvalidArgument for what can be told to be wrong before anything is sent: a host that is none,
// a file that cannot be read, a knob that the others leave without effect, a password that would
// go over the network in clear. `clock` gives the seed of waits: gateways that lost the cluster in
// one moment do not come back in one.
[[nodiscard]] Result<AccessPlan> PlanAccess(const ClusterAccess& access, const AccessNames& names,
                                            Clock* clock);

// "db-1", "10.1.2.3:9042", "[fd00::1]:9042"; the port is 9042 where none is said. kInvalidArgument
// with the knob's name; a text with an '@' is not repeated in it, as a password may stand before.
[[nodiscard]] Result<cql::Endpoint> ParseContact(std::string_view name, std::string_view text);

// Differs from gateway to gateway, also where all their clocks begin with the same date.
[[nodiscard]] uint64_t SeedOf(Clock* clock);

}  // namespace cistern

#endif  // CISTERN_ENGINE_CLUSTER_ACCESS_H_
