// A server that seals are pushed to and read back from, for the tests of what is proven.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_PROOF_TEST_UTIL_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_PROOF_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "engine/replicate/seal_proof.h"
#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/fake_cassandra/prepared_statement.h"

namespace cistern::replicate {

using fake_cassandra::StoredRow;

// A SELECT's answer as a session gives it; owns its bytes.
struct AnswerBytes {
  std::string bytes;
  cql::RowsResult rows;
};

// How gtest shows it.
inline void PrintTo(const ProofTally& tally, std::ostream* out) {
  *out << "proven " << tally.proven << ", newer " << tally.newer << ", hidden " << tally.hidden
       << ", expired " << tally.expired
       << ", deleted " << tally.deleted << ", shadowed " << tally.shadowed << ", empty "
       << tally.empty << ", differing " << tally.differing;
}

// Takes batches by Cassandra's rules, and answers the queries of proofs by its grammar.
class ProofServer {
 public:
  // The text of `schema` names its keyspace.
  explicit ProofServer(const std::shared_ptr<const TableSchema>& schema);

  // Sends all of `source`.
  void Push(const SealSource& source, int64_t now_s);
  [[nodiscard]] std::unique_ptr<AnswerBytes> Answer(const ProofQuery& query, int64_t now_s);

  // Applies `change` to every row with its key; false: the row is gone, without a trace.
  using Change = std::function<bool(const fake_cassandra::ClusteringKey& key, StoredRow* row)>;
  void ChangeRows(const Change& change);
  // The cluster forgets every deletion of ranges and of the partition.
  void ForgetRanges();
  // As any writer does; merges.
  void Write(const fake_cassandra::ClusteringKey& key, const StoredRow& row) {
    model_.partition().MergeRow(key, row);
  }
  [[nodiscard]] const fake_cassandra::Partition& partition() const { return model_.partition(); }
  [[nodiscard]] const std::shared_ptr<const fake_cassandra::ClusteringOrder>& order() const {
    return table_->order;
  }

  size_t query_count = 0;

 private:
  void Rebuild(const Change& change, bool keeps_ranges);

  ServerModel model_;
  fake_cassandra::TablePtr table_;
  std::vector<fake_cassandra::PreparedStatement> prepared_;  // by ProofStatement
};

// A row with the marker of an INSERT, and cells.
struct CellWrite {
  std::string column;
  std::optional<std::string> wire;  // nothing: a tombstone
};
[[nodiscard]] StoredRow RowOf(int64_t write_us, bool has_marker,
                              const std::vector<CellWrite>& cells);

// Big-endian.
[[nodiscard]] inline std::string IntBytes(int32_t value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

// Runs a proof to its end without sending anything again. Fails the test where it does not end.
void RunProof(SealProof* proof, ProofServer* server, std::optional<int64_t> now_s,
              int64_t server_now_s);
inline void RunProof(SealProof* proof, ProofServer* server, int64_t now_s) {
  RunProof(proof, server, now_s, now_s);
}

}  // namespace cistern::replicate

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_PROOF_TEST_UTIL_H_
