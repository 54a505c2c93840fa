#include "engine/validators/factory.h"

#include <fmt/core.h>

#include <utility>

#include "engine/validators/builtin.h"
#include "engine/validators/command_validator.h"
#include "engine/validators/new_findings.h"

namespace galley {
namespace {

using Maker = ValidatorPtr (*)(const ValidatorConfig&, ValidatorCache*);

constexpr std::pair<std::string_view, Maker> kMakers[] = {
    {"conflict_markers", make_conflict_markers_validator},
    {"json", make_json_validator},
    {"last_newline", make_last_newline_validator},
    {"line_endings", make_line_endings_validator},
    {"shebang", make_shebang_validator},
    {"size", make_size_validator},
    {"syntax", make_syntax_validator},
    {"toml", make_toml_validator},
    {"utf8", make_utf8_validator},
    {"whitespace", make_whitespace_validator},
    {"xml", make_xml_validator},
    {"yaml", make_yaml_validator},
};

Result<ValidatorPtr> make_builtin(const ValidatorConfig& config, const Directory& workspace,
                                  ValidatorCache* cache) {
  if (config.builtin == "secrets") return make_secrets_validator(config, workspace, cache);
  if (config.builtin == "forbidden_text") return make_forbidden_text_validator(config, cache);
  if (config.builtin == "symlinks") return make_symlinks_validator(config);
  if (config.builtin == "case_collisions") return make_case_collisions_validator(config);
  for (const auto& [name, make] : kMakers) {
    if (name == config.builtin) return make(config, cache);
  }
  return fail(ErrorKind::kInvalid, "config.value",
              fmt::format("there is no built-in validator `{}`", config.builtin));
}

}  // namespace

Result<std::vector<std::unique_ptr<Validator>>> make_validators(const Config& config,
                                                                const Directory& workspace,
                                                                CommandRunner* runner,
                                                                ValidatorCache* cache) {
  std::vector<std::unique_ptr<Validator>> validators;
  for (const ValidatorConfig& one : config.validators) {
    auto made = one.builtin.empty() ? make_command_validator(one, {runner, cache})
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
