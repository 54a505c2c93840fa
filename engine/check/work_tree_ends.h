#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// How git would store files of the work tree: which of them get other line endings when they are
/// staged (gitattributes(5), "text" and "eol"; git-config(1), "core.autocrlf"). No filter is run.
///
/// Ownership: a value. Threads: immutable, safe to share.
class WorkTreeEnds {
 public:
  /// Asks git about these paths, which are relative to the work tree.
  /// Errors: those of GitProgram; kRefused `check.filtered` for a path that a filter or another
  ///         encoding stands before: what git would store cannot be told without running it.
  static Result<WorkTreeEnds> of(const GitProgram& git, const std::string& work_tree,
                                 const std::vector<std::string>& paths);

  /// What git would store of a file with these bytes. `stored` is what it has of it now; empty
  /// where it has nothing.
  [[nodiscard]] std::string as_stored(const std::string& path, std::string bytes,
                                      std::string_view stored) const;

 private:
  enum class Conversion : uint8_t { kNone, kAuto, kText };
  std::map<std::string, Conversion> conversions_;  ///< but for kNone
};

/// The filter that is set up for a path: a program that git runs whenever it stores or writes the
/// file. Empty where there is none.
[[nodiscard]] Result<std::string> filter_of(const GitProgram& git, const std::string& work_tree,
                                            const std::string& path);

}  // namespace galley
