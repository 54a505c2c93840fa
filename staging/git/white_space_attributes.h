#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// git's rules for white space errors in the files of a workspace. They are `core.whitespace`, and
/// the attribute `whitespace` (gitattributes(5)) from `info/attributes`, the .gitattributes files
/// and core.attributesFile. Files are read as in IgnoreFiles. Macros (`[attr]`) are ignored.
///
/// Ownership: owns the directory of the work tree. Threads: confined to one thread.
class WhiteSpaceAttributes {
 public:
  /// Maximum size of one file of attributes. A larger one is ignored.
  static constexpr size_t kMaxAttributesBytes = size_t{1} << 20U;

  /// Reads the rules for `workspace` (absolute, with links resolved). Outside of a git work tree
  /// only git's defaults and the workspace's .gitattributes files count.
  static Result<WhiteSpaceAttributes> open(const std::string& workspace);

  /// The rules for a path of the workspace, in the form of core.whitespace; empty for the defaults.
  [[nodiscard]] std::string rules_of(const RelPath& path);

 private:
  struct Line {
    Glob pattern;
    std::string value;  ///< "whitespace", "-whitespace", "!whitespace" or "whitespace=..."
  };
  using Lines = std::vector<Line>;

  WhiteSpaceAttributes() = default;
  static Lines parse(std::string_view text);
  static const std::string* deciding(const Lines& lines, std::string_view path);
  const Lines& lines_of(const RelPath& directory);
  [[nodiscard]] std::string rules_by(const std::string& value) const;

  std::shared_ptr<const Directory> work_tree_;
  RelPath prefix_ = RelPath::root();  ///< of the workspace within the work tree
  Lines info_;
  Lines outermost_;
  std::string core_;
  std::unordered_map<std::string, Lines> lines_;  ///< by directory
};

}  // namespace galley
