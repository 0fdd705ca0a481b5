#include "tools/sync_config.h"

// What is wrong with a text is told, not thrown.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/base/nearest_name.h"

namespace cistern::tool {
namespace {

using Form = SyncSetting::Form;

constexpr size_t kFileBytesMax = 64 * 1024;

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

std::string_view AllowedText(Form form) {
  switch (form) {
    case Form::kText: return "a text in quotes";
    case Form::kSpan: return "a text in quotes with its unit, such as \"90s\"";
    case Form::kRate: return "a text in quotes with its unit, such as \"256KiB/s\"";
    case Form::kSize: return "a text in quotes, or a whole number";
    case Form::kCount: return "a whole number";
    case Form::kTruth: return "true or false";
    case Form::kTexts: return "a text in quotes, or a list of such";
  }
  return "a text in quotes";
}

std::string_view KindText(toml::node_type type) {
  switch (type) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a time";
  }
}

// One key of the file with its value.
class Entry {
 public:
  Entry(std::string_view file, std::string_view key, const toml::node& value, uint32_t line)
      : name_(fmt::format("{}:{}: {}", file, line, key)), key_(key), value_(value) {}

  // Into the options. `plan` takes what is checked, and is not looked at.
  [[nodiscard]] Status Take(SyncOptions* options, SyncPlan* plan) const {
    const auto settings = SyncSettings();
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [this](const SyncSetting& one) { return one.key == key_; });
    if (found == settings.end()) return Unknown();
    const SyncSetting::Target target = found->target(options);
    if (found->form == Form::kTruth) return TakeTruth(*found, target, plan);
    CISTERN_ASSIGN_OR_RETURN(std::vector<std::string> texts, Texts(found->form));
    for (const std::string& text : texts) {
      CISTERN_RETURN_IF_ERROR(CheckText(text));
      if (found->take != nullptr) CISTERN_RETURN_IF_ERROR(found->take(name_, text, plan));
    }
    if (found->form == Form::kTexts) {
      *std::get<std::vector<std::string>*>(target) = std::move(texts);
    } else {
      *std::get<std::string*>(target) = std::move(texts.front());
    }
    return Status::Ok();
  }

 private:
  [[nodiscard]] Status Unknown() const {
    if (key_ == "password") {
      return Wrong(name_ + " is not taken from here, where others may read it: put it alone into a "
                           "file of mode 600 and name that by password_file");
    }
    constexpr std::string_view kOfCommandLine[] = {"check", "config", "follow", "json", "quiet"};
    if (std::ranges::find(kOfCommandLine, key_) != std::end(kOfCommandLine)) {
      return Wrong(fmt::format("{} is no setting: --{} is of the command line alone", name_, key_));
    }
    std::vector<std::string> known;
    std::string all;
    for (const SyncSetting& setting : SyncSettings()) {
      known.emplace_back(setting.key);
      all += fmt::format("{}{}", all.empty() ? "" : ", ", setting.key);
    }
    const std::string nearest = NearestName(key_, known);
    return Wrong(nearest.empty()
                     ? fmt::format("{} is no setting; there are {}", name_, all)
                     : fmt::format("{} is no setting; did you mean {}?", name_, nearest));
  }

  [[nodiscard]] Status WrongKind(Form form, const toml::node& value) const {
    return Wrong(
        fmt::format("{} is {}, not {}", name_, AllowedText(form), KindText(value.type())));
  }

  [[nodiscard]] Status TakeTruth(const SyncSetting& setting, const SyncSetting::Target& target,
                                 SyncPlan* plan) const {
    const auto* truth = value_.as_boolean();
    if (truth == nullptr) return WrongKind(setting.form, value_);
    if (std::optional<bool>* const* flag = std::get_if<std::optional<bool>*>(&target)) {
      **flag = truth->get();
      return Status::Ok();
    }
    std::string* const text = std::get<std::string*>(target);
    *text = truth->get() ? "true" : "false";
    return setting.take(name_, *text, plan);
  }

  [[nodiscard]] Result<std::vector<std::string>> Texts(Form form) const {
    const auto* list = value_.as_array();
    if (form != Form::kTexts || list == nullptr) {
      CISTERN_ASSIGN_OR_RETURN(std::string text, Text(form, value_));
      return std::vector{std::move(text)};
    }
    std::vector<std::string> texts;
    for (const toml::node& one : *list) {
      CISTERN_ASSIGN_OR_RETURN(std::string text, Text(form, one));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  // As the command line would have it.
  [[nodiscard]] Result<std::string> Text(Form form, const toml::node& value) const {
    const auto* text = value.as_string();
    const auto* number = value.as_integer();
    if (text != nullptr && form != Form::kCount) return text->get();
    const bool takes_number = form == Form::kSize || form == Form::kCount;
    if (number != nullptr && takes_number) return fmt::format("{}", number->get());
    return WrongKind(form, value);
  }

  [[nodiscard]] Status CheckText(const std::string& text) const {
    if (text.empty()) return Wrong(name_ + " is empty; leave it out");
    const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    return has_control ? Wrong(name_ + " has a control character in it") : Status::Ok();
  }

  const std::string name_;  // "sync.toml:3: hold"
  const std::string key_;
  const toml::node& value_;
};

// The key of this line of the text, counted from 1; empty: it has none.
std::string_view KeyOf(std::string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line && !text.empty(); ++i) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, std::min(text.find('\n'), text.find('=')));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// What a person has to know of the line that is no TOML, beside what is wrong with it.
std::string AdviceOn(std::string_view text, uint32_t line) {
  const std::string_view key = KeyOf(text, line);
  for (const SyncSetting& setting : SyncSettings()) {
    if (setting.key != key) continue;
    for (uint32_t before = 1; before < line; ++before) {
      if (KeyOf(text, before) == key) return "the key is given twice: ";
    }
    return fmt::format("{} is {}: ", setting.key, AllowedText(setting.form));
  }
  return {};
}

// Options as the file calls them.
std::string WithKeys(std::string words) {
  for (const SyncSetting& setting : SyncSettings()) {
    const std::string option = OptionOf(setting.key) + " ";
    for (size_t at = 0; (at = words.find(option, at)) != std::string::npos;) {
      words.replace(at, option.size(), std::string(setting.key) + " ");
    }
  }
  return words;
}

}  // namespace

Result<SyncOptions> ParseSyncConfig(std::string_view text, std::string_view name) {
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const uint32_t line = error.source().begin.line;
    return Wrong(
        fmt::format("{}:{}: {}{}", name, line, AdviceOn(text, line), error.description()));
  }
  // The keys of a table are sorted; a person goes by the lines.
  std::vector<std::tuple<uint32_t, std::string_view, const toml::node*>> lines;
  for (const auto& [key, value] : parsed.table()) {
    lines.emplace_back(key.source().begin.line, key.str(), &value);
  }
  std::sort(lines.begin(), lines.end());
  SyncOptions options;
  SyncPlan unused;
  for (const auto& [line, key, value] : lines) {
    CISTERN_RETURN_IF_ERROR(Entry(name, key, *value, line).Take(&options, &unused));
  }
  if (const auto misfit = FindMisfit(options)) {
    const auto found = std::find_if(lines.begin(), lines.end(), [&misfit](const auto& one) {
      return std::get<1>(one) == misfit->key;
    });
    const uint32_t line = found == lines.end() ? 1 : std::get<0>(*found);
    return Wrong(fmt::format("{}:{}: {}", name, line, WithKeys(misfit->why)));
  }
  return options;
}

Result<SyncOptions> ReadSyncConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return Wrong(fmt::format("--config '{}' cannot be read: {}", path, std::strerror(errno)));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return Wrong(fmt::format("--config '{}' is longer than {} bytes: it is another file", path,
                             kFileBytesMax));
  }
  return ParseSyncConfig(text, path);
}

}  // namespace cistern::tool
