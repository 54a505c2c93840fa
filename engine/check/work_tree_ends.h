#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// How git would store files of the work tree: which files get other line endings when they are
/// staged (gitattributes(5), "text" and "eol"; git-config(1), "core.autocrlf"). No filter is run.
///
/// Ownership: a value. Threads: immutable, safe to share.
class WorkTreeLineEndings {
 public:
  /// Asks git about these paths, which are relative to the work tree.
  /// Errors: those of GitProgram; kRefused `check.filtered` for a path with a filter or another
  ///         encoding: git's stored form cannot be known without running the filter.
  static Result<WorkTreeLineEndings> of(const GitProgram& git, const std::string& work_tree,
                                        const std::vector<std::string>& paths);

  /// Whether git stores some files of this name with other line endings.
  [[nodiscard]] bool may_convert(const std::string& path) const {
    return conversions_.contains(path);
  }
  /// The bytes that git would store for a file with these bytes. `stored` is its present stored
  /// content; empty when there is none.
  [[nodiscard]] std::string as_stored(const std::string& path, std::string bytes,
                                      std::string_view stored) const;

 private:
  enum class Conversion : uint8_t { kNone, kAuto, kText };
  std::map<std::string, Conversion> conversions_;  ///< except kNone
};

/// The configured filter of a path: a program that git runs whenever it stores or writes the file.
/// Empty when there is none.
[[nodiscard]] Result<std::string> filter_of(const GitProgram& git, const std::string& work_tree,
                                            const std::string& path);

/// Converts git's stored contents to files of the work tree and back (gitattributes(5): `text`,
/// `eol`, `working-tree-encoding`; git-config(1): `core.autocrlf`). git itself converts them. The
/// filters of a repository do not run, because they are programs.
///
/// Ownership: borrows the GitProgram.
/// Errors:    those of GitProgram.
class WorkTreeConverter {
 public:
  WorkTreeConverter(const GitProgram& git, std::string work_tree)
      : git_(&git), work_tree_(std::move(work_tree)) {}

  /// The id of the content that git would store for a file of this name with these bytes.
  [[nodiscard]] Result<std::string> stored_id(const std::string& path,
                                              std::string_view bytes) const;
  /// The bytes that git would write into the file of this name for a stored content.
  [[nodiscard]] Result<std::string> file_of(const std::string& path, const std::string& id) const;

 private:
  const GitProgram* git_;
  std::string work_tree_;
};

}  // namespace galley
