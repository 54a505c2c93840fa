#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// The people who must approve changes of paths: the lines of a CODEOWNERS file.
///
/// The last line that matches a path decides. A line without owners removes ownership. Each of
/// GitLab's sections (`[Docs] @writers`) decides independently, and one owner of each section must
/// approve. An optional section (`^[Docs]`) does not need approval. Patterns are those of
/// gitignore, except that `docs/*` leaves out what lies deeper, as GitHub and GitLab document.
///
/// Threads: immutable, safe to share.
class Owners {
 public:
  /// A file with more bytes is refused (GitHub reads 3 MB).
  static constexpr size_t kMaxFileBytes = size_t{3} << 20U;

  /// Parses lines of CODEOWNERS.
  /// Errors: kInvalid `owners.syntax`, which names the line.
  [[nodiscard]] static Result<Owners> parse(const std::vector<std::string>& lines);
  /// Parses the lines of `file`, then `more`. If `file` is empty, it takes the first file that
  /// GitHub or GitLab would find in .github/, the root, docs/ or .gitlab/.
  /// Errors: kInvalid `owners.syntax`; kInvalid `owners.unusable` if `file` does not exist, or if
  ///         the file is not a regular one or has NUL bytes or other line ends.
  [[nodiscard]] static Result<Owners> load(const Directory& workspace, const std::string& file,
                                           const std::vector<std::string>& more);

  /// Returns the places where load() looks.
  [[nodiscard]] static std::vector<std::string> places(const std::string& file);

  /// Returns the owners of the path in each section. One owner of each section must approve.
  [[nodiscard]] std::vector<std::vector<std::string>> of(const RelPath& path) const;
  [[nodiscard]] bool is_empty() const { return sections_.empty(); }

 private:
  struct Section {
    std::string name;  ///< in lower case, as GitLab compares names
    bool is_optional = false;
    std::vector<std::string> standard;  ///< owners of lines that have none
    GlobList globs;
    std::vector<std::vector<std::string>> owners;  ///< of each glob
    std::vector<std::string> patterns;             ///< used until all lines are read
  };

  Section& section(const std::string& name);
  void begin_section(std::string_view line);
  void add_line(std::string_view line);

  std::vector<Section> sections_;
};

/// Whether the approver `by` is one of these owners; `@` and case are ignored.
[[nodiscard]] bool is_owner(std::string_view by, const std::vector<std::string>& owners);

}  // namespace galley
