#include "tests/engine/replicate/proof_test_util.h"

#include <utility>

namespace cistern::replicate {

using fake_cassandra::ClusteringKey;
using fake_cassandra::Partition;
using fake_cassandra::PartitionStore;

ProofServer::ProofServer(const std::shared_ptr<const TableSchema>& schema)
    : model_(StatementsOf(schema), schema->default_ttl_s) {
  auto table = fake_cassandra::DefineTable(schema->ToCql());
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  table->id = std::string(16, 'i');
  table_ = std::make_shared<const fake_cassandra::TableDefinition>(std::move(*table));
  for (const std::string& cql : ProofTexts(*StatementsOf(schema))) {
    auto statement = fake_cassandra::ParseStatement(cql);
    EXPECT_TRUE(statement.ok()) << cql << ": " << statement.status().ToString();
    auto prepared = fake_cassandra::PrepareStatement(std::move(*statement), table_);
    EXPECT_TRUE(prepared.ok()) << cql << ": " << prepared.status().ToString();
    prepared_.push_back(std::move(*prepared));
  }
}

void ProofServer::Push(const SealSource& source, int64_t now_s) {
  BatchStream stream(source.binder, source.options, source.content, {});
  while (!stream.at_end()) {
    PushBatch batch;
    const Status next = stream.Next(now_s, &batch);
    ASSERT_TRUE(next.ok()) << next.ToString();
    model_.Apply(batch, now_s);
  }
}

std::unique_ptr<AnswerBytes> ProofServer::Answer(const ProofQuery& query, int64_t now_s) {
  ++query_count;
  std::vector<testing::SentValue> values;
  for (const BoundValue& bound : SplitValues(query.values.bytes)) {
    EXPECT_TRUE(bound.bytes.has_value());
    values.push_back({testing::SentValue::Kind::kValue, bound.bytes.value_or("")});
  }
  EXPECT_EQ(values.size(), query.values.count);
  PartitionStore store;
  // A seal of which nothing was sent names no partition.
  if (!model_.key().empty()) store.Apply({table_, model_.key(), model_.partition()});
  const fake_cassandra::PageRequest page{now_s, static_cast<int32_t>(query.page_rows),
                                         query.paging_state};
  const auto& prepared = prepared_[static_cast<size_t>(query.statement)];
  const auto answer = fake_cassandra::RunSelect(
      prepared, values, page, [&](const auto&, const auto& key) -> Result<PartitionStore> {
        EXPECT_TRUE(key.has_value());  // one partition, never the table
        if (!model_.key().empty()) {
          EXPECT_EQ(*key, model_.key());
        }
        return store;
      });
  EXPECT_TRUE(answer.ok()) << answer.status().ToString();
  auto out = std::make_unique<AnswerBytes>();
  for (const auto& row : answer->rows) {
    for (const auto& cell : row) {
      PutBig(&out->bytes, cell ? static_cast<int32_t>(cell->size()) : -1);
      out->bytes += cell.value_or("");
    }
  }
  out->rows.metadata = answer->metadata;
  out->rows.rows = cql::RowsView(out->bytes, answer->rows.size(), answer->metadata.column_count);
  return out;
}

void ProofServer::Rebuild(const Change& change, bool keeps_ranges) {
  const Partition before = model_.partition();
  Partition after(table_->order);
  if (keeps_ranges) {
    after.MergeDeletion(before.deletion());
    for (const auto& range : before.ranges()) after.MergeRange(range);
  }
  for (const auto& [key, stored] : before.rows()) {
    StoredRow row = stored;
    if (change(key, &row)) after.MergeRow(key, row);
  }
  model_.partition() = std::move(after);
}

void ProofServer::ChangeRows(const Change& change) {
  Rebuild(change, true);
}

void ProofServer::ForgetRanges() {
  Rebuild([](const ClusteringKey&, StoredRow*) { return true; }, false);
}

StoredRow RowOf(int64_t write_us, bool has_marker, const std::vector<CellWrite>& cells) {
  StoredRow row;
  if (has_marker) row.marker.timestamp_us = write_us;
  for (const CellWrite& cell : cells) {
    row.cells[cell.column] =
        cell.wire ? fake_cassandra::StoredCell{write_us, 0, fake_cassandra::kNever, *cell.wire}
                  : fake_cassandra::StoredCell{write_us, 0, 1, ""};
  }
  return row;
}

void RunProof(SealProof* proof, ProofServer* server, std::optional<int64_t> now_s,
              int64_t server_now_s) {
  constexpr int kStepsMax = 100'000;
  for (int step = 0; step < kStepsMax; ++step) {
    const auto next = proof->Next(now_s);
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    if (*next == ProofStep::kEnd) return;
    if (*next == ProofStep::kGoOn) continue;
    const auto answer = server->Answer(proof->query(), server_now_s);
    const Status taken = proof->Take(answer->rows);
    ASSERT_TRUE(taken.ok()) << taken.ToString();
  }
  FAIL() << "the proof does not end";
}

}  // namespace cistern::replicate
