#pragma once

#include <string>
#include <vector>

#include "staging/printing/git_diff.h"

namespace galley {

/// The output of `git diff --name-status`: a letter (with the similarity of a rename or copy) and
/// the paths.
[[nodiscard]] std::string name_status(const std::vector<FileDiff>& diffs);

/// The output of `git diff --numstat`: the numbers of added and removed lines, "-" for binary
/// files.
[[nodiscard]] std::string numstat(const std::vector<FileDiff>& diffs);

struct DiffStatOptions {
  int width = 80;  ///< columns of a line; more if names and counts need it
  bool color = false;
  const Hyperlinks* links = nullptr;  ///< from names to the new files
};

/// The output of `git diff --stat`: a bar for each file and the line of totals. Empty without
/// files.
[[nodiscard]] std::string diffstat(const std::vector<FileDiff>& diffs,
                                   const DiffStatOptions& options = {});

/// The output of `git diff --shortstat`: only the line of totals, with its newline.
[[nodiscard]] std::string shortstat(const std::vector<FileDiff>& diffs);

/// A rename as git writes it in a summary: `src/{old => new}/file.c`.
[[nodiscard]] std::string rename_notation(std::string_view old_path, std::string_view new_path);

}  // namespace galley
