// Where a password comes from each time that one is asked for.
#ifndef CISTERN_ENGINE_PASSWORD_SOURCE_H_
#define CISTERN_ENGINE_PASSWORD_SOURCE_H_

#include <string>

#include "cistern/cluster.h"
#include "cistern/result.h"
#include "engine/cql/secret.h"

namespace cistern {

// The first line of the file. kInvalidArgument: it cannot be read, is no regular file, or has no
// password that can be sent. Never waits, as for the writer of a pipe.
[[nodiscard]] Result<cql::Secret> ReadPassword(const std::string& path);

// What the program gives; its copies are wiped. kInvalidArgument: nothing, too much, or a
// zero byte; and what the source says.
[[nodiscard]] Result<cql::Secret> AskPassword(const PasswordSource& source);

}  // namespace cistern

#endif  // CISTERN_ENGINE_PASSWORD_SOURCE_H_
