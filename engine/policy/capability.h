#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// One permission as text: `fs:read`, `fs:write:src/**`, `exec:git`, `net:none`, `custom:deploy`.
///
/// `<domain>:<action>[:<pattern>]`. Galley's domains are `fs` (read, write, create, modify, delete;
/// the pattern is a gitignore glob; write includes the last three), `exec` (the action is a
/// program, `*` any) and `net` (none, host). Every other domain is open: a tool's author names it,
/// and domain, action and pattern may contain `*` and `?`; `*` as a domain means all open ones. A
/// leading `!` takes away what an earlier string gave: the last match wins.
struct Capability {
  std::string text;
  std::string domain;
  std::string action;
  GlobList paths;  ///< for fs: the pattern; for exec: the program, by its name or its path from the
                   ///< root
  std::string pattern;  ///< of an open domain; empty: any object of the action
  bool is_denial = false;

  /// Errors: kInvalid, reason `capability.invalid`.
  [[nodiscard]] static Result<Capability> parse(std::string_view text);

  /// Whether it is of a domain that Galley does not know: not files, programs or network.
  [[nodiscard]] bool is_open() const;
  /// Whether it covers all of a tool's need: `fs:read`, `exec`, `custom:deploy`. A part of it
  /// (`fs:write:src/**` of `fs:write`) does not cover it.
  [[nodiscard]] bool covers(std::string_view needed) const;
  /// Whether it covers at least a part of the need. Galley judges the rest when the details are
  /// known. In an open domain it cannot judge them, so there a part does not count.
  [[nodiscard]] bool concerns(std::string_view needed) const;
};

/// Whether a tool's need is in an open domain.
[[nodiscard]] bool is_open_need(std::string_view needed);

/// An intended action, in terms of capabilities.
struct Need {
  std::string text;  ///< the capability that would allow it
  std::function<bool(const Capability&)> is_meant_by;

  /// A need as a tool declares it: `fs:read`, `exec:git`, `custom:deploy`. A part of it is enough
  /// to give it, where Galley judges the rest later; only a denial of all of it denies it.
  static Need of(std::string_view text);
  /// `action` is read, create, modify or delete; or write when the exact action is unknown.
  static Need file(std::string_view action, const RelPath& path);
  /// A program, by the path that was called and by the file that this path resolves to.
  static Need program(std::string_view called, std::string_view real);
  static Need network();
};

/// Ordered as written: the last one that concerns a need decides.
using Capabilities = std::vector<Capability>;

/// Errors: kInvalid, reason `capability.invalid`.
[[nodiscard]] Result<Capabilities> parse_capabilities(const std::vector<std::string>& texts);
/// The capability that decides; null when none concerns the need.
[[nodiscard]] const Capability* deciding_capability(const Capabilities& capabilities,
                                                    const Need& need);
[[nodiscard]] bool gives(const Capabilities& capabilities, const Need& need);

}  // namespace galley
