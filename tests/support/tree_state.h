#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// Every file and link of a tree: path -> "mode:bytes" or "link:target". Only the executable bit of
/// a mode counts, as in git.
using TreeState = std::map<std::string, std::string>;

namespace tree_state_detail {

inline std::string state_of(bool is_executable, const std::string& bytes) {
  return (is_executable ? "x:" : "-:") + bytes;
}

inline void add_overlay(Overlay& overlay, const RelPath& directory, TreeState& out) {
  auto entries = overlay.list(directory);
  GALLEY_CHECK(entries.has_value());
  for (const DirectoryEntry& entry : *entries) {
    const auto name = RelPath::parse(entry.name);
    GALLEY_CHECK(name.has_value());
    const auto path = directory.join(*name);
    GALLEY_CHECK(path.has_value());
    if (entry.kind == FileKind::kDirectory) {
      add_overlay(overlay, *path, out);
    } else if (entry.kind == FileKind::kSymlink) {
      out[path->str()] = "link:" + *overlay.read_link(*path);
    } else {
      out[path->str()] = state_of((overlay.node(*path)->mode & 0100U) != 0, **overlay.read(*path));
    }
  }
}

}  // namespace tree_state_detail

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline TreeState tree_state(const std::filesystem::path& root) {
  TreeState out;
  namespace fs = std::filesystem;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    const std::string name =
        fs::relative(it->path().parent_path(), root) == "."
            ? it->path().filename().string()
            : (fs::relative(it->path().parent_path(), root) / it->path().filename()).string();
    if (name == ".git") {
      it.disable_recursion_pending();
      continue;
    }
    if (it->is_symlink()) {
      out[name] = "link:" + fs::read_symlink(it->path()).string();
    } else if (it->is_regular_file()) {
      const bool is_executable =
          (it->status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      out[name] = tree_state_detail::state_of(is_executable, slurp(it->path()));
    }
  }
  return out;
}

inline TreeState tree_state(Overlay& overlay) {
  TreeState out;
  tree_state_detail::add_overlay(overlay, RelPath::root(), out);
  return out;
}

struct ProgramResult {
  int status = -1;
  std::string output;
};

/// Runs a shell command in `directory` with `input` on standard input.
inline ProgramResult run_program(const std::filesystem::path& directory, const std::string& command,
                                 const std::string& input) {
  const std::filesystem::path scratch = directory.string() + ".io";
  std::filesystem::create_directories(scratch);
  std::ofstream(scratch / "in", std::ios::binary) << input;
  const std::string line = "cd '" + directory.string() + "' && { " + command + " ; } < '" +
                           (scratch / "in").string() + "' > '" + (scratch / "out").string() +
                           "' 2>&1";
  const int raw = std::system(line.c_str());
  ProgramResult result{WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, slurp(scratch / "out")};
  std::filesystem::remove_all(scratch);
  return result;
}

}  // namespace galley
