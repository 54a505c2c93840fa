#include "staging/git/ignore_files.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint64_t kMaxGitFileBytes = 4096;  // of HEAD, commondir and a .git file
constexpr uint64_t kMaxGitConfigBytes = uint64_t{1} << 20U;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_word(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return std::tolower(static_cast<uint8_t>(a)) == b; });
}

/// A configured value: quotes and escapes taken off, a comment cut off.
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
    if (is_quoted || kBlanks.find(byte) == kBlanks.npos) kept = value.size();
  }
  value.resize(kept);
  return value;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The places of git's own files for one workspace.
struct GitPlaces {
  std::string work_tree;
  std::string common;  ///< the git directory that worktrees share
};

/// Reads what git reads around a workspace, as far as it belongs to the right user.
class GitFiles {
 public:
  GitFiles(std::string workspace, uint32_t owner)
      : workspace_(std::move(workspace)), owner_(owner) {}

  /// The work tree nearest to the workspace.
  std::optional<GitPlaces> find() const {
    for (std::string folder = workspace_;; folder.resize(folder.rfind('/'))) {
      const std::string root = folder.empty() ? "/" : folder;
      if (auto git = git_directory(folder)) return GitPlaces{root, common_directory(*git)};
      if (folder.empty()) return {};
    }
  }

  std::string excludes(const GitPlaces& places) const {
    const std::string home = variable("HOME");
    std::string folder = variable("XDG_CONFIG_HOME");
    if (folder.empty() && !home.empty()) folder = home + "/.config";
    std::vector<std::string> files;
    if (variable("GIT_CONFIG_NOSYSTEM").empty()) files.emplace_back("/etc/gitconfig");
    if (const std::string global = variable("GIT_CONFIG_GLOBAL"); !global.empty()) {
      files.push_back(global);
    } else {
      if (!folder.empty()) files.push_back(folder + "/git/config");
      if (!home.empty()) files.push_back(home + "/.gitconfig");
    }
    files.push_back(places.common + "/config");
    std::string path = folder.empty() ? folder : folder + "/git/ignore";
    for (const std::string& file : files) {
      const std::string named = excludes_file_in(text_of(file, kMaxGitConfigBytes));
      if (!named.empty()) path = named;
    }
    if (path.starts_with("~/")) path = home + path.substr(1);
    return path.starts_with('/') ? text_of(path, IgnoreRules::kMaxFileBytes) : std::string();
  }

  std::string text_of(const std::string& path, uint64_t max_bytes) const {
    return read_own_file(path, max_bytes, owner_).value_or(std::string());
  }

 private:
  std::optional<std::string> git_directory(const std::string& folder) const {
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

  std::string common_directory(const std::string& git) const {
    const std::string text = text_of(git + "/commondir", kMaxGitFileBytes);
    const std::string named(trimmed(std::string_view(text).substr(0, text.find('\n'))));
    if (named.empty()) return git;
    return named.starts_with('/') ? named : git + "/" + named;
  }

  std::string workspace_;
  uint32_t owner_;
};

/// The text of a directory's .gitignore; never through a link, as git has it.
std::string ignore_file(const Directory& work_tree, const RelPath& directory) {
  const auto path = directory.join(*RelPath::parse(".gitignore"));
  if (!path) return {};
  auto text = read_file(work_tree, *path, IgnoreRules::kMaxFileBytes);
  return text ? std::move(*text) : std::string();
}

}  // namespace

std::string excludes_file_in(std::string_view git_config) {
  std::string found;
  bool is_core = false;
  while (!git_config.empty()) {
    const size_t end = std::min(git_config.find('\n'), git_config.size());
    std::string_view line = trimmed(git_config.substr(0, end));
    git_config.remove_prefix(std::min(end + 1, git_config.size()));
    if (line.starts_with('[')) {
      const size_t close = std::min(line.find(']'), line.size());
      is_core = is_word(trimmed(line.substr(1, close - 1)), "core");
      line = trimmed(line.substr(std::min(close + 1, line.size())));
    }
    const size_t equals = line.find('=');
    if (!is_core || equals == line.npos) continue;
    if (is_word(trimmed(line.substr(0, equals)), "excludesfile")) {
      found = value_of(trimmed(line.substr(equals + 1)));
    }
  }
  return found;
}

Result<IgnoreFiles> IgnoreFiles::open(const std::string& workspace) {
  IgnoreFiles files;
  GALLEY_ASSIGN(const auto root, open_disk_directory(workspace));
  GALLEY_ASSIGN(const FileStat stat, root->stat(RelPath::root()));
  const GitFiles git(workspace, stat.uid);
  const auto places = git.find();
  if (!places) return files;
  GALLEY_ASSIGN(files.work_tree_, open_disk_directory(places->work_tree));
  if (workspace.size() > places->work_tree.size()) {
    GALLEY_ASSIGN(files.prefix_, RelPath::parse_within(workspace, places->work_tree));
  }
  files.rules_ = std::make_unique<IgnoreRules>([tree = files.work_tree_](const RelPath& directory) {
    return ignore_file(*tree, directory);
  });
  files.rules_->add_outer(
      git.text_of(places->common + "/info/exclude", IgnoreRules::kMaxFileBytes));
  files.rules_->add_outer(git.excludes(*places));
  return files;
}

Result<bool> IgnoreFiles::is_ignored(const RelPath& path, bool is_directory,
                                     const Deadline& deadline, const Clock& clock) {
  if (!rules_) return false;
  GALLEY_ASSIGN(const RelPath whole, prefix_.join(path));
  return rules_->is_ignored(whole, is_directory, [&] { return deadline.has_passed(clock); });
}

}  // namespace galley
