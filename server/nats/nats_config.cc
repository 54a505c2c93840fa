#include "server/nats/nats_config.h"

#include "base/limits.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/config_table.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint32_t kMostCallsAtOnce = 64;
constexpr uint32_t kMostWaiting = 100'000;
constexpr uint32_t kMostRepositories = 1'000'000;
constexpr uint64_t kMostRequestBytes = uint64_t{64} << 20U;
constexpr uint32_t kMostDrainMs = 600'000;
constexpr uint64_t kMostSecretBytes = uint64_t{64} << 10U;

void bounded(ConfigTable& table, std::string_view key, uint32_t& out, uint32_t most) {
  table.count(key, out);
  if (out >= 1 && out <= most) return;
  table.refuse(key, "must be between 1 and " + std::to_string(most));
}

void file_name(ConfigTable& table, std::string_view key, std::string& out) {
  table.text(key, out);
  if (!out.empty() && !out.starts_with('/')) table.refuse(key, "takes an absolute path");
}

void read_connection(ConfigTable& table, NatsConfig& config) {
  file_name(table, "credentials", config.credentials);
  table.text("nkey", config.nkey);
  file_name(table, "nkey_seed", config.nkey_seed);
  file_name(table, "ca", config.ca);
  file_name(table, "certificate", config.certificate);
  file_name(table, "key", config.key);
  if (config.nkey.empty() != config.nkey_seed.empty()) {
    table.refuse("nkey", "needs nkey_seed, and nkey_seed needs nkey");
  }
  if (config.certificate.empty() != config.key.empty()) {
    table.refuse("certificate", "needs key, and key needs certificate");
  }
}

void read_root(ConfigTable& root, NatsConfig& config) {
  root.text("agent", config.agent);
  root.text("group", config.group);
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (config.group.empty() || config.group.find_first_not_of(kPlain) != std::string::npos) {
    root.refuse("group", "takes letters, digits, `_` and `-`");
  }
  root.flag("jetstream", config.jetstream);
  file_name(root, "galley_toml", config.galley_toml);
  file_name(root, "secrets_file", config.secrets_file);
  root.choice("commit", config.commit,
              ConfigTable::Choices<CommitRule>{{"each call", CommitRule::kEachCall},
                                               {"session", CommitRule::kSession}});
  bounded(root, "calls_at_once", config.calls_at_once, kMostCallsAtOnce);
  bounded(root, "most_waiting", config.most_waiting, kMostWaiting);
  root.size("most_request_bytes", config.most_request_bytes);
  if (config.most_request_bytes > kMostRequestBytes) {
    root.refuse("most_request_bytes", "is at most 64 MiB");
  }
  file_name(root, "cache", config.cache);
  bounded(root, "most_repositories", config.most_repositories, kMostRepositories);
  root.texts("repositories", config.repositories);
  file_name(root, "validators", config.validators);
  bounded(root, "drain_ms", config.drain_ms, kMostDrainMs);
  read_telemetry(root, config.telemetry);
  root.table("connection", [&](ConfigTable& table) { read_connection(table, config); });
}

}  // namespace

Result<NatsConfig> read_nats_config(const std::string& path) {
  NatsConfig config;
  GALLEY_ASSIGN(const std::string text, read_unshared_file(path, limits::kMaxConfigBytes));
  GALLEY_TRY(read_configuration(text, path, [&](ConfigTable& root) { read_root(root, config); }));
  config.path = normalized_path(path);
  for (const std::string& file : {config.credentials, config.nkey_seed, config.key}) {
    if (!file.empty()) GALLEY_TRY(read_private_file(file, kMostSecretBytes));
  }
  return config;
}

Result<void> check_outside(const NatsConfig& config, std::string_view workspace) {
  std::vector<std::string> files = config.telemetry.places();
  files.insert(files.end(),
               {config.path, config.galley_toml, config.secrets_file, config.credentials,
                config.nkey_seed, config.ca, config.certificate, config.key});
  for (const std::string& file : files) {
    if (file.empty()) continue;
    const auto real = absolute_path(file);  // a file that is missing is refused when it is read
    if (!is_at_or_below(normalized_path(file), workspace) &&
        (!real || !is_at_or_below(*real, workspace))) {
      continue;
    }
    return fail(ErrorKind::kRefused, "nats.config_inside",
                "'" + file + "' is inside the workspace, where calls could read and change it: " +
                    "keep it elsewhere");
  }
  return {};
}

}  // namespace galley
