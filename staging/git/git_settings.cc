#include "staging/git/git_settings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.h"

namespace galley {
namespace {

/// The last parts of keys whose value is a command or the path of a program.
constexpr std::array<std::string_view, 28> kProgramWords = {"clean",
                                                            "smudge",
                                                            "process",
                                                            "command",
                                                            "cmd",
                                                            "textconv",
                                                            "driver",
                                                            "program",
                                                            "helper",
                                                            "editor",
                                                            "pager",
                                                            "sshcommand",
                                                            "askpass",
                                                            "gitproxy",
                                                            "fsmonitor",
                                                            "hookspath",
                                                            "uploadpack",
                                                            "receivepack",
                                                            "uploadarchive",
                                                            "vcs",
                                                            "difffilter",
                                                            "external",
                                                            "tool",
                                                            "guitool",
                                                            "defaultkeycommand",
                                                            "packobjectshook",
                                                            "alternaterefscommand",
                                                            "browser"};

/// Sections in which every key is a command.
constexpr std::array<std::string_view, 2> kProgramSections = {"alias", "pager"};

/// Flags that make git run a program, or fail without one.
constexpr std::array<std::string_view, 4> kProgramFlags = {"required", "gpgsign", "showsignature",
                                                           "forcesignannotated"};

/// Returns a harmless value for a key; nothing if the key does not name a program.
std::optional<std::string> harmless_value(std::string_view key) {
  const std::string section = to_lower(key.substr(0, key.find('.')));
  const std::string word = to_lower(key.substr(key.rfind('.') + 1));
  const auto has = [](const auto& words, const std::string& one) {
    return std::find(words.begin(), words.end(), one) != words.end();
  };
  if (section == "core" && word == "hookspath") return "/dev/null";
  if (section == "core" && word == "fsmonitor") return "false";
  // A FIFO as this file would block git forever.
  if (section == "core" && (word == "excludesfile" || word == "attributesfile")) return "/dev/null";
  if (has(kProgramFlags, word)) return "false";
  if (has(kProgramWords, word) || has(kProgramSections, section)) return "";
  return std::nullopt;
}

}  // namespace

Result<std::vector<GitSetting>> program_overrides(std::string_view listed) {
  std::vector<GitSetting> settings;
  std::set<std::string, std::less<>> seen;
  while (!listed.empty()) {
    const size_t scope_end = listed.find('\0');
    const size_t end = scope_end == listed.npos ? listed.npos : listed.find('\0', scope_end + 1);
    if (end == listed.npos) {
      return fail(ErrorKind::kInvalid, "git.odd_config",
                  "git's list of its configuration is cut off: is this git 2.26 or newer?");
    }
    const std::string_view scope = listed.substr(0, scope_end);
    std::string_view key = listed.substr(scope_end + 1, end - scope_end - 1);
    key = key.substr(0, key.find('\n'));
    listed.remove_prefix(end + 1);
    // A person's filter would run on files that the repository chose.
    const bool is_filter = to_lower(key).starts_with("filter.");
    if (scope != "local" && scope != "worktree" && !is_filter) continue;
    auto value = harmless_value(key);
    if (value && seen.insert(std::string(key)).second) {
      settings.push_back({std::string(key), *std::move(value)});
    }
  }
  return settings;
}

std::vector<std::string> environment_of_settings(const std::vector<GitSetting>& settings) {
  if (settings.empty()) return {};
  const char* said = std::getenv("GIT_CONFIG_COUNT");
  size_t count = number_of<size_t>(said == nullptr ? "" : said).value_or(0);
  std::vector<std::string> environment;
  for (const GitSetting& setting : settings) {
    const std::string number = std::to_string(count++);
    environment.push_back("GIT_CONFIG_KEY_" + number + "=" + setting.key);
    environment.push_back("GIT_CONFIG_VALUE_" + number + "=" + setting.value);
  }
  environment.push_back("GIT_CONFIG_COUNT=" + std::to_string(count));
  return environment;
}

}  // namespace galley
