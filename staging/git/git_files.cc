#include "staging/git/git_files.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint64_t kMaxGitFileBytes = 4096;  // of HEAD, commondir and a .git file
constexpr uint64_t kMaxGitConfigBytes = uint64_t{1} << 20U;

std::string_view trimmed(std::string_view text) { return trim(text, kGitFileSpaces); }

bool is_word(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return to_lower(a) == b; });
}

/// Returns a value of a configuration without quotes, escapes and comments.
std::string value_of(std::string_view text) {
  std::string value;
  bool is_quoted = false;
  size_t kept = 0;  // blanks at the end count only inside quotes
  for (size_t i = 0; i < text.size(); ++i) {
    char byte = text[i];
    if (byte == '"') {
      is_quoted = !is_quoted;
      continue;
    }
    if (!is_quoted && (byte == '#' || byte == ';')) break;
    if (byte == '\\' && i + 1 < text.size()) byte = text[++i];
    value += byte;
    if (is_quoted || kGitFileSpaces.find(byte) == kGitFileSpaces.npos) kept = value.size();
  }
  value.resize(kept);
  return value;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Quotes a value for a configuration.
std::string quoted(std::string_view value) {
  std::string text = "\"";
  for (const char byte : value) {
    if (byte == '"' || byte == '\\') text += '\\';
    text += byte;
  }
  return text + "\"";
}

/// The folder of the user's git configuration; empty if unknown.
std::string user_folder() {
  const std::string home = variable("HOME");
  const std::string folder = variable("XDG_CONFIG_HOME");
  if (!folder.empty()) return folder + "/git";
  return home.empty() ? home : home + "/.config/git";
}

/// The user's own configurations. The last one overrides the others.
std::vector<std::string> user_files() {
  if (std::string global = variable("GIT_CONFIG_GLOBAL"); !global.empty()) return {global};
  std::vector<std::string> files;
  if (const std::string folder = user_folder(); !folder.empty()) {
    files.push_back(folder + "/config");
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    files.push_back(home + "/.gitconfig");
  }
  return files;
}

}  // namespace

std::optional<std::string> git_value_in(std::string_view git_config, std::string_view section,
                                        std::string_view name) {
  std::optional<std::string> found;
  bool is_meant = false;
  while (!git_config.empty()) {
    std::string_view line = trimmed(take_line(git_config));
    if (line.starts_with('[')) {
      const size_t close = std::min(line.find(']'), line.size());
      is_meant = is_word(trimmed(line.substr(1, close - 1)), section);
      line = trimmed(line.substr(std::min(close + 1, line.size())));
    }
    const size_t equals = line.find('=');
    if (!is_meant || equals == line.npos) continue;
    if (is_word(trimmed(line.substr(0, equals)), name)) {
      found = value_of(trimmed(line.substr(equals + 1)));
    }
  }
  return found;
}

std::optional<GitPlaces> GitFiles::find() const {
  for (std::string folder = workspace_;; folder.resize(folder.rfind('/'))) {
    const std::string root = folder.empty() ? "/" : folder;
    if (auto git = git_directory(folder)) return GitPlaces{root, *git, common_directory(*git)};
    if (folder.empty()) return {};
  }
}

std::optional<std::string> GitFiles::core_value(const GitPlaces& places,
                                                std::string_view lower_case_name) const {
  std::vector<std::string> files = user_files();
  if (variable("GIT_CONFIG_NOSYSTEM").empty()) files.insert(files.begin(), "/etc/gitconfig");
  files.push_back(places.common + "/config");
  std::optional<std::string> found;
  for (const std::string& file : files) {
    auto value = git_value_in(text_of(file, kMaxGitConfigBytes), "core", lower_case_name);
    if (value) found = std::move(value);
  }
  return found;
}

std::string GitFiles::core_file(const GitPlaces& places, std::string_view lower_case_name,
                                const std::string& default_name, uint64_t max_bytes) const {
  const std::string folder = user_folder();
  std::string path = folder.empty() ? folder : folder + "/" + default_name;
  if (const auto named = core_value(places, lower_case_name); named && !named->empty()) {
    path = *named;
  }
  if (path.starts_with("~/")) path = variable("HOME") + path.substr(1);
  return path.starts_with('/') ? text_of(path, max_bytes) : std::string();
}

std::string GitFiles::identity() const {
  constexpr size_t kMaxValueBytes = 1024;
  std::string text;
  for (const char* name : {"name", "email"}) {
    std::string found;
    for (const std::string& file : user_files()) {
      const auto value = git_value_in(text_of(file, kMaxGitConfigBytes), "user", name);
      if (value) found = *value;
    }
    if (found.empty() || found.size() > kMaxValueBytes) continue;
    text += (text.empty() ? "[user]\n\t" : "\t") + std::string(name) + " = " + quoted(found) + "\n";
  }
  return text;
}

std::string GitFiles::repository_elsewhere() const {
  const auto own = git_directory(workspace_);
  if (!own || *own == workspace_ + "/.git") return {};
  const auto place = absolute_path(*own);
  const auto common = absolute_path(common_directory(*own));
  const auto here = absolute_path(workspace_);
  if (!place || !common || !here || common->starts_with(*here + "/")) return {};
  auto expected = here;
  std::string named;
  if (*place == *common) {
    const std::string config = text_of(*place + "/config", kMaxGitConfigBytes);
    named = git_value_in(config, "core", "worktree").value_or("");
  } else {
    const std::string trees = *common + "/worktrees/";
    const bool is_linked =
        place->starts_with(trees) && place->find('/', trees.size()) == place->npos;
    if (!is_linked) return {};
    expected = absolute_path(workspace_ + "/.git");
    const std::string text = text_of(*place + "/gitdir", kMaxGitFileBytes);
    named = trimmed(std::string_view(text).substr(0, text.find('\n')));
  }
  if (named.empty()) return {};
  const auto there = absolute_path(named.starts_with('/') ? named : *place + "/" + named);
  return there && expected && *there == *expected ? *common : std::string();
}

std::string GitFiles::text_of(const std::string& path, uint64_t max_bytes) const {
  return read_own_file(path, max_bytes, owner_).value_or(std::string());
}

std::optional<std::string> GitFiles::git_directory(const std::string& folder) const {
  const std::string git = folder + "/.git";
  if (read_own_file(git + "/HEAD", kMaxGitFileBytes, owner_)) return git;
  const std::string text = text_of(git, kMaxGitFileBytes);
  constexpr std::string_view kKey = "gitdir:";
  if (!text.starts_with(kKey)) return {};
  const std::string named(
      trimmed(std::string_view(text).substr(kKey.size(), text.find('\n') - kKey.size())));
  const std::string place = named.starts_with('/') ? named : folder + "/" + named;
  if (read_own_file(place + "/HEAD", kMaxGitFileBytes, owner_)) return place;
  return {};
}

std::string GitFiles::common_directory(const std::string& git) const {
  const std::string text = text_of(git + "/commondir", kMaxGitFileBytes);
  const std::string named(trimmed(std::string_view(text).substr(0, text.find('\n'))));
  if (named.empty()) return git;
  return named.starts_with('/') ? named : git + "/" + named;
}

}  // namespace galley
