#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// The rules for white space errors: git's core.whitespace (git-config(1)) with git's defaults.
struct WhiteSpaceRules {
  bool blank_at_eol = true;
  bool blank_at_eof = true;
  bool space_before_tab = true;
  bool indent_with_non_tab = false;
  bool tab_in_indent = false;
  bool cr_at_eol = false;  ///< a CR before the LF is allowed
  uint32_t tab_width = 8;

  bool operator==(const WhiteSpaceRules&) const = default;
};

/// The defaults with the changes in `text`, such as `trailing-space,-space-before-tab,tabwidth=4`.
/// Unknown words are ignored, as in git.
[[nodiscard]] WhiteSpaceRules white_space_rules(std::string_view text);

/// The errors of a line in git's words, such as "trailing whitespace, tab in indent"; empty if
/// there are none.
[[nodiscard]] std::string white_space_errors(std::string_view line, const WhiteSpaceRules& rules);

/// Returns `line` as `git apply --whitespace=fix` repairs it (git's ws.c, ws_fix_copy).
[[nodiscard]] std::string mended_line(std::string_view line, const WhiteSpaceRules& rules);

/// A hunk with added lines that violate the rules.
struct WhiteSpaceFinding {
  uint32_t document_line = 0;  ///< of the hunk
  std::string errors;
};
[[nodiscard]] std::vector<WhiteSpaceFinding> find_white_space(const FileEdit& edit,
                                                              const WhiteSpaceRules& rules);

/// Returns the edit with repaired added lines. `kept` owns their texts.
[[nodiscard]] FileEdit with_lines_mended(const FileEdit& edit, const WhiteSpaceRules& rules,
                                         std::deque<std::string>& kept);

/// Returns the rules for one file's edit. A CR is allowed if an old line of the edit ends in CR LF.
[[nodiscard]] WhiteSpaceRules rules_for(const FileEdit& edit, WhiteSpaceRules rules);

/// The number of blank lines that the hunk adds at its end. Blank context lines may be between or
/// after them.
[[nodiscard]] size_t blank_lines_added_last(const Hunk& hunk);

/// Returns `text` without its last lines, at most `count`, as long as they are blank.
[[nodiscard]] std::string_view without_last_blank_lines(std::string_view text, size_t count);

}  // namespace galley
