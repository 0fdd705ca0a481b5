// A fake cluster as a process, for tests of the tool from outside.
//
//   fake_cluster [--expiry-2106] [USER PASSWORD]
//
// With --expiry-2106 it stores what expires after 2038, which it refuses otherwise. Prints its
// port, then obeys lines of standard input until that ends, and answers each with one:
//
//   lose         the answer of the next definition is lost: it is run, then the connection reset
//   delay MS     answers to writes come so late from now on
//   deny, allow  writes are not permitted to anybody; and are again
//   down, up     the node goes, with what it was sent; and comes back
//   writes       how many requests that write came
//   dump K.T     the rows of a table, with tabs between
//   anything     is a statement to run; "ok", or the server's words
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/fake_cassandra/fake_cluster.h"

namespace cistern::fake_cassandra {
namespace {

class ToldFaults : public FaultScript {
 public:
  FaultStep Next(const RequestFacts& request) override {
    if (request.is_definition && loses_definition.exchange(false)) {
      return {.fault = Fault::kResetAfter};
    }
    if (request.is_write && denies_writes) return {.fault = Fault::kUnauthorized};
    const int64_t delay = request.is_write ? delay_us.load() : 0;
    if (delay > 0) return {.fault = Fault::kDelay, .delay_us = delay};
    return {};
  }
  std::atomic<bool> loses_definition = false;
  std::atomic<bool> denies_writes = false;
  std::atomic<int64_t> delay_us = 0;
};

std::string Told(const Status& status) { return status.ok() ? "ok" : status.message(); }

std::string DumpOf(FakeCluster* cluster, const std::string& table) {
  const size_t dot = table.find('.');
  if (dot == std::string::npos) return "dump takes KEYSPACE.TABLE";
  std::string rows = cluster->Dump(table.substr(0, dot), table.substr(dot + 1));
  if (rows.ends_with('\n')) rows.pop_back();
  std::replace(rows.begin(), rows.end(), '\n', '\t');
  return rows;
}

std::string Obey(FakeCluster* cluster, ToldFaults* faults, const std::string& line) {
  const std::string_view text = line;
  const auto argument = [text](std::string_view word) {
    return std::string(text.substr(word.size()));
  };
  if (text == "lose") {
    faults->loses_definition = true;
    return "ok";
  }
  if (text == "deny" || text == "allow") {
    faults->denies_writes = text == "deny";
    return "ok";
  }
  if (text.starts_with("delay ")) {
    faults->delay_us = std::strtoll(argument("delay ").c_str(), nullptr, 10) * 1000;
    return "ok";
  }
  if (text == "down") {
    cluster->TakeDown(0);
    return "ok";
  }
  if (text == "up") return Told(cluster->BringUp(0));
  if (text == "writes") return std::to_string(cluster->counters().writes);
  if (text.starts_with("dump ")) return DumpOf(cluster, argument("dump "));
  return Told(cluster->Run(line));
}

int Serve(ClusterOptions options) {
  const auto faults = std::make_shared<ToldFaults>();
  const auto cluster = FakeCluster::Start(std::move(options), faults);
  if (!cluster.ok()) {
    std::cerr << cluster.status().ToString() << std::endl;
    return 1;
  }
  (*cluster)->StartThread();
  std::cout << (*cluster)->port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Obey(cluster->get(), faults.get(), line) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace cistern::fake_cassandra

int main(int argc, char** argv) {
  using cistern::fake_cassandra::StorageCompatibility;
  cistern::fake_cassandra::ClusterOptions options;
  int next = 1;
  if (argc > next && std::string_view(argv[next]) == "--expiry-2106") {
    options.compatibility = StorageCompatibility::kNone;
    ++next;
  }
  if (argc == next + 2) {
    options.user = argv[next];
    options.password = argv[next + 1];
  }
  return cistern::fake_cassandra::Serve(std::move(options));
}
