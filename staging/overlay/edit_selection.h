#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// Which files and hunks of an edit document `only` and `except` leave: each names a path, a
/// directory or a pattern (base/glob.h), alone or with `:N` (1-based) or `:ID` for one hunk; of
/// an id the first four digits or more will do where no other hunk of the file begins with them.
///
/// Invariant: a file counts under its old, its new and its uncertain names.
class EditSelection {
 public:
  /// `root` is the absolute path of the workspace, for absolute paths inside it; may be empty.
  EditSelection(const std::vector<std::string>& only, const std::vector<std::string>& except,
                std::string_view root);

  [[nodiscard]] bool is_everything() const { return only_.empty() && except_.empty(); }
  /// Puts what is left of `edit` into `selected`; false when nothing is left. Remembers which names
  /// were of use.
  bool select(const FileEdit& edit, FileEdit& selected);
  /// Those of `only` and `except` that named nothing so far, as they were given.
  [[nodiscard]] std::vector<std::string> unmatched() const;

 private:
  struct Name {
    std::string given;
    std::string whole;  ///< as a path, hunk and all
    std::string path;   ///< without the hunk; empty when it ends in none
    std::string hunk;
    bool is_used = false;
  };
  [[nodiscard]] static Name parsed(const std::string& given, std::string_view root);
  /// Whether one of the names is the file's, or the hunk's when `hunk` is one.
  static bool names_file(std::vector<Name>& names, const FileEdit& edit);
  static bool names_hunk(std::vector<Name>& names, const FileEdit& edit,
                         const std::vector<std::string>& ids, size_t at);

  std::vector<Name> only_;
  std::vector<Name> except_;
};

}  // namespace galley
