#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "staging/overlay/overlay.h"

namespace galley {

/// Every file and link of a tree: path to "mode:bytes" or "link:target". Only the executable bit of
/// a mode counts, as in git.
using TreeState = std::map<std::string, std::string>;

TreeState tree_state(const std::filesystem::path& root);
TreeState tree_state(Overlay& overlay);

/// Runs a program with `directory` as its working directory and `input` on stdin; its exit status.
struct ProgramResult {
  int status = -1;
  std::string output;
};
ProgramResult run_program(const std::filesystem::path& directory, const std::string& command,
                          const std::string& input);

std::string slurp(const std::filesystem::path& path);

}  // namespace galley
