// ModelCluster: a cluster's schema in memory. Runs the statements that a plan has, and answers as
// Apache Cassandra 5.0.8 answered when tests/engine/replicate/recorded was made: classes with their
// packages, defaults filled in, columns by name.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_SCHEMA_MODEL_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_SCHEMA_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/schema_drift.h"

namespace cistern::replicate {

using TextMap = std::map<std::string, std::string>;

// Values as the protocol serialises them.
std::string TextMapBytes(const TextMap& entries);
std::string TextSetBytes(const std::vector<std::string>& texts);
std::string IntBytes(int32_t value);
std::string BigintBytes(int64_t value);

struct ModelColumn {
  std::string name;
  std::string kind = "regular";
  int32_t position = -1;
  std::string order = "none";
  std::string type;
};

struct ModelDropped {
  std::string name;
  std::string kind = "regular";
  std::string type;
  int64_t dropped_ms = 1'795'383'461'280;
};

struct ModelTable {
  std::vector<ModelColumn> columns;
  std::vector<ModelDropped> dropped;
  std::vector<std::string> flags = {"compound"};
  int32_t default_ttl_s = 0;
  int32_t gc_grace_s = 864'000;
  std::string comment;
  TextMap compaction = {
      {"class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"},
      {"max_threshold", "32"},
      {"min_threshold", "4"}};
  TextMap caching = {{"keys", "ALL"}, {"rows_per_partition", "NONE"}};
  TextMap compression = {{"chunk_length_in_kb", "16"},
                         {"class", "org.apache.cassandra.io.compress.LZ4Compressor"}};
  double bloom_filter_fp_chance = 0.01;
  int32_t min_index_interval = 128;
  std::optional<bool> cdc;
  std::string read_repair = "BLOCKING";

  ModelColumn* Find(std::string_view name);
};

struct ModelKeyspace {
  TextMap replication;
  bool durable_writes = true;
};

// A type as system_schema.types has it.
struct ModelType {
  std::string keyspace;
  std::string name;
  std::vector<std::string> field_names;
  std::vector<std::string> field_types;
};

struct ModelCluster {
  std::map<std::string, ModelKeyspace> keyspaces;
  std::map<std::pair<std::string, std::string>, ModelTable> tables;
  std::vector<std::pair<std::string, std::string>> views;
  std::vector<ModelType> types;  // of all keyspaces

  // Runs one CREATE KEYSPACE, CREATE TYPE, CREATE TABLE, ALTER TABLE ADD or ALTER TABLE WITH.
  // Whether it was understood and allowed.
  [[nodiscard]] bool Execute(const std::string& statement);
  [[nodiscard]] SchemaAnswers Answers(const std::string& keyspace, const std::string& table) const;
  // Answers, read. The test fails where they cannot be.
  [[nodiscard]] ClusterSchema Read(const std::string& keyspace, const std::string& table) const;
};

// The schema of a CREATE TABLE text. The test fails where there is none.
std::shared_ptr<const TableSchema> Declared(const std::string& cql);

// A cluster that has keyspace plant and in it the table of the text.
ModelCluster ClusterWith(const std::string& cql);

}  // namespace cistern::replicate

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_SCHEMA_MODEL_H_
