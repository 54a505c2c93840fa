#include "engine/policy/idle_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "engine/policy/policy.h"

namespace galley {
namespace {

constexpr std::string_view kOnlyExcludes = "only excludes (`!`)";

/// Returns why a list selects no path; empty if it can select one.
std::string_view flaw_of(const GlobList& list) {
  if (list.is_empty()) return "is empty";
  const auto& globs = list.globs();
  const bool only_excludes = std::ranges::all_of(globs, &Glob::is_negated);
  return only_excludes ? kOnlyExcludes : "";
}

/// Whether a word has `{files}` inside, and not as `${files}`, a variable of a shell.
bool has_files_inside(std::string_view word) {
  constexpr std::string_view kPlaceholder = "{files}";
  if (word == kPlaceholder) return false;
  for (size_t at = word.find(kPlaceholder); at != word.npos; at = word.find(kPlaceholder, at + 1)) {
    if (at == 0 || word[at - 1] != '$') return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> idle_settings(const Config& config) {
  std::vector<std::string> lines;
  const auto tell = [&](uint32_t line, std::string_view what, std::string_view flaw,
                        std::string_view effect) {
    if (flaw.empty()) return;
    lines.push_back(fmt::format("{}: {} {}, so {}{}", place_in(config, line), what, flaw, effect,
                                flaw == kOnlyExcludes ? "; put \"*\" before it" : ""));
  };
  for (const PathRule& rule : config.policy.rules) {
    tell(rule.line, "`paths` of a rule", flaw_of(rule.paths), "the rule is never used");
  }
  if (!config.policy.protected_paths.is_empty()) {
    tell(config.policy.protected_line, "`protected`", flaw_of(config.policy.protected_paths),
         "it protects nothing");
  }
  for (const ValidatorConfig& validator : config.validators) {
    const std::string of = fmt::format(" of the validator {}", validator.name);
    if (validator.has_paths) {
      tell(validator.line, "`paths`" + of, flaw_of(validator.paths), "it never judges");
    }
    const auto inputs = GlobList::parse(validator.inputs);
    if (validator.is_cached && inputs && !inputs->is_empty()) {
      tell(validator.line, "`inputs`" + of, flaw_of(*inputs),
           "its first cached answer counts for every tree");
    }
    for (const std::string& word : validator.command) {
      if (!has_files_inside(word)) continue;
      tell(validator.line, "`command`" + of, "has `{files}` inside a longer argument",
           "no names are put there: make it an argument of its own");
    }
  }
  return lines;
}

}  // namespace galley
