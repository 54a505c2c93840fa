#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// One of git's hooks (githooks(5)) that Galley uses.
struct HookKind {
  std::string_view name;
  bool judges = false;       ///< it can refuse, so git must stop when galley is not found
  bool reads_input = false;  ///< git gives it the updated references on standard input
  bool is_of_server = false;
  bool is_usual = true;  ///< installed when no hook is named
};

/// All hooks that Galley uses, in the order in which git runs them.
[[nodiscard]] const std::vector<HookKind>& hook_kinds();
/// Returns the hook of that name, or null.
[[nodiscard]] const HookKind* find_hook_kind(std::string_view name);

/// The name of the file, next to a hook, that keeps the earlier hook.
[[nodiscard]] std::string earlier_hook_name(std::string_view hook);

/// The name of the folder through which kept hooks run under their own names. The hook file creates
/// it next to the folder `hooks`.
[[nodiscard]] std::string hook_view_name(std::string_view hooks);

/// The text of the hook file: a script for sh that runs the kept hook first, then `galley hook run
/// NAME`. Its second line has the hash of all other lines, so that each version of Galley
/// recognises the files that other versions wrote.
[[nodiscard]] std::string hook_script(const HookKind& kind);

/// The author of the text of a hook file.
enum class HookAuthor : uint8_t {
  kGalley,
  kChanged,  ///< Galley wrote it, and it was changed since
  kOther,
};
[[nodiscard]] HookAuthor hook_author(std::string_view text);

}  // namespace galley
