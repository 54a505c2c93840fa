#pragma once

#include <sys/wait.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "staging/printing/git_diff.h"
#include "tests/support/scratch_directory.h"

/// Runs the real git for tests: trees on disk, and a shell without any user's configuration.
namespace galley::testing {

struct RunResult {
  int status = 0;
  std::string output;  ///< stdout and stderr
};

struct TreeFile {
  uint32_t mode = git_mode::kRegular;
  std::string content;
  bool operator==(const TreeFile&) const = default;
};
using Tree = std::map<std::string, TreeFile>;

namespace fs = std::filesystem;

inline RunResult run_in(const fs::path& directory, const std::string& command) {
  const std::string line =
      "cd '" + directory.string() +
      "' && GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=/nonexistent"
      " GIT_CEILING_DIRECTORIES='" +
      directory.parent_path().string() +
      "' LC_ALL=C; export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL HOME"
      " GIT_CEILING_DIRECTORIES LC_ALL; (" +
      command + ") 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  RunResult result;
  std::array<char, 65536> buffer{};
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void write_tree(const fs::path& root, const Tree& tree) {
  fs::create_directories(root);
  for (const auto& [name, file] : tree) {
    const fs::path path = root / name;
    fs::create_directories(path.parent_path());
    if (file.mode == git_mode::kSymlink) {
      fs::create_symlink(file.content, path);
      continue;
    }
    write_bytes(path, file.content);
    fs::permissions(path, static_cast<fs::perms>(file.mode & 0777U));
  }
}

inline Tree read_tree(const fs::path& root) {
  Tree tree;
  if (!fs::exists(root)) return tree;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const auto name = fs::relative(entry.path().parent_path(), root) / entry.path().filename();
    const auto key = name.lexically_normal().string();
    if (entry.is_symlink()) {
      tree[key] = {git_mode::kSymlink, fs::read_symlink(entry.path()).string()};
    } else if (entry.is_regular_file()) {
      const bool runs = (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      tree[key] = {runs ? git_mode::kExecutable : git_mode::kRegular, read_bytes(entry.path())};
    }
  }
  return tree;
}

/// Returns what `git diff` prints between two trees, without rename detection.
inline std::string git_prints(const Tree& before, const Tree& after, const std::string& options) {
  const ScratchDirectory scratch;
  write_tree(scratch.path() + "/a", before);
  write_tree(scratch.path() + "/b", after);
  return run_in(scratch.path() + "/a",
                "git init -q . && git add -A && tree=$(git write-tree) && "
                "git --work-tree=../b add -A && git diff --cached --no-renames " +
                    options + " $tree")
      .output;
}

/// Returns options that find function names in hunk headers as git does without attributes.
inline DiffOptions plain_functions() {
  DiffOptions options;
  options.functions_by_language = false;
  return options;
}

inline std::vector<FilePair> pairs_of(const Tree& before, const Tree& after) {
  std::vector<FilePair> pairs;
  const auto add = [&](const std::string& name, const TreeFile* from, const TreeFile* to) {
    FilePair pair;
    pair.old_path = pair.new_path = name;
    if (from != nullptr) {
      pair.old_mode = from->mode;
      pair.old_content = from->content;
    }
    if (to != nullptr) {
      pair.new_mode = to->mode;
      pair.new_content = to->content;
    }
    pairs.push_back(pair);
  };
  auto i = before.begin();
  auto j = after.begin();
  while (i != before.end() || j != after.end()) {
    if (j == after.end() || (i != before.end() && i->first < j->first)) {
      add(i->first, &i->second, nullptr);
      ++i;
    } else if (i == before.end() || j->first < i->first) {
      add(j->first, nullptr, &j->second);
      ++j;
    } else {
      if (i->second != j->second) add(i->first, &i->second, &j->second);
      ++i;
      ++j;
    }
  }
  return pairs;
}

}  // namespace galley::testing
