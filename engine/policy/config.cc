#include "engine/policy/config.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/tool_profile_names.h"
#include "engine/policy/config_table.h"
#include "engine/policy/owners.h"
#include "engine/policy/readable_folders.h"
#include "engine/policy/security_mode.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr size_t kMaxValidators = 256;

const ConfigTable::Choices<Decision> kDecisions = {
    {"allow", Decision::kAllow}, {"ask", Decision::kAsk}, {"deny", Decision::kDeny}};

// In the order of the enumeration.
const ConfigTable::Choices<OutputParser> kParsers = {{"none", OutputParser::kNone},
                                                     {"gcc", OutputParser::kGcc},
                                                     {"regex", OutputParser::kRegex},
                                                     {"sarif", OutputParser::kSarif},
                                                     {"junit", OutputParser::kJunit},
                                                     {"clang", OutputParser::kClang},
                                                     {"python", OutputParser::kPython},
                                                     {"pytest", OutputParser::kPytest},
                                                     {"ruff", OutputParser::kRuff},
                                                     {"mypy", OutputParser::kMypy},
                                                     {"eslint", OutputParser::kEslint},
                                                     {"tsc", OutputParser::kTsc},
                                                     {"go", OutputParser::kGo},
                                                     {"cargo", OutputParser::kCargo},
                                                     {"rustc", OutputParser::kRustc},
                                                     {"javac", OutputParser::kJavac},
                                                     {"shellcheck", OutputParser::kShellcheck}};

const ConfigTable::Choices<PathOperation> kOperations = {{"create", PathOperation::kCreate},
                                                         {"modify", PathOperation::kModify},
                                                         {"delete", PathOperation::kDelete}};

void read_rule(ConfigTable& table, const std::string& file, PathRule& rule) {
  rule.line = table.line();
  rule.name = fmt::format("rule at {}:{}", file, rule.line);
  if (table.is_dry()) rule.name = "rule at FILE:LINE";
  rule.has_name = table.has("name");
  table.text("name", rule.name);
  table.require("paths", "[\"src/generated/\"]");
  table.globs("paths", rule.paths);
  table.texts("agents", rule.agents);
  table.choices("operations", rule.operations, kOperations);
  table.require("decision", "\"deny\"");
  table.choice("decision", rule.decision, kDecisions);
  table.text("reason", rule.reason);
}

template <class T>
void with_line(ConfigTable& table, std::string_view key, EffectRule<T>& rule) {
  rule.line = table.line_of(key);
}

void read_effects(ConfigTable& table, EffectRules& effects) {
  table.count("max_files", effects.max_files.value);
  with_line(table, "max_files", effects.max_files);
  table.size("max_changed_bytes", effects.max_changed_bytes.value);
  with_line(table, "max_changed_bytes", effects.max_changed_bytes);
  table.count("max_deletes", effects.max_deletes.value);
  with_line(table, "max_deletes", effects.max_deletes);
  table.size("max_deleted_bytes", effects.max_deleted_bytes.value);
  with_line(table, "max_deleted_bytes", effects.max_deleted_bytes);
  table.choice("over_limit", effects.over_limit, kDecisions);
  const std::pair<std::string_view, EffectRule<Decision>*> decisions[] = {
      {"executable_bit", &effects.executable_bit},
      {"owners", &effects.owners},
      {"symlinks", &effects.symlinks},
      {"type_changes", &effects.type_changes},
      {"binaries", &effects.binaries},
      {"submodules", &effects.submodules},
      {"case_collisions", &effects.case_collisions},
      {"git_directories", &effects.git_directories}};
  for (const auto& [key, rule] : decisions) {
    table.choice(key, rule->value, kDecisions);
    with_line(table, key, *rule);
  }
}

void read_policy(ConfigTable& table, const std::string& file, PolicyConfig& policy) {
  ConfigTable::Choices<SecurityMode> modes;
  for (const ModeRow& row : kModeTable) modes.emplace_back(row.name, row.mode);
  table.choice("mode", policy.mode, modes);
  table.choice("default", policy.default_decision, kDecisions);
  policy.default_line = table.line_of("default");
  table.globs("protected", policy.protected_paths);
  policy.protected_line = table.line_of("protected");
  table.tables("rule",
               [&](ConfigTable& inner) { read_rule(inner, file, policy.rules.emplace_back()); });
  table.table("effects", [&](ConfigTable& inner) { read_effects(inner, policy.effects); });
}

void read_agent(std::string_view name, ConfigTable& table, AgentProfile& profile) {
  profile.name = name;
  profile.line = table.line();
  std::vector<std::string> texts;
  table.texts("capabilities", texts);
  profile.has_capabilities = table.has("capabilities");
  auto capabilities = parse_capabilities(texts);
  if (!capabilities) return table.refuse("capabilities", "holds a " + capabilities.error().message);
  profile.capabilities = *std::move(capabilities);
  table.texts("tools", profile.tools);
  table.text("profile", profile.tool_profile);
  const auto& names = kToolProfileNames;
  const bool is_known = std::find(names.begin(), names.end(), profile.tool_profile) != names.end();
  if (is_known || profile.tool_profile.empty()) return;
  const std::vector<std::string> all(names.begin(), names.end());
  table.refuse("profile",
               fmt::format("cannot be \"{}\"; it takes {}{}", profile.tool_profile,
                           fmt::join(all, ", "), did_you_mean(profile.tool_profile, all)));
}

void read_limits(ConfigTable& table, LimitsConfig& limits) {
  table.size("max_file_bytes", limits.max_file_bytes);
  table.size("max_patch_bytes", limits.max_patch_bytes);
}

void read_builtin_keys(ConfigTable& table, ValidatorConfig& validator) {
  table.text("builtin", validator.builtin);
  table.size("max_bytes", validator.max_bytes);
  table.choice("style", validator.style,
               ConfigTable::Choices<std::string>{{"keep", "keep"}, {"lf", "lf"}, {"crlf", "crlf"}});
  table.texts("patterns", validator.patterns);
  table.text("rules_file", validator.rules_file);
  table.flag("allow_comments", validator.allow_comments);
}

void read_command_keys(ConfigTable& table, ValidatorConfig& validator) {
  table.texts("command", validator.command);
  table.flag("per_file", validator.is_per_file);
  table.count("timeout_ms", validator.timeout_ms);
  table.size("max_output_bytes", validator.max_output_bytes);
  table.choice("parser", validator.parser, kParsers);
  table.text("parser_regex", validator.parser_regex);
  table.text("parser_file", validator.parser_file);
  table.flag("only_new", validator.only_new);
  table.flag("fix", validator.fix);
  table.numbers("ok_exit", validator.ok_exit);
  table.numbers("findings_exit", validator.findings_exit);
  table.texts("keep", validator.keep);
  table.texts("inputs", validator.inputs);
  table.flag("cache", validator.is_cached);
  table.flag("network", validator.allows_network);
  table.text_map("environment", validator.environment);
}

/// Keys that the chosen kind of validator would silently ignore.
void check_kind(ConfigTable& table, const ValidatorConfig& validator) {
  static constexpr std::string_view kCommandKeys[] = {
      "per_file",    "timeout_ms", "max_output_bytes", "parser",        "parser_regex", "only_new",
      "parser_file", "fix",        "ok_exit",          "findings_exit", "keep",         "inputs",
      "cache",       "network",    "environment"};
  static constexpr std::pair<std::string_view, std::string_view> kBuiltinKeys[] = {
      {"max_bytes", "size"},
      {"style", "line_endings"},
      {"patterns", "forbidden_text"},
      {"rules_file", "secrets"},
      {"allow_comments", "json"}};
  for (const auto& [key, builtin] : kBuiltinKeys) {
    if (validator.builtin == builtin || !table.has(key)) continue;
    return table.refuse(std::string(key),
                        fmt::format("is only for the built-in validator `{}`", builtin));
  }
  if (validator.builtin.empty()) return;
  for (const auto key : kCommandKeys) {
    if (table.has(key)) return table.refuse(key, "is for command validators only");
  }
}

void check_paths_of(ConfigTable& table, const ValidatorConfig& validator) {
  for (const auto& path : validator.keep) {
    if (!RelPath::parse(path)) return table.refuse("keep", "takes workspace-relative directories");
  }
  if (!validator.parser_file.empty() && !RelPath::parse(validator.parser_file)) {
    return table.refuse("parser_file", "must be a workspace-relative path");
  }
  if (!validator.rules_file.empty() && !RelPath::parse(validator.rules_file)) {
    return table.refuse("rules_file", "must be a workspace-relative path");
  }
  if (auto inputs = GlobList::parse(validator.inputs); !inputs) {
    return table.refuse("inputs", "holds a " + inputs.error().message);
  }
}

void check_validator(ConfigTable& table, const ValidatorConfig& validator) {
  if (validator.builtin.empty() == validator.command.empty()) {
    return table.refuse("builtin", "or `command` is needed, and not both");
  }
  const auto& names = builtin_validator_names();
  if (!validator.builtin.empty() &&
      std::find(names.begin(), names.end(), validator.builtin) == names.end()) {
    return table.refuse(
        "builtin", fmt::format("cannot be \"{}\"; it takes {}{}", validator.builtin, join(names),
                               did_you_mean(validator.builtin, names)));
  }
  check_kind(table, validator);
  if (validator.parser == OutputParser::kRegex && validator.parser_regex.empty()) {
    return table.refuse("parser", "\"regex\" needs `parser_regex`");
  }
  if (!validator.parser_regex.empty() && validator.parser != OutputParser::kRegex) {
    return table.refuse("parser_regex", "needs parser = \"regex\"");
  }
  if (!validator.parser_file.empty() && !table.has("parser")) {
    return table.refuse("parser_file", "needs `parser`");
  }
  if (validator.timeout_ms == 0) return table.refuse("timeout_ms", "must be at least 1");
  check_paths_of(table, validator);
}

void read_validator(ConfigTable& table, ValidatorConfig& validator) {
  validator.line = table.line();
  table.text("name", validator.name);
  table.globs("paths", validator.paths);
  validator.has_paths = table.has("paths");
  table.texts("agents", validator.agents);
  table.choice(
      "severity", validator.severity,
      ConfigTable::Choices<Severity>{
          {"error", Severity::kError}, {"warning", Severity::kWarning}, {"note", Severity::kNote}});
  read_builtin_keys(table, validator);
  read_command_keys(table, validator);
  if (table.is_dry() || table.has_failed()) return;
  check_validator(table, validator);
  if (table.has_failed()) return;
  if (validator.name.empty()) {
    validator.name = validator.builtin.empty() ? validator.command.front() : validator.builtin;
  }
}

void read_findings(ConfigTable& table, FindingsConfig& findings) {
  table.text("baseline", findings.baseline);
  if (!findings.baseline.empty() && !RelPath::parse(findings.baseline)) {
    return table.refuse("baseline", "must be a workspace-relative path");
  }
  table.choice("added_suppressions", findings.added_suppressions, kDecisions);
  table.flag("suppress_secrets", findings.suppress_secrets);
}

void read_owners(ConfigTable& table, OwnersConfig& owners) {
  table.flag("required", owners.is_required);
  table.text("file", owners.file);
  if (!owners.file.empty() && !RelPath::parse(owners.file)) {
    return table.refuse("file", "must be a workspace-relative path");
  }
  table.texts("lines", owners.lines);
  if (const auto parsed = Owners::parse(owners.lines); !parsed) {
    table.refuse("lines", "holds a " + parsed.error().message);
  }
}

void read_history(ConfigTable& table, HistoryConfig& history) {
  table.count("keep_transactions", history.keep_transactions);
  table.count("keep_days", history.keep_days);
  table.size("keep_bytes", history.keep_bytes);
}

void read_commit(ConfigTable& table, CommitConfig& commit) {
  table.choice(
      "durability", commit.durability,
      ConfigTable::Choices<Durability>{
          {"full", Durability::kFull}, {"group", Durability::kGroup}, {"none", Durability::kNone}});
  table.choice("isolation", commit.isolation,
               ConfigTable::Choices<Isolation>{{"snapshot", Isolation::kSnapshot},
                                               {"serializable", Isolation::kSerializable}});
  table.choice("hard_links", commit.hard_links,
               ConfigTable::Choices<HardLinks>{{"break", HardLinks::kBreak},
                                               {"refuse", HardLinks::kRefuse}});
  table.choice("on_conflict", commit.on_conflict,
               ConfigTable::Choices<OnConflict>{{"refuse", OnConflict::kRefuse},
                                                {"merge", OnConflict::kMerge}});
  table.count("lock_timeout_ms", commit.lock_timeout_ms);
  table.texts("before_apply", commit.before_apply);
  table.texts("after_apply", commit.after_apply);
}

void read_sandbox(ConfigTable& table, SandboxConfig& sandbox) {
  table.choice("fallback", sandbox.fallback,
               ConfigTable::Choices<SandboxFallback>{{"refuse", SandboxFallback::kRefuse},
                                                     {"copy", SandboxFallback::kCopy}});
  table.flag("network", sandbox.allows_network);
  table.flag("propose_ignored", sandbox.propose_ignored);
  table.flag("deterministic", sandbox.is_deterministic);
  table.count("timeout_ms", sandbox.timeout_ms);
  table.count("grace_ms", sandbox.grace_ms);
  table.size("max_memory_bytes", sandbox.max_memory_bytes);
  table.count("max_processes", sandbox.max_processes);
  table.size("max_file_bytes", sandbox.max_file_bytes);
  table.size("max_written_bytes", sandbox.max_written_bytes);
  table.size("max_output_bytes", sandbox.max_output_bytes);
  table.count("max_cpu_seconds", sandbox.max_cpu_seconds);
  table.count("max_open_files", sandbox.max_open_files);
  table.count("max_parallel", sandbox.max_parallel);
  table.texts("allow", sandbox.allow);
  table.texts("deny", sandbox.deny);
  table.texts("environment", sandbox.environment);
  table.texts("readable", sandbox.readable);
  for (const std::string& folder : sandbox.readable) {
    if (const std::string no = objection_to_readable(folder, ""); !no.empty()) {
      return table.refuse("readable", fmt::format("cannot hold \"{}\": {}", folder, no));
    }
  }
}

void read_edits(ConfigTable& table, EditsConfig& edits) {
  table.choice("max_step", edits.max_step,
               ConfigTable::Choices<MatchStep>{{"exact", MatchStep::kExact},
                                               {"offset", MatchStep::kOffset},
                                               {"line_ends", MatchStep::kLineEnds},
                                               {"fuzz", MatchStep::kFuzz},
                                               {"whitespace", MatchStep::kWhiteSpace},
                                               {"unicode", MatchStep::kUnicode},
                                               {"mended", MatchStep::kMended}});
  table.texts("strict", edits.strict);
  const auto names = leniency_names();
  for (const std::string& name : edits.strict) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return table.refuse(
        "strict", fmt::format("cannot hold \"{}\": it takes {}", name, fmt::join(names, ", ")));
  }
  table.count("max_fuzz", edits.max_fuzz);
  table.count("max_offset", edits.max_offset);
}

void read_validators(ConfigTable& root, Config& config) {
  std::set<std::string> names;
  root.tables("validator", [&](ConfigTable& table) {
    ValidatorConfig validator;
    read_validator(table, validator);
    if (table.is_dry() || table.has_failed()) return;
    if (config.validators.size() == kMaxValidators) {
      return table.refuse("name", fmt::format("exceeds {} validators", kMaxValidators));
    }
    if (!names.insert(validator.name).second) {
      return table.refuse(
          "name", fmt::format("\"{}\" is taken; give this one another name", validator.name));
    }
    config.validators.push_back(std::move(validator));
  });
}

void read_root(ConfigTable& root, Config& config) {
  root.table("policy", [&](ConfigTable& table) { read_policy(table, config.file, config.policy); });
  root.named_tables("agents", [&](std::string_view name, ConfigTable& table) {
    read_agent(name, table, config.agents[std::string(name)]);
  });
  root.table("limits", [&](ConfigTable& table) { read_limits(table, config.limits); });
  read_validators(root, config);
  root.table("findings", [&](ConfigTable& table) { read_findings(table, config.findings); });
  root.table("owners", [&](ConfigTable& table) { read_owners(table, config.owners); });
  root.table("history", [&](ConfigTable& table) { read_history(table, config.history); });
  root.table("commit", [&](ConfigTable& table) { read_commit(table, config.commit); });
  root.table("sandbox", [&](ConfigTable& table) { read_sandbox(table, config.sandbox); });
  root.table("edits", [&](ConfigTable& table) { read_edits(table, config.edits); });
  root.table("hook", [&](ConfigTable& table) {
    table.choice(
        "mode", config.hook.mode,
        ConfigTable::Choices<HookMode>{{"commit", HookMode::kCommit}, {"stage", HookMode::kStage}});
    table.flag("drop_on_failure", config.hook.drop_on_failure);
    table.flag("ask", config.hook.asks);
  });
  root.table("secrets",
             [&](ConfigTable& table) { table.flag("in_files", config.secrets.in_files); });
  root.named_tables("tools", [&](std::string_view name, ConfigTable& table) {
    if (config.tools.size() == kMaxToolTables) {
      return table.refuse("enabled",
                          fmt::format("is in one of more than {} tables of tools", kMaxToolTables));
    }
    read_tool(table, config.tools[std::string(name)]);
  });
}

}  // namespace

std::string_view decision_name(Decision decision) {
  return kDecisions[static_cast<size_t>(decision)].first;
}

std::string_view parser_name(OutputParser parser) {
  return kParsers[static_cast<size_t>(parser)].first;
}

std::string_view operation_name(PathOperation operation) {
  return kOperations[static_cast<size_t>(operation)].first;
}

const std::vector<std::string>& builtin_validator_names() {
  static const std::vector<std::string> kNames = {"case_collisions",
                                                  "conflict_markers",
                                                  "forbidden_text",
                                                  "json",
                                                  "last_newline",
                                                  "line_endings",
                                                  "secrets",
                                                  "shebang",
                                                  "size",
                                                  "symlinks",
                                                  "syntax",
                                                  "toml",
                                                  "utf8",
                                                  "whitespace",
                                                  "xml",
                                                  "yaml"};
  return kNames;
}

std::vector<ConfigKey> config_keys() {
  Config defaults;
  return keys_read_by([&](ConfigTable& root) { read_root(root, defaults); }, config_key_texts());
}

Result<Config> parse_config(std::string_view text, std::string_view file) {
  Config config;
  config.file = file;
  GALLEY_TRY(read_configuration(text, file, [&](ConfigTable& root) { read_root(root, config); }));
  return config;
}

Result<Config> load_config(const Directory& root) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, root.stat(path));
  if (stat.kind == FileKind::kAbsent) return Config();
  if (stat.kind != FileKind::kRegular) {
    return fail(ErrorKind::kInvalid, "config.not_a_file",
                "galley.toml is not a regular file; Galley reads no configuration through links",
                path.str());
  }
  GALLEY_ASSIGN(const std::string text, read_file(root, path, limits::kMaxConfigBytes));
  GALLEY_ASSIGN(Config config, parse_config(text, kConfigFileName));
  config.text = ContentId::of(text);
  return config;
}

Result<Config> load_other_config(const std::string& file) {
  GALLEY_ASSIGN(const std::string text, read_host_file(file, limits::kMaxConfigBytes));
  GALLEY_ASSIGN(Config config, parse_config(text, file));
  // The path may be cut, and a `..` behind a link leads to another file than the text says.
  const auto path = absolute_path(file);
  config.other_file =
      fmt::format("sha256:{} {}", ContentId::of(text).hex(), path ? *path : normalized_path(file));
  return config;
}

Result<void> check_config(std::string_view text, std::string_view file) {
  GALLEY_TRY(parse_config(text, file));
  return {};
}

}  // namespace galley
