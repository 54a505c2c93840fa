#include "engine/policy/trust_part.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "engine/policy/finding.h"
#include "engine/policy/toml_document.h"

namespace galley {
namespace {

template <class List, class Text>
std::string array_of(const List& list, Text text) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ", ") + text(one);
  return "[" + out + "]";
}

std::string array_of(const std::vector<std::string>& texts) { return array_of(texts, toml_quoted); }

/// All keys of a command validator: its files, accepted statuses and cache influence what runs as
/// much as the command does.
std::string validator_text(const ValidatorConfig& one) {
  std::string text = "[[validator]]\n";
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  const auto number = [](int value) { return std::to_string(value); };
  add("name", toml_quoted(one.name));
  add("command", array_of(one.command));
  if (one.has_paths) {
    add("paths",
        array_of(one.paths.globs(), [](const Glob& glob) { return toml_quoted(glob.text()); }));
  }
  add("agents", array_of(one.agents));
  add("severity", toml_quoted(severity_name(one.severity)));
  add("per_file", one.is_per_file ? "true" : "false");
  add("timeout_ms", std::to_string(one.timeout_ms));
  add("max_output_bytes", std::to_string(one.max_output_bytes));
  add("parser", toml_quoted(parser_name(one.parser)));
  if (!one.parser_regex.empty()) add("parser_regex", toml_quoted(one.parser_regex));
  if (!one.parser_file.empty()) add("parser_file", toml_quoted(one.parser_file));
  add("only_new", one.only_new ? "true" : "false");
  add("fix", one.fix ? "true" : "false");
  add("ok_exit", array_of(one.ok_exit, number));
  add("findings_exit", array_of(one.findings_exit, number));
  add("keep", array_of(one.keep));
  add("inputs", array_of(one.inputs));
  add("cache", one.is_cached ? "true" : "false");
  add("network", one.allows_network ? "true" : "false");
  add("environment", toml_inline_table(one.environment));
  return text;
}

/// `word word`, cut to the space in a notice.
std::string command_line(const std::vector<std::string>& command) {
  constexpr size_t kMaxShown = 60;
  std::string line;
  for (const std::string& word : command) {
    const std::string shown = toml_quoted(word);
    const bool is_plain = word.size() + 2 == shown.size() && word.find(' ') == word.npos;
    line += (line.empty() ? "" : " ") + (is_plain ? word : shown);
  }
  return line.size() <= kMaxShown ? line : line.substr(0, kMaxShown) + "...";
}

/// The sandbox's limits; a value above the built-in one gives commands more than the default.
struct WideLimit {
  std::string_view key;
  uint64_t (*get)(const SandboxConfig&);
  void (*reset)(SandboxConfig&);
};

template <auto Member>
constexpr WideLimit wide_limit(std::string_view key) {
  return {key, [](const SandboxConfig& sandbox) { return static_cast<uint64_t>(sandbox.*Member); },
          [](SandboxConfig& sandbox) { sandbox.*Member = SandboxConfig().*Member; }};
}

constexpr std::array kWideLimits = {
    wide_limit<&SandboxConfig::timeout_ms>("timeout_ms"),
    wide_limit<&SandboxConfig::grace_ms>("grace_ms"),
    wide_limit<&SandboxConfig::max_memory_bytes>("max_memory_bytes"),
    wide_limit<&SandboxConfig::max_processes>("max_processes"),
    wide_limit<&SandboxConfig::max_file_bytes>("max_file_bytes"),
    wide_limit<&SandboxConfig::max_written_bytes>("max_written_bytes"),
    wide_limit<&SandboxConfig::max_output_bytes>("max_output_bytes"),
    wide_limit<&SandboxConfig::max_open_files>("max_open_files"),
};

/// 0 means no limit.
bool is_wider(uint64_t value, uint64_t standard) { return value > standard || value == 0; }

void add_sandbox(const SandboxConfig& sandbox, TrustPart& part) {
  const auto add = [&](std::string_view key, const std::string& value, const std::string& summary) {
    part.entries.push_back({summary, fmt::format("sandbox.{} = {}\n", key, value)});
  };
  if (sandbox.fallback == SandboxFallback::kCopy) {
    add("fallback", toml_quoted("copy"), "commands without namespaces (sandbox.fallback)");
  }
  if (sandbox.allows_network) add("network", "true", "the network for commands (sandbox.network)");
  if (!sandbox.environment.empty()) {
    add("environment", array_of(sandbox.environment),
        "variables of your environment (sandbox.environment)");
  }
  if (!sandbox.readable.empty()) {
    add("readable", array_of(sandbox.readable),
        "folders of this machine for commands to read (sandbox.readable)");
  }
  const SandboxConfig standard;
  for (const WideLimit& limit : kWideLimits) {
    const uint64_t value = limit.get(sandbox);
    if (!is_wider(value, limit.get(standard))) continue;
    add(limit.key, std::to_string(value), fmt::format("a wider sandbox.{}", limit.key));
  }
}

/// Agents do not have capabilities of an open domain by default, so giving one widens.
bool is_widening(const Capability& capability) {
  return capability.is_open() && !capability.is_denial;
}

void add_tool_rights(const Config& config, TrustPart& part) {
  if (config.policy.mode == SecurityMode::kPermissive) {
    part.entries.push_back({"tools of tier 4 after an approval (policy.mode)",
                            fmt::format("policy.mode = {}\n", toml_quoted("permissive"))});
  }
  if (config.secrets.in_files) {
    part.entries.push_back({"secrets in files (secrets.in_files)", "secrets.in_files = true\n"});
  }
  for (const auto& [name, profile] : config.agents) {
    const auto& all = profile.capabilities;
    if (std::none_of(all.begin(), all.end(), is_widening)) continue;
    std::vector<std::string> texts;  // includes denials: without them the others would give more
    for (const Capability& one : all) {
      if (one.is_open()) texts.push_back(one.text);
    }
    part.entries.push_back(
        {fmt::format("capabilities of the agent {}: {}", toml_quoted(name), command_line(texts)),
         fmt::format("agents.{}.capabilities = {}\n", toml_quoted(name), array_of(texts))});
  }
}

}  // namespace

std::string TrustPart::text() const {
  std::string all;
  for (const TrustEntry& entry : entries) all += entry.text;
  return all;
}

std::string TrustPart::brief() const {
  // A value is one line, because toml_quoted() escapes newlines.
  const std::string defaults = validator_text(ValidatorConfig());
  const std::vector<std::string_view> usual = lines_of(defaults);
  std::string all;
  for (const TrustEntry& entry : entries) {
    for (const std::string_view line : lines_of(entry.text)) {
      const bool is_usual = std::find(usual.begin(), usual.end(), line) != usual.end();
      if (line.starts_with('[') || !is_usual) all.append(line).append("\n");
    }
  }
  return all;
}

TrustPart trust_part_of(const Config& config) {
  TrustPart part;
  const auto add_hook = [&](std::string_view key, const std::vector<std::string>& command) {
    if (command.empty()) return;
    part.entries.push_back({fmt::format("hook {}: {}", key, command_line(command)),
                            fmt::format("commit.{} = {}\n", key, array_of(command))});
  };
  // The document's own keys before its tables, as TOML requires.
  add_hook("before_apply", config.commit.before_apply);
  add_hook("after_apply", config.commit.after_apply);
  add_sandbox(config.sandbox, part);
  add_tool_rights(config, part);
  add_tools(config.tools, part);
  for (const ValidatorConfig& one : config.validators) {
    if (!one.builtin.empty()) continue;
    part.entries.push_back(
        {fmt::format("validator {}: {}", toml_quoted(one.name), command_line(one.command)),
         validator_text(one)});
  }
  return part;
}

void remove_untrusted(Config& config) {
  for (TrustEntry& entry : trust_part_of(config).entries) {
    config.not_trusted.push_back(std::move(entry.summary));
  }
  config.commit.before_apply.clear();
  config.commit.after_apply.clear();
  const SandboxConfig standard;
  config.sandbox.fallback = standard.fallback;
  config.sandbox.allows_network = standard.allows_network;
  config.sandbox.environment.clear();
  config.sandbox.readable.clear();
  for (const WideLimit& limit : kWideLimits) {
    if (is_wider(limit.get(config.sandbox), limit.get(standard))) limit.reset(config.sandbox);
  }
  if (config.policy.mode == SecurityMode::kPermissive) config.policy.mode = SecurityMode::kStandard;
  config.secrets.in_files = false;
  for (auto& [name, profile] : config.agents) std::erase_if(profile.capabilities, is_widening);
  remove_untrusted(config.tools);
  for (ValidatorConfig& one : config.validators) one.is_trusted = !one.builtin.empty();
}

std::string untrusted_notice(const Config& config, const std::string& trust_with) {
  const bool refuses = std::any_of(config.validators.begin(), config.validators.end(),
                                   [](const ValidatorConfig& one) {
                                     return !one.is_trusted && one.severity == Severity::kError;
                                   });
  return fmt::format(
      "{} asks for what no person has trusted: {}. Until it is trusted, its commands are not run "
      "and its rights are not given{}. Review it with: {}",
      config.file, join(config.not_trusted, "; "),
      refuses ? ", and changes that one of these validators should judge are refused" : "",
      trust_with);
}

}  // namespace galley
