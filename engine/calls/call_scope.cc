#include "engine/calls/call_scope.h"

#include <algorithm>
#include <utility>

#include "staging/overlay/staged_step.h"
#include "tools/call_arguments.h"

namespace galley {
namespace {

bool is_variable_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Variables that could make an allowed program run other code.
bool decides_what_runs(const std::string& name) {
  return name == "PATH" || name == "IFS" || name == "ENV" || name == "BASH_ENV" ||
         name.starts_with("LD_") || name.starts_with("GALLEY_");
}

Result<void> check_environment(const std::map<std::string, std::string>& environment) {
  size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    if (!is_variable_name(name) || decides_what_runs(name)) {
      return fail(ErrorKind::kInvalid, "call.environment",
                  "the environment of a call cannot have '" + name.substr(0, 64) +
                      "': letters, digits and _, and none that decides what a program runs");
    }
    if (value.find('\0') != std::string::npos) {
      return fail(ErrorKind::kInvalid, "call.environment",
                  "the value of '" + name + "' in the environment of a call has a NUL byte");
    }
    bytes += name.size() + value.size();
  }
  if (environment.size() <= kMaxEnvironmentNames && bytes <= kMaxEnvironmentBytes) return {};
  return fail(ErrorKind::kQuota, "limit.environment",
              "the environment of a call has more than " + std::to_string(kMaxEnvironmentNames) +
                  " names or " + std::to_string(kMaxEnvironmentBytes) + " bytes");
}

/// Parses the capabilities of an agent. Nearly all calls have the same few, so a thread keeps the
/// last ones that it parsed, and uses them again only for the same texts.
Result<std::shared_ptr<const Capabilities>> parsed(const std::vector<std::string>& texts) {
  struct Last {
    std::vector<std::string> texts;
    std::shared_ptr<const Capabilities> parsed = std::make_shared<const Capabilities>();
  };
  thread_local Last last;
  if (last.texts != texts) {
    GALLEY_ASSIGN(Capabilities all, parse_capabilities(texts));
    last = {texts, std::make_shared<const Capabilities>(std::move(all))};
  }
  return last.parsed;
}

/// Prefixes each name with `exec:`.
Result<Capabilities> program_capabilities(const std::vector<std::string>& programs) {
  std::vector<std::string> texts;
  for (const std::string& program : programs) {
    if (program.empty() || program.front() == '!') {
      return fail(ErrorKind::kInvalid, "call.program",
                  "'" + program + "' is not a name of a program that a call may start");
    }
    texts.push_back("exec:" + program);
  }
  return parse_capabilities(texts);
}

/// Returns an error if the action needs a capability that is not given, as far as its arguments
/// show. A path or program that no capability covers is not allowed.
std::optional<Error> missing_in(const Capabilities& given, const Action& action) {
  const auto missing = [](const Need& need, std::string_view what, const std::string& name) {
    return Error{ErrorKind::kRefused, "capability.missing",
                 std::string(what) + " '" + name + "' needs the capability '" + need.text +
                     "', which this caller was not given",
                 "", 0};
  };
  for (const std::string& needed : action.capabilities) {
    if (gives(given, needed)) continue;
    return missing(Need::of(needed), "the tool", action.record.tool);
  }
  for (const RelPath& path : action.intent.reads) {
    if (gives_file(given, "read", path)) continue;
    return missing(Need::file("read", path), "reading", path.str());
  }
  for (const RelPath& path : action.intent.writes) {
    if (gives_file(given, "write", path)) continue;
    return missing(Need::file("write", path), "writing", path.str());
  }
  for (const std::string& program : action.intent.programs) {
    const std::string needed = "exec:" + program;
    if (!gives(given, needed)) return missing(Need::of(needed), "running", program);
  }
  return {};
}

}  // namespace

Result<CallScope> CallScope::of(const CallOptions& options, const std::vector<std::string>& granted,
                                const std::string& root) {
  CallScope scope;
  GALLEY_ASSIGN(scope.granted_, parsed(granted));
  scope.capabilities_ = granted;
  if (options.only_capabilities) {
    GALLEY_ASSIGN(scope.only_, parse_capabilities(*options.only_capabilities));
    scope.capabilities_.clear();
    for (const std::string& text : *options.only_capabilities) {
      const bool is_given = text.starts_with('!') || gives(*scope.granted_, text);
      if (is_given) scope.capabilities_.push_back(text);
    }
    // Denials of the agent stay in force, since the last match wins.
    for (const std::string& text : granted) {
      if (text.starts_with('!')) scope.capabilities_.push_back(text);
    }
  }
  if (options.only_programs) {
    GALLEY_ASSIGN(scope.programs_, program_capabilities(*options.only_programs));
  }
  GALLEY_TRY(check_environment(options.environment));
  GALLEY_ASSIGN(scope.cwd_, directory_argument(options.cwd, {root}));
  return scope;
}

std::optional<Error> CallScope::refusal(const Action& action) const {
  if (auto missing = missing_in(*granted_, action)) return missing;
  if (only_) {
    if (auto missing = missing_in(*only_, action)) return missing;
  }
  if (!programs_) return {};
  for (const std::string& program : action.intent.programs) {
    if (gives(*programs_, "exec:" + program)) continue;
    return Error{ErrorKind::kRefused, "capability.missing",
                 "'" + program + "' is not among the programs that this call may start", "", 0};
  }
  return {};
}

std::optional<Error> CallScope::refusal_of_effect(const Action& action,
                                                  const Overlay::Entries& before,
                                                  const Overlay::Entries& now) const {
  if (!only_) return {};
  Action done;
  done.record.tool = action.record.tool;
  for (const RelPath& path : restaged_paths(before, now)) {
    const auto at = now.find(path);
    // A directory is created and removed with the files in it.
    if (at != now.end() && at->second.now.kind == FileKind::kDirectory) continue;
    done.intent.writes.push_back(path);
  }
  return missing_in(*only_, done);
}

std::function<bool(const RelPath&)> CallScope::reading_rule(
    std::function<bool(const RelPath&)> outer) const {
  if (!only_) return outer;
  return [outer = std::move(outer), only = *only_](const RelPath& path) {
    return gives_file(only, "read", path) && (!outer || outer(path));
  };
}

}  // namespace galley
