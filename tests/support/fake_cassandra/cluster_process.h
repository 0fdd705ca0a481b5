// ClusterProcess: a fake cluster in a child process, so that its memory is not the test's.
//
// It does nothing by itself: each Poll is a turn, and time is the clock's that both processes
// share (shared_clock.h). So a run is as repeatable as with a cluster in the same process.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_PROCESS_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/fake_cassandra/fake_cluster.h"

namespace cistern::fake_cassandra {

// One process at a time asks: the one that made it, or another one that it forked.
class ClusterProcess {
 public:
  // Runs in the child, for each command of Ask.
  using Obey = std::function<std::string(FakeCluster&, const std::string& command)>;

  // Forks: REQUIRES that this process has no other threads. `options` are used by the child.
  ClusterProcess(ClusterOptions options, Obey obey);
  ClusterProcess(const ClusterProcess&) = delete;
  ClusterProcess& operator=(const ClusterProcess&) = delete;
  ~ClusterProcess();  // of the process that made it: ends the child

  // 0: it could not start.
  [[nodiscard]] uint16_t port() const { return port_; }
  // Lets it do what can be done now. False: nothing was there to do.
  bool Poll();
  // What the child says to it, cut at some tens of kilobytes. Empty: it has ended.
  [[nodiscard]] std::string Ask(const std::string& command);

 private:
  const pid_t owner_;
  pid_t child_ = -1;
  int socket_ = -1;
  uint16_t port_ = 0;
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_PROCESS_H_
