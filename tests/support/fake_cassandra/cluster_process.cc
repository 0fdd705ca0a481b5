#include "tests/support/fake_cassandra/cluster_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace cistern::fake_cassandra {
namespace {

constexpr size_t kMessageBytesMax = 48 * 1024;
constexpr char kPoll[] = "poll";

// The next message; empty: the other side has ended.
std::string Receive(int socket) {
  static std::array<char, kMessageBytesMax> buffer;
  const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
  return count <= 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(count));
}

void Send(int socket, std::string message) {
  if (message.empty()) message = " ";
  if (message.size() > kMessageBytesMax) message.resize(kMessageBytesMax);
  (void)send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

int Serve(int socket, ClusterOptions options, const ClusterProcess::Obey& obey) {
  const auto cluster = FakeCluster::Start(std::move(options));
  Send(socket, cluster.ok() ? std::to_string((*cluster)->port()) : "0");
  if (!cluster.ok()) return 1;
  for (std::string command = Receive(socket); !command.empty(); command = Receive(socket)) {
    if (command != kPoll) {
      Send(socket, obey(**cluster, command));
      continue;
    }
    bool did = false;
    while ((*cluster)->Poll()) did = true;
    Send(socket, did ? "1" : "0");
  }
  return 0;
}

}  // namespace

ClusterProcess::ClusterProcess(ClusterOptions options, Obey obey) : owner_(getpid()) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) ::abort();
  child_ = fork();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    _exit(Serve(ends[1], std::move(options), obey));
  }
  close(ends[1]);
  socket_ = ends[0];
  port_ = static_cast<uint16_t>(std::strtoul(Receive(socket_).c_str(), nullptr, 10));
}

ClusterProcess::~ClusterProcess() {
  close(socket_);
  if (getpid() != owner_ || child_ < 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

bool ClusterProcess::Poll() { return Ask(kPoll) == "1"; }

std::string ClusterProcess::Ask(const std::string& command) {
  Send(socket_, command);
  return Receive(socket_);
}

}  // namespace cistern::fake_cassandra
