// The options of cistern sync: how they are declared, and what they come to.
#ifndef CISTERN_TOOLS_SYNC_OPTIONS_H_
#define CISTERN_TOOLS_SYNC_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cistern/options.h"
#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "tools/contact_options.h"
#include "tools/engine_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// As the command line or a file has them; an empty text: not given.
struct SyncOptions {
  // --- of the command line alone
  std::string config;  // the file
  bool follow = false;
  bool quiet = false;
  bool json = false;
  bool check = false;  // the options and the file alone

  // --- settings
  std::string store;
  ContactOptions contact;
  std::string keyspace;
  bool is_keyspace_of_file = false;  // which may be there for tables to come
  std::string consistency;
  std::string drain;
  std::string live_span;
  std::string live_percent;
  std::string bandwidth;
  std::string in_flight;
  std::string hold;
  std::string proof;
  std::vector<std::string> accept_hidden;
  std::string batch_rows;
  std::string batch_bytes;
  std::string away_after;
  std::string seal;  // "true", "false"
  EngineTexts engine;
};

// What they come to.
struct SyncPlan {
  std::string store;
  ContactPlan contact;
  ReplicationOptions replication;
  EngineOptions engine;
  int64_t away_after_us = 30'000'000;
  bool seal = true;
};

// One that a file may have as well as the command line.
struct SyncSetting {
  enum class Form : uint8_t {
    kText,
    kSpan,      // a text: a whole number with a unit of time
    kSize,      // a text with a unit, or a whole number of bytes
    kRate,      // a text: a size with /s
    kCount,     // a whole number
    kTruth,     // true or false
    kTexts,     // a text, or a list of texts
  };
  using Target = std::variant<std::string*, std::vector<std::string>*,
                              std::optional<bool>*>;

  std::string_view key;  // in a file; the option is --key, with dashes
  Form form;
  Target (*target)(SyncOptions* options);
  // Checks a text of it and takes it into the plan. kInvalidArgument, which begins with `name`.
  // Null: nothing can be said of it alone.
  Status (*take)(std::string_view name, const std::string& text, SyncPlan* plan);
};
[[nodiscard]] std::span<const SyncSetting> SyncSettings();
// What is wrong with --keyspace where every table says its own.
inline constexpr char kKeyspaceUnused[] =
    "--keyspace is for tables that were declared without one, and here none is; leave it out";

// "--live-span" of "live_span".
[[nodiscard]] std::string OptionOf(std::string_view key);

// Adds all of them.
void AddSyncOptions(CLI::App* command, SyncOptions* options);

// An option that would do nothing beside the others, or cannot be beside them.
struct SyncMisfit {
  std::string_view key;  // as a file calls it; the option is --key, with dashes
  std::string why;       // begins with the option
};
// Of options that came from one place; nothing: none is.
[[nodiscard]] std::optional<SyncMisfit> FindMisfit(const SyncOptions& options);

// kInvalidArgument if neither place names a store.
[[nodiscard]] Status CheckStore(const SyncOptions& options);
// The same, or a cluster.
[[nodiscard]] Status CheckPlaces(const SyncOptions& options);

// What the command line says, and of the rest what the file says.
[[nodiscard]] SyncOptions Overlaid(SyncOptions command_line, SyncOptions file);

// kInvalidArgument for what can be told to be wrong before anything is opened or sent.
[[nodiscard]] Result<SyncPlan> PlanSync(const SyncOptions& options);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_OPTIONS_H_
