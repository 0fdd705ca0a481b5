#include "tools/contact_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cistern/clock.h"
#include "engine/cluster_access.h"
#include "tools/name_list.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr char kCredentialName[] = "cistern-password";
constexpr int64_t kConnectTimeoutS = 10;
constexpr int64_t kConnectTimeoutSMax = 3600;

// What a person calls them.
constexpr AccessNames kNames = {
    .contacts = "--contact",
    .connect_timeout = "--connect-timeout",
    .user = "--user",
    .password_file = "--password-file",
    .password = "--password-file",
    .other_password = "let the service manager give it as the credential cistern-password",
    .allow_cleartext_password = "--allow-cleartext-password",
    .tls = "--tls",
    .ca_file = "--ca",
    .certificate_file = "--client-cert",
    .key_file = "--client-key",
    .protocol = "--protocol",
    .compression = "--compression",
};

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

// Where secrets are: the directory that was given, or the service manager's; empty: neither.
std::string CredentialsDirOf(const ContactOptions& options) {
  if (!options.credentials_dir.empty()) return options.credentials_dir;
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory == nullptr ? std::string() : directory;
}

// The path of the secret of this name. Empty stays empty.
std::string SecretPath(const ContactOptions& options, const std::string& name) {
  const std::string directory = CredentialsDirOf(options);
  const bool is_path = name.empty() || name.front() == '/' || directory.empty();
  return is_path ? name : fmt::format("{}/{}", directory, name);
}

// Whose name was given, or that of the credential; empty: neither.
std::string PasswordFileOf(const ContactOptions& options) {
  if (!options.password_file.empty()) return SecretPath(options, options.password_file);
  const std::string path = SecretPath(options, kCredentialName);
  return path == kCredentialName ? std::string() : path;
}

// The texts, and where the secrets are.
Result<ClusterAccess> AccessOf(const ContactOptions& options) {
  if (options.user.empty() && options.client_key.empty() && !options.credentials_dir.empty()) {
    return Wrong("--credentials-dir goes with --user or --client-key; leave it out");
  }
  ClusterAccess access;
  for (const std::string& list : options.contacts) {
    for (std::string& text : SplitNames(list)) access.contacts.push_back(std::move(text));
  }
  access.local_dc = options.local_dc;
  access.user = options.user;
  access.password_file = options.user.empty() ? options.password_file : PasswordFileOf(options);
  access.allow_cleartext_password = options.allow_cleartext_password.value_or(false);
  access.tls = options.tls.value_or(false);
  access.ca_file = options.ca;
  access.certificate_file = options.client_cert;
  access.key_file = SecretPath(options, options.client_key);
  if (!options.protocol.empty()) {
    CISTERN_ASSIGN_OR_RETURN(access.protocol, ParseProtocol(kNames.protocol, options.protocol));
  }
  if (!options.compression.empty()) {
    CISTERN_ASSIGN_OR_RETURN(access.compression,
                             ParseCompression(kNames.compression, options.compression));
  }
  return access;
}

}  // namespace

void AddTruth(CLI::App* command, const std::string& name, std::function<void(bool)> take,
              const std::string& what) {
  command
      ->add_flag_function(
          name, [take = std::move(take)](int64_t count) { take(count > 0); }, what)
      ->check([](const std::string& value) {
        return value == "true" || value == "false"
                   ? std::string()
                   : fmt::format("'{}' is neither true nor false", value);
      });
}

void AddContactOptions(CLI::App* command, ContactOptions* options) {
  command->add_option("--contact", options->contacts,
                      "HOST[:PORT] of a node of the cluster, 9042 unless said; repeatable, or "
                      "several with commas between. An IPv6 address stands in brackets")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--user", options->user, "Name to log in with");
  command->add_option("--password-file", options->password_file,
                      "File whose first line is the password; without it cistern-password in "
                      "the directory of credentials");
  command->add_option("--credentials-dir", options->credentials_dir,
                      "Directory in which relative names of --password-file and --client-key "
                      "are; $CREDENTIALS_DIRECTORY otherwise, if that is set");
  const auto add_truth = [command](const char* name, std::optional<bool>* truth,
                                   const char* what) {
    AddTruth(command, name, [truth](bool is_true) { *truth = is_true; }, what);
  };
  add_truth("--tls", &options->tls, "Over TLS; the server's certificate must name the host");
  command->add_option("--ca", options->ca,
                      "PEM file of the authorities to trust; the system's otherwise");
  command->add_option("--client-cert", options->client_cert, "PEM file of our own certificate");
  command->add_option("--client-key", options->client_key, "PEM file of its key");
  add_truth("--allow-cleartext-password", &options->allow_cleartext_password,
            "Send the password without TLS");
  command->add_option("--local-dc", options->local_dc,
                      "Data center whose nodes are asked; that of the first one that answers "
                      "otherwise");
  command->add_option("--connect-timeout", options->connect_timeout,
                      "How long to wait for a node that answers: 10s (default), 5m");
  command->add_option("--protocol", options->protocol,
                      "v5 or v4: this version of the native protocol alone; v5 otherwise, and v4 "
                      "with nodes that have no v5");
  command->add_option("--compression", options->compression,
                      "lz4 (default), where a node has it, or none");
}

void AddConsistencyOption(CLI::App* command, std::string* text) {
  command->add_option("--consistency", *text,
                      "Replicas that must confirm: ONE, LOCAL_QUORUM (default), QUORUM, ALL, ...");
}

Result<ContactPlan> PlanContact(const ContactOptions& options) {
  int64_t timeout_s = kConnectTimeoutS;
  if (!options.connect_timeout.empty()) {
    CISTERN_ASSIGN_OR_RETURN(timeout_s,
                             ParseConnectTimeout(kNames.connect_timeout, options.connect_timeout));
  }
  CISTERN_ASSIGN_OR_RETURN(ClusterAccess access, AccessOf(options));
  const auto plan = std::make_unique<ContactPlan>();
  plan->connect_timeout_us = timeout_s * 1'000'000;
  access.connect_timeout_us = std::min(access.connect_timeout_us, plan->connect_timeout_us);
  CISTERN_ASSIGN_OR_RETURN(AccessPlan planned, PlanAccess(access, kNames, SystemClock().get()));
  plan->session = std::move(planned.session);
  plan->warnings = std::move(planned.warnings);
  return std::move(*plan);
}

Result<int64_t> ParseConnectTimeout(std::string_view option, std::string_view text) {
  return ParseSpan(option, text, 1, kConnectTimeoutSMax);
}

Result<ClusterProtocol> ParseProtocol(std::string_view option, std::string_view text) {
  if (text == "v5") return ClusterProtocol::kV5;
  if (text == "v4") return ClusterProtocol::kV4;
  return Wrong(fmt::format("{} '{}' is not one of v5, v4", option, text));
}

Result<ClusterCompression> ParseCompression(std::string_view option, std::string_view text) {
  if (text == "lz4") return ClusterCompression::kLz4;
  if (text == "none") return ClusterCompression::kNone;
  return Wrong(fmt::format("{} '{}' is not one of lz4, none", option, text));
}

Result<Consistency> ParseConsistency(std::string_view option, std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  std::string known;
  for (const auto& [word, level] :
       {std::pair("ANY", Consistency::kAny), std::pair("ONE", Consistency::kOne),
        std::pair("TWO", Consistency::kTwo), std::pair("THREE", Consistency::kThree),
        std::pair("LOCAL_ONE", Consistency::kLocalOne),
        std::pair("LOCAL_QUORUM", Consistency::kLocalQuorum),
        std::pair("QUORUM", Consistency::kQuorum),
        std::pair("EACH_QUORUM", Consistency::kEachQuorum),
        std::pair("ALL", Consistency::kAll)}) {
    if (name == word) return level;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return Wrong(fmt::format("{} '{}' is not one of {}", option, text, known));
}

}  // namespace cistern::tool
