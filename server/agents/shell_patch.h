#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// A patch that a shell command passes to `apply_patch`.
struct ShellPatch {
  std::string patch;
  std::string directory;  ///< of a `cd DIR &&` before it; empty: none
};

/// Finds the patch if the command does nothing else, in the forms that models write:
///
///     apply_patch <<'EOF'            cd DIR && apply_patch <<'EOF'
///     apply_patch '*** Begin Patch … *** End Patch'
///
/// Returns nullopt if the command contains anything else that a shell would run, or if the shell
/// would replace something in the patch.
[[nodiscard]] std::optional<ShellPatch> patch_in_shell_command(std::string_view command);

}  // namespace galley
