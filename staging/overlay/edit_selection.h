#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// Selects files and hunks of an edit document by the names in `only` and `except`. A name is a
/// path, a directory or a pattern (base/glob.h), and may end in `:N` (1-based) or `:ID` for one
/// hunk. Four or more digits of an id are enough if they are unique in the file.
///
/// Invariant: a file matches if its old, its new or one of its alternative paths does.
class EditSelection {
 public:
  /// `root` is the absolute path of the workspace, for absolute paths inside it. It may be empty.
  EditSelection(const std::vector<std::string>& only, const std::vector<std::string>& except,
                std::string_view root);

  /// Takes in which files the whole document has. A name that is exactly the path of one of them
  /// does not name a hunk of another: `x:1` is the file of this name.
  void learn(const std::vector<FileEdit>& document);
  [[nodiscard]] bool is_everything() const { return only_.empty() && except_.empty(); }
  /// Puts the selected part of `edit` into `selected`. Returns false if nothing is selected.
  /// Records which names matched.
  bool select(const FileEdit& edit, FileEdit& selected);
  /// Whether the names take a file that no edit names. A hunk in a name is not compared.
  [[nodiscard]] bool may_mean(const std::string& path) const;
  /// The names of `only` and `except` that have not matched anything so far, as given.
  [[nodiscard]] std::vector<std::string> unmatched() const;

 private:
  struct Name {
    std::string given;
    std::string whole;  ///< as a path, including the hunk
    std::string path;   ///< without the hunk; empty if no hunk is named
    std::string hunk;
    bool is_used = false;
  };
  [[nodiscard]] static Name parsed(const std::string& given, std::string_view root);
  /// Whether one of the names matches the file, or the hunk if `hunk` is given.
  static bool names_file(std::vector<Name>& names, const FileEdit& edit);
  static bool names_hunk(std::vector<Name>& names, const FileEdit& edit,
                         const std::vector<std::string>& ids, size_t at);

  std::vector<Name> only_;
  std::vector<Name> except_;
};

}  // namespace galley
