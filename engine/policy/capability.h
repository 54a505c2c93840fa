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
/// The format is `<domain>:<action>[:<pattern>]`. Galley's own domains are:
///
///     fs     read, write, create, modify, delete; write includes the last three; the pattern is a
///            gitignore glob
///     exec   the action is a program; `*`: any
///     net    none, host
///
/// Every other domain is open: the author of a tool chooses its name. Its domain, action and
/// pattern may contain `*` and `?`; the domain `*` means all open domains. A leading `!` denies
/// what an earlier string gave: the last match decides.
struct Capability {
  std::string text;
  std::string domain;
  std::string action;
  GlobList paths;       ///< for fs: the pattern; for exec: the program's name or path
  std::string pattern;  ///< of an open domain; empty: any object of the action
  bool is_denial = false;

  /// Parses one capability.
  /// Errors: kInvalid `capability.invalid`.
  [[nodiscard]] static Result<Capability> parse(std::string_view text);

  /// Whether its domain is open: not files, programs or network.
  [[nodiscard]] bool is_open() const;
  /// Whether it covers the whole need of a tool: `fs:read`, `exec`, `custom:deploy`. A capability
  /// for a part (`fs:write:src/**` of `fs:write`) does not cover the need.
  [[nodiscard]] bool covers(std::string_view needed) const;
  /// Whether it covers at least a part of the need. Galley judges the rest when it knows the
  /// details. In an open domain it cannot judge details, so a part is not enough.
  [[nodiscard]] bool concerns(std::string_view needed) const;
};

/// Whether a tool's need is in an open domain.
[[nodiscard]] bool is_open_need(std::string_view needed);

/// A program as `exec` capabilities see it.
struct CalledProgram {
  std::string_view path;          ///< as it is called
  std::string_view real;          ///< the file to which the path leads
  std::string_view in_workspace;  ///< its path below the workspace; empty: it is elsewhere
  bool is_found_by_name = false;  ///< in PATH and outside of the workspace
};

/// The capability that an action needs.
struct Need {
  std::string text;  ///< the capability that would allow the action
  std::function<bool(const Capability&)> is_matched_by;

  /// A need that a tool declares: `fs:read`, `exec:git`, `custom:deploy`. A capability for a part
  /// of it is enough if Galley judges the rest later. Only a denial of the whole need denies it.
  static Need of(std::string_view text);
  /// A need for a path. `action` is read, create, modify or delete, or write if the exact action is
  /// not known.
  static Need file(std::string_view action, const RelPath& path, bool is_directory = false);
  /// A need for a program. A capability with a `/` names its path, from the root or below the
  /// workspace; one without gives only a program that is found by its name, but denies all of that
  /// name.
  static Need program(const CalledProgram& program);
  static Need network();
};

/// Capabilities in their written order. The last one that concerns a need decides.
using Capabilities = std::vector<Capability>;

/// Parses several capabilities.
/// Errors: kInvalid `capability.invalid`.
[[nodiscard]] Result<Capabilities> parse_capabilities(const std::vector<std::string>& texts);
/// Returns the capability that decides about the need, or null if none concerns it.
[[nodiscard]] const Capability* deciding_capability(const Capabilities& capabilities,
                                                    const Need& need);
/// Whether the capabilities give the need.
[[nodiscard]] bool gives(const Capabilities& capabilities, const Need& need);
/// Whether they give the need that Need::of returns, or Need::file, without making it.
[[nodiscard]] bool gives(const Capabilities& capabilities, std::string_view needed);
[[nodiscard]] bool gives_file(const Capabilities& capabilities, std::string_view action,
                              const RelPath& path);

}  // namespace galley
