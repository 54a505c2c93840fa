#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {

/// Whose rules for programs, and where names of programs are looked up.
struct ProgramScope {
  Principals who;
  std::string workspace;    ///< absolute path of the root
  std::string search_path;  ///< as PATH
};

/// What `sandbox.allow`, `sandbox.deny` and the agent's `exec` capabilities mean for the programs
/// that a command starts: resolved files, since a wall knows no names and no arguments. A rule that
/// cannot be put that way is named in `unchecked`.
[[nodiscard]] ProgramRules program_rules(const Config& config, const ProgramScope& scope);

/// The rules, narrowed to the programs that a call may start (Command::programs). What names a
/// program that is many in one is named in `unchecked`.
[[nodiscard]] ProgramRules narrowed_to(const std::vector<std::string>& programs, ProgramRules rules,
                                       const ProgramScope& scope);
/// Whether the program that `name` was resolved to is one of them.
[[nodiscard]] bool is_among(const std::vector<std::string>& programs, const std::string& name,
                            const ResolvedProgram& program, const ProgramScope& scope);

/// A rule's program as a path: one with a `/` in it lies below the workspace unless it is absolute,
/// and what ends in `/` is a directory. A plain name stays as it is.
[[nodiscard]] std::string placed_rule(const std::string& rule, const std::string& workspace);

}  // namespace galley
