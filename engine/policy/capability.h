#pragma once

#include <string>
#include <string_view>

#include "base/glob.h"
#include "base/result.h"

namespace galley {

/// One permission in words: `fs:read`, `fs:write:src/**`, `exec:git`, `net:none`.
///
/// `<domain>:<action>[:<pattern>]`. Domains: `fs` (read, write, create, modify, delete; the pattern
/// is a gitignore glob; write includes the last three), `exec` (the action is a program, `*` any),
/// `net` (none, host). A leading `!` takes away what an earlier string gave: the last match wins.
struct Capability {
  std::string text;
  std::string domain;
  std::string action;
  GlobList paths;  ///< of fs with a pattern; of exec the program: by its name, or from the root
  bool is_denial = false;

  /// Errors: kInvalid, reason `capability.invalid`.
  [[nodiscard]] static Result<Capability> parse(std::string_view text);
};

}  // namespace galley
