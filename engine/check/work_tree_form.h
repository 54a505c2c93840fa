#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// How git turns what it stores into a file of the work tree and back (gitattributes(5): `text`,
/// `eol`, `working-tree-encoding`; git-config(1): `core.autocrlf`). git itself does it, without the
/// filters that a repository may name, since those are programs.
///
/// Ownership: borrows the GitProgram.
/// Errors:    those of GitProgram.
class WorkTreeForm {
 public:
  WorkTreeForm(const GitProgram& git, std::string work_tree)
      : git_(&git), work_tree_(std::move(work_tree)) {}

  /// The id of what git would store of a file of this name with these bytes.
  [[nodiscard]] Result<std::string> stored_id(const std::string& path,
                                              std::string_view bytes) const;
  /// The bytes that git would write into the file of this name for a stored content.
  [[nodiscard]] Result<std::string> file_of(const std::string& path, const std::string& id) const;

 private:
  const GitProgram* git_;
  std::string work_tree_;
};

}  // namespace galley
