#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// One of git's hooks (githooks(5)) that Galley has something to do in.
struct HookKind {
  std::string_view name;
  bool judges = false;       ///< it can refuse, so nothing goes on where galley is not found
  bool reads_input = false;  ///< git gives it the updated references on standard input
  bool is_of_server = false;
  bool is_usual = true;  ///< installed when none is named
};

/// All of them, in the order in which git runs them.
[[nodiscard]] const std::vector<HookKind>& hook_kinds();
/// The one of that name, or null.
[[nodiscard]] const HookKind* find_hook_kind(std::string_view name);
/// Their names, for messages: `pre-commit, commit-msg, …`.
[[nodiscard]] std::string hook_names();

/// The name beside a hook under which the one that was there before is kept.
[[nodiscard]] std::string kept_hook_name(std::string_view hook);

/// The name beside a folder of hooks of the one by way of which kept hooks run under their own
/// names; the hook file makes it.
[[nodiscard]] std::string hook_view_name(std::string_view hooks);

/// The text of the hook file: a script for sh that runs the kept hook first, then
/// `galley hook run NAME`. Its second line has the hash of all others, so that any version of
/// Galley knows what some version of it wrote.
[[nodiscard]] std::string hook_script(const HookKind& kind);

/// Who wrote the text of a hook file.
enum class HookAuthor : uint8_t {
  kGalley,
  kChanged,  ///< Galley, and somebody changed it since
  kOther,
};
[[nodiscard]] HookAuthor hook_author(std::string_view text);

}  // namespace galley
