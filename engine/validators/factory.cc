#include "engine/validators/factory.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "engine/validators/builtin.h"
#include "engine/validators/command_validator.h"
#include "engine/validators/new_findings.h"

namespace galley {
namespace {

class RuleValidator final : public FileValidator {
 public:
  RuleValidator(const ValidatorConfig& config, ValidatorCache* cache, const FileRule& rule)
      : FileValidator(config, cache, rule.options), rule_(&rule) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    return rule_->check(config(), file, sink);
  }

 private:
  const FileRule* rule_;
};

Result<ValidatorPtr> make_builtin(const ValidatorConfig& config, const Directory& workspace,
                                  ValidatorCache* cache) {
  if (config.builtin == "secrets") return make_secrets_validator(config, workspace, cache);
  if (config.builtin == "forbidden_text") return make_forbidden_text_validator(config, cache);
  if (config.builtin == "syntax") return make_syntax_validator(config, cache);
  if (config.builtin == "symlinks") return make_symlinks_validator(config);
  if (config.builtin == "case_collisions") return make_case_collisions_validator(config);
  for (const auto& rules : {document_rules(), text_rules()}) {
    for (const FileRule& rule : rules) {
      if (rule.name == config.builtin) return std::make_unique<RuleValidator>(config, cache, rule);
    }
  }
  return fail(ErrorKind::kInvalid, "config.value",
              fmt::format("there is no built-in validator `{}`", config.builtin));
}

/// All of `[sandbox]`, and the values of the variables that it passes on. Only its hash is kept.
std::string surroundings_of(const SandboxConfig& sandbox) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(sandbox.fallback),
                  sandbox.allows_network, sandbox.is_deterministic, sandbox.timeout_ms,
                  sandbox.max_memory_bytes, sandbox.max_processes, sandbox.max_file_bytes,
                  sandbox.max_written_bytes, sandbox.max_output_bytes, sandbox.max_cpu_seconds,
                  sandbox.max_open_files);
  const auto add = [&](std::string_view word) { text += fmt::format(" {}:{}", word.size(), word); };
  for (const auto* list : {&sandbox.allow, &sandbox.deny, &sandbox.readable}) {
    add(std::to_string(list->size()));
    for (const std::string& one : *list) add(one);
  }
  for (const std::string& name : sandbox.environment) {
    const char* const value = std::getenv(name.c_str());
    add(name);
    add(value == nullptr ? "unset" : std::string("=") + value);
  }
  return text;
}

}  // namespace

Result<std::vector<std::unique_ptr<Validator>>> make_validators(const Config& config,
                                                                const Directory& workspace,
                                                                CommandRunner* runner,
                                                                ValidatorCache* cache) {
  std::vector<std::unique_ptr<Validator>> validators;
  const CommandValidatorParts parts{runner, cache, surroundings_of(config.sandbox)};
  for (const ValidatorConfig& one : config.validators) {
    auto made = one.builtin.empty() ? make_command_validator(one, parts)
                                    : make_builtin(one, workspace, cache);
    if (!made) {
      Error error = made.error();
      error.message =
          fmt::format("{}:{}: validator `{}`: {}", config.file, one.line, one.name, error.message);
      return fail(std::move(error));
    }
    const bool compares = one.only_new && !one.builtin.empty();
    validators.push_back(compares ? make_new_findings_validator(std::move(*made))
                                  : std::move(*made));
  }
  return validators;
}

}  // namespace galley
