#include "bench/push/dsbulk_load.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace cistern::bench {
namespace {

constexpr size_t kRateColumn = 2;  // "total | failed | rows/s | p50ms | ..."

// Of the last line of numbers that it printed; 0: there is none.
double LastRate(const std::string& path) {
  std::ifstream file(path);
  double rate = 0;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::remove(line.begin(), line.end(), ','), line.end());
    size_t at = 0;
    for (size_t column = 0; column < kRateColumn && at != std::string::npos; ++column) {
      at = line.find('|', at);
      if (at != std::string::npos) ++at;
    }
    if (at == std::string::npos) continue;
    const double found = std::strtod(line.c_str() + at, nullptr);
    if (found > 0) rate = found;
  }
  return rate;
}

Result<rusage> RunChild(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    return Status::IoError(std::string("no process for DSBulk: ") + std::strerror(errno));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Status::Internal("DSBulk failed; its words are in " + output);
  }
  return usage;
}

}  // namespace

Result<DsbulkLoad> LoadByDsbulk(const std::string& jars, const std::string& csv,
                                const std::string& scratch, const PushServer& server) {
  const std::string output = scratch + "/dsbulk.log";
  const PushMeter meter(server);
  CISTERN_ASSIGN_OR_RETURN(
      const rusage usage,
      RunChild({"java", "-Xmx1g", "-cp", jars + "/*",
                "com.datastax.oss.dsbulk.runner.DataStaxBulkLoader", "load", "-h",
                server.endpoint.host, "-port", std::to_string(server.endpoint.port), "-k",
                "gateway", "-t", "readings", "-url", csv, "-header", "true", "--codec.timestamp",
                "UNITS_SINCE_EPOCH", "-dc", "datacenter1", "--log.directory",
                scratch + "/dsbulk-logs"},
               output));
  DsbulkLoad load;
  load.cost = meter.Cost();
  load.cost.cpu_s = CpuSeconds(usage);
  load.reported_per_s = LastRate(output);
  if (load.reported_per_s > 0) return load;
  return Status::Internal("DSBulk told no rate; its words are in " + output);
}

}  // namespace cistern::bench
