#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
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

/// What somebody would do, as capabilities speak of it.
struct Need {
  std::string text;  ///< the capability that would give it
  std::function<bool(const Capability&)> is_meant_by;

  /// As a tool says it: `fs:read`, `exec:git`, `custom:deploy`. To give it, a part of it is enough
  /// where Galley judges the rest later; to deny it, all of it must be denied.
  static Need of(std::string_view text);
  /// `action` is read, create, modify, delete, or write for what is not known better.
  static Need file(std::string_view action, const RelPath& path);
  /// A program by the path that was called and by the file which that is.
  static Need program(std::string_view called, std::string_view real);
  static Need network();
};

/// In the order in which they were said: of those that are about a need, the last one decides.
using Capabilities = std::vector<Capability>;

/// Errors: kInvalid, reason `capability.invalid`.
[[nodiscard]] Result<Capabilities> parse_capabilities(const std::vector<std::string>& texts);
/// The one that decides; null where none is about it.
[[nodiscard]] const Capability* last_word(const Capabilities& capabilities, const Need& need);
[[nodiscard]] bool gives(const Capabilities& capabilities, const Need& need);

}  // namespace galley
