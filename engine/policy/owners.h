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
/// The last line that matches a path decides, and a line without owners removes ownership. In
/// GitLab's sections (`[Docs] @writers`) each section decides by itself, and an owner of each must
/// approve; an optional section (`^[Docs]`) needs no approval. Patterns are gitignore's, as both
/// document.
/// Threads: immutable, safe to share.
class Owners {
 public:
  /// A file with more bytes is refused (GitHub reads 3 MB).
  static constexpr size_t kMaxFileBytes = size_t{3} << 20U;

  /// Errors: kInvalid `owners.syntax`, which names the line.
  [[nodiscard]] static Result<Owners> parse(const std::vector<std::string>& lines);
  /// The lines of `file`, then `more`. Without a file, the first of the places where GitHub and
  /// GitLab look: .github/, the root, docs/, .gitlab/.
  [[nodiscard]] static Result<Owners> load(const Directory& workspace, const std::string& file,
                                           const std::vector<std::string>& more);

  /// For each section with owners of the path, the owners of whom one must approve.
  [[nodiscard]] std::vector<std::vector<std::string>> of(const RelPath& path) const;
  [[nodiscard]] bool is_empty() const { return sections_.empty(); }

 private:
  struct Section {
    std::string name;  ///< as GitLab compares it: in lower case
    bool is_optional = false;
    std::vector<std::string> standard;  ///< owners of lines that name none
    GlobList globs;
    std::vector<std::vector<std::string>> owners;  ///< of each glob
    std::vector<std::string> patterns;             ///< until all lines are read
  };

  Section& section(const std::string& name);
  void begin_section(std::string_view line);
  void add_line(std::string_view line);

  std::vector<Section> sections_;
};

/// Whether the approver `by` is one of these owners; `@` and case are ignored.
[[nodiscard]] bool is_owner(std::string_view by, const std::vector<std::string>& owners);

}  // namespace galley
