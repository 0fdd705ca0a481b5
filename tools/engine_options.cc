#include "tools/engine_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "cistern/limits.h"
#include "tools/size_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

// How one of them is declared and taken.
struct EngineOption {
  const char* name;
  unsigned group;
  std::string EngineTexts::*text;
  Status (*take)(std::string_view name, const std::string& text, EngineOptions* options);
  const char* help;
};

constexpr EngineOption kOptions[] = {
    {"--memory-budget", kMemoryOptions, &EngineTexts::memory_budget, TakeMemoryBudget,
     "Memory that the engine may take, for example 16MiB (default 64MiB)"},
    {"--disk-budget", kDiskOptions, &EngineTexts::disk_budget, TakeDiskBudget,
     "Bytes that the store may have on its disk, for example 2GiB (default: what the disk has)"},
    {"--disk-shed", kDiskOptions, &EngineTexts::disk_shed, TakeDiskShed,
     "Which windows go before their time where rows find no room: nothing, confirmed (default), "
     "or oldest: then the oldest of all"},
    {"--head-age", kHeadOptions, &EngineTexts::head_age, TakeHeadAge,
     "Rows are brought from the journal into files so long after the first of them came: 1h "
     "(default)"},
    {"--seal-grace", kSealOptions, &EngineTexts::seal_grace, TakeSealGrace,
     "A bucket is due so long after its end: 5m (default), 2h"},
    {"--seal-idle", kSealOptions, &EngineTexts::seal_idle, TakeSealIdle,
     "... if no row came to it for so long: 5m (default), 0s"},
    {"--seal-age", kSealOptions, &EngineTexts::seal_age, TakeSealAge,
     "Rows of a bucket that goes on are due so long after they were written: 1d (default: when "
     "their bucket is)"},
    {"--seal-rows", kSealOptions, &EngineTexts::seal_rows, TakeSealRows,
     "So many spilled rows of a bucket are due at once: 1000000 (default), 0: only time counts"},
    {"--seal-bytes", kSealOptions, &EngineTexts::seal_bytes, TakeSealBytes,
     "So many spilled bytes of a bucket are due at once: 16MiB (default), 0: only time counts"},
    {"--keep-confirmed", kKeepOptions, &EngineTexts::keep_confirmed, TakeKeepConfirmed,
     "Keep what upstream has confirmed so long after its window: 30d (default)"},
    {"--keep-unconfirmed", kKeepOptions, &EngineTexts::keep_unconfirmed, TakeKeepUnconfirmed,
     "Shed what upstream has not confirmed so long after its window: 36h, 400d"},
};

Status TakeSealDelay(std::string_view name, const std::string& text, int64_t* seconds) {
  CISTERN_ASSIGN_OR_RETURN(*seconds, ParseSpan(name, text, 0, limits::kSealDelaySecondsMax));
  return Status::Ok();
}

}  // namespace

void AddEngineOptions(CLI::App* command, unsigned groups, EngineTexts* texts) {
  for (const EngineOption& option : kOptions) {
    if ((option.group & groups) == 0) continue;
    command->add_option(option.name, texts->*option.text, option.help);
  }
}

Status TakeEngineTexts(const EngineTexts& texts, EngineOptions* options) {
  for (const EngineOption& option : kOptions) {
    const std::string& text = texts.*option.text;
    if (!text.empty()) CISTERN_RETURN_IF_ERROR(option.take(option.name, text, options));
  }
  return Status::Ok();
}

std::string GivenSealOption(const EngineTexts& texts) {
  for (const EngineOption& option : kOptions) {
    if (option.group == kSealOptions && !(texts.*option.text).empty()) return option.name;
  }
  return {};
}

EngineOptions OnlyAsAsked() {
  EngineOptions options;
  options.seal_when_due = false;
  options.keep_confirmed_s = limits::kKeepSecondsMax;
  options.disk_shed = DiskShed::kNothing;
  return options;
}

Status TakeMemoryBudget(std::string_view name, const std::string& text, EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(
      options->memory_budget_bytes,
      ParseSize(name, text, limits::kMemoryBudgetBytesMin, SIZE_MAX >> 1));
  return Status::Ok();
}

Status TakeDiskBudget(std::string_view name, const std::string& text, EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(options->disk_budget_bytes,
                           ParseSize(name, text, limits::kDiskBudgetBytesMin, INT64_MAX));
  return Status::Ok();
}

Status TakeDiskShed(std::string_view name, const std::string& text, EngineOptions* options) {
  for (const auto& [word, shed] :
       {std::pair("nothing", DiskShed::kNothing), std::pair("confirmed", DiskShed::kConfirmed),
        std::pair("oldest", DiskShed::kOldest)}) {
    if (text != word) continue;
    options->disk_shed = shed;
    return Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("{} '{}' is not one of nothing, confirmed, oldest", name, text));
}

Status TakeHeadAge(std::string_view name, const std::string& text, EngineOptions* options) {
  constexpr int64_t kMicrosPerSecond = 1'000'000;
  CISTERN_ASSIGN_OR_RETURN(
      const int64_t age_s, ParseSpan(name, text, 1, limits::kHeadAgeUsMax / kMicrosPerSecond));
  options->head_age_us_max = age_s * kMicrosPerSecond;
  return Status::Ok();
}

Status TakeSealGrace(std::string_view name, const std::string& text, EngineOptions* options) {
  return TakeSealDelay(name, text, &options->seal_grace_s);
}

Status TakeSealIdle(std::string_view name, const std::string& text, EngineOptions* options) {
  return TakeSealDelay(name, text, &options->seal_idle_s);
}

Status TakeSealAge(std::string_view name, const std::string& text, EngineOptions* options) {
  return TakeSealDelay(name, text, &options->seal_age_s_max);
}

Status TakeSealRows(std::string_view name, const std::string& text, EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(options->seal_rows_max, ParseCount(name, text, 0, INT64_MAX));
  return Status::Ok();
}

Status TakeSealBytes(std::string_view name, const std::string& text, EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(options->seal_bytes_max, ParseSize(name, text, 0, INT64_MAX));
  return Status::Ok();
}

Status TakeKeepConfirmed(std::string_view name, const std::string& text, EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(options->keep_confirmed_s,
                           ParseSpan(name, text, 0, limits::kKeepSecondsMax));
  return Status::Ok();
}

Status TakeKeepUnconfirmed(std::string_view name, const std::string& text,
                           EngineOptions* options) {
  CISTERN_ASSIGN_OR_RETURN(options->keep_unconfirmed_s,
                           ParseSpan(name, text, 1, limits::kKeepSecondsMax));
  return Status::Ok();
}

}  // namespace cistern::tool
