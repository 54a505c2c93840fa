#include "engine/pipeline/configuration_flaw.h"

#include "base/limits.h"
#include "engine/validators/factory.h"

namespace galley {

Config strict_defaults() {
  Config config;
  config.file = kConfigFileName;
  config.configuration_is_editable = true;  // with an approval, like everything else
  config.policy.default_decision = Decision::kAsk;
  config.policy.mode = SecurityMode::kStrict;
  AgentProfile& everybody = config.agents["*"];
  everybody.name = "*";
  everybody.has_capabilities = true;
  return config;
}

Result<void> check_validators(const Config& config, const Directory& root) {
  GALLEY_TRY(make_validators(config, root, nullptr, nullptr));
  return {};
}

Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  const Change* change = tree.change(path);
  if (change == nullptr || change->after.kind == FileKind::kAbsent) return std::optional<Error>();
  if (change->after.kind != FileKind::kRegular) {
    return std::optional(Error{ErrorKind::kInvalid, "config.not_a_file",
                               "galley.toml would not be a regular file", path.str(), 0});
  }
  if (change->after.size > limits::kMaxConfigBytes) {
    return std::optional(
        Error{ErrorKind::kInvalid, "limit.config_size",
              "galley.toml: larger than " + std::to_string(limits::kMaxConfigBytes) + " bytes",
              path.str(), 0});
  }
  GALLEY_ASSIGN(const Content content, tree.read(path));
  const auto config = parse_config(*content, kConfigFileName);
  if (!config) return std::optional(config.error());
  if (const auto made = check_validators(*config, tree.workspace()); !made) {
    return std::optional(made.error());
  }
  return std::optional<Error>();
}

}  // namespace galley
