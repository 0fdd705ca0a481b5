// A fake cluster as a process, for tests of the tool from outside.
//
//   fake_cluster [USER PASSWORD]
//
// Prints its port, then obeys lines of standard input until that ends, and answers each with one:
//
//   lose       the answer of the next definition is lost: it is run, then the connection reset
//   anything   is a statement to run; "ok", or the server's words
#include <atomic>
#include <iostream>
#include <memory>
#include <string>

#include "tests/support/fake_cassandra/fake_cluster.h"

namespace cistern::fake_cassandra {
namespace {

class LostDefinition : public FaultScript {
 public:
  FaultStep Next(const RequestFacts& request) override {
    if (!request.is_definition || !is_armed.exchange(false)) return {};
    return {.fault = Fault::kResetAfter};
  }
  std::atomic<bool> is_armed = false;
};

int Serve(ClusterOptions options) {
  const auto script = std::make_shared<LostDefinition>();
  const auto cluster = FakeCluster::Start(std::move(options), script);
  if (!cluster.ok()) {
    std::cerr << cluster.status().ToString() << std::endl;
    return 1;
  }
  (*cluster)->StartThread();
  std::cout << (*cluster)->port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "lose") {
      script->is_armed = true;
      std::cout << "ok" << std::endl;
      continue;
    }
    const Status status = (*cluster)->Run(line);
    std::cout << (status.ok() ? "ok" : status.message()) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace cistern::fake_cassandra

int main(int argc, char** argv) {
  cistern::fake_cassandra::ClusterOptions options;
  if (argc == 3) {
    options.user = argv[1];
    options.password = argv[2];
  }
  return cistern::fake_cassandra::Serve(std::move(options));
}
