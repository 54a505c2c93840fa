#pragma once

#include <string>
#include <string_view>

#include "base/glob.h"
#include "base/result.h"

namespace galley {

/// One permission in words: `fs:read`, `fs:write:src/**`, `exec:git`, `net:none`, `custom:deploy`.
///
/// `<domain>:<action>[:<pattern>]`. `fs` (read, write, create, modify, delete; the pattern is a
/// gitignore glob; write includes the last three), `exec` (the action is a program, `*` any) and
/// `net` (none, host) are Galley's. Every other domain is open: whoever writes a tool names it, and
/// domain, action and pattern may have `*` and `?` in them; `*` as a domain stands for all open
/// ones. A leading `!` takes away what an earlier string gave: the last match wins.
struct Capability {
  std::string text;
  std::string domain;
  std::string action;
  GlobList paths;  ///< of fs with a pattern; of exec the program: by its name, or from the root
  std::string pattern;  ///< of an open domain; empty: whatever the action is done to
  bool is_denial = false;

  /// Errors: kInvalid, reason `capability.invalid`.
  [[nodiscard]] static Result<Capability> parse(std::string_view text);

  /// Whether it is about something that Galley knows nothing of: not files, programs or network.
  [[nodiscard]] bool is_open() const;
  /// Whether it speaks of all of what a tool says it needs: `fs:read`, `exec`, `custom:deploy`. A
  /// part of it (`fs:write:src/**` of `fs:write`) does not.
  [[nodiscard]] bool covers(std::string_view needed) const;
  /// Whether it speaks of a part of it at least. What is missing is judged when it is known; in an
  /// open domain nobody judges it, so that there a part is nothing.
  [[nodiscard]] bool concerns(std::string_view needed) const;
};

/// Whether what a tool needs lies in an open domain.
[[nodiscard]] bool is_open_need(std::string_view needed);

/// Whether these capabilities, the last match winning, give what a tool says it needs.
template <class Capabilities>
[[nodiscard]] bool gives(const Capabilities& capabilities, std::string_view needed) {
  bool is_given = false;
  for (const Capability& each : capabilities) {
    if (each.is_denial ? each.covers(needed) : each.concerns(needed)) is_given = !each.is_denial;
  }
  return is_given;
}

}  // namespace galley
