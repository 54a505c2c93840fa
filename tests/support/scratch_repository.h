#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/scratch_directory.h"

namespace galley {

/// A git repository on the real disk. It ignores the configuration of every user, and the
/// destructor deletes it.
class ScratchRepository {
 public:
  [[nodiscard]] const std::string& path() const { return scratch_.path(); }

  /// `options` are options of git-init(1).
  void init(const std::string& options = "-b main") { git("init -q " + options); }

  /// Writes a file of the work tree, and makes its parent directories.
  void write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = std::filesystem::path(path()) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Runs a git command, which must succeed.
  void git(const std::string& arguments) const {
    ASSERT_EQ(std::system((line(arguments) + " >/dev/null 2>&1").c_str()), 0) << arguments;
  }
  /// Runs a git command and returns whether it succeeded.
  [[nodiscard]] bool can(const std::string& arguments) const {
    return std::system((line(arguments) + " >/dev/null 2>&1").c_str()) == 0;
  }
  /// Returns the output of a git command.
  [[nodiscard]] std::string output_of(const std::string& arguments) const {
    std::string text;
    FILE* pipe = ::popen(line(arguments).c_str(), "r");
    if (pipe == nullptr) return text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0) << arguments;
    return text;
  }
  /// Commits the whole work tree.
  void commit(const std::string& message) const {
    git("add -A");
    git("commit -qm " + message);
  }

 private:
  [[nodiscard]] std::string line(const std::string& arguments) const {
    return "cd '" + path() +
           "' && GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null git "
           "-c user.name=a -c user.email=a@example.com " +
           arguments;
  }

  ScratchDirectory scratch_;
};

}  // namespace galley
