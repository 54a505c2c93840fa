#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// A patch that a shell command hands to `apply_patch`.
struct ShellPatch {
  std::string patch;
  std::string directory;  ///< of a `cd DIR &&` before it; empty: none
};

/// Finds the patch where the command does nothing else, in the forms that models write:
///
///     apply_patch <<'EOF'            cd DIR && apply_patch <<'EOF'
///     apply_patch '*** Begin Patch … *** End Patch'
///
/// Nothing where anything stands before, behind or between that a shell would also do, or where it
/// would replace something in the patch.
[[nodiscard]] std::optional<ShellPatch> patch_in_shell_command(std::string_view command);

/// One word of a shell's command line that means exactly these bytes.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace galley
