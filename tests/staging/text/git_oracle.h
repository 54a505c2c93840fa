#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "staging/text/git_diff.h"

namespace galley::testing {

struct RunResult {
  int status = 0;
  std::string output;  ///< stdout and stderr
};

/// Runs a shell command line in `directory`, free of the user's git configuration.
RunResult run_in(const std::filesystem::path& directory, const std::string& command);

struct TreeFile {
  uint32_t mode = git_mode::kRegular;
  std::string content;
  bool operator==(const TreeFile&) const = default;
};
using Tree = std::map<std::string, TreeFile>;

void write_tree(const std::filesystem::path& root, const Tree& tree);
Tree read_tree(const std::filesystem::path& root);

/// The pairs that turn one tree into the other, in order of path.
std::vector<FilePair> pairs_of(const Tree& before, const Tree& after);

/// The text of a whole file.
std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);

}  // namespace galley::testing
