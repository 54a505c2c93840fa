#include "server/agents/wrapper_script.h"

#include <array>
#include <utility>

namespace galley {
namespace {

// The agent's own arguments must follow all others, so they are moved there one by one.
constexpr std::string_view kScript =
    R"(# Runs @NAME@ inside of a transaction: what it writes is staged, and judged before it is
# committed. 'galley agents uninstall @NAME@ --wrapper' removes this file.
arguments=$#
for place in @PLACES@; do
  mkdir -p "$place" || exit
  set -- "$@" --allow-write "$place"
done
set -- "$@" -- env @VARIABLES@ @WORDS@
while [ "$arguments" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  arguments=$((arguments - 1))
done
exec galley run --network "$@"
)";

/// The settings of an agent for a run, in shell syntax.
struct WrappedAgent {
  std::string places;     ///< folders outside the workspace that it writes to
  std::string variables;  ///< variables with these folders; the sandbox passes none by default
  std::string words;      ///< program and arguments
};

WrappedAgent wrapped_opencode() {
  constexpr std::array<std::pair<const char*, const char*>, 4> kFolders = {{
      {"CONFIG", ".config"},
      {"DATA", ".local/share"},
      {"STATE", ".local/state"},
      {"CACHE", ".cache"},
  }};
  WrappedAgent agent{"", R"("HOME=$HOME")", "opencode"};
  for (const auto& [name, folder] : kFolders) {
    const std::string variable = "XDG_" + std::string(name) + "_HOME";
    const std::string place = "${" + variable + ":-$HOME/" + folder + "}";
    agent.places += (agent.places.empty() ? "\"" : " \"") + place + "/opencode\"";
    agent.variables += " \"" + variable + "=" + place + "\"";
  }
  return agent;
}

WrappedAgent wrapped(std::string_view agent) {
  if (agent == "opencode") return wrapped_opencode();
  if (agent == "gemini") return {R"("$HOME/.gemini")", R"("HOME=$HOME")", "gemini"};
  if (agent == "claude") {
    const std::string place = "${CLAUDE_CONFIG_DIR:-$HOME/.claude}";
    return {"\"" + place + "\"", R"("HOME=$HOME" "CLAUDE_CONFIG_DIR=)" + place + "\"", "claude"};
  }
  // codex cannot make its own sandbox inside Galley's, which replaces it here.
  return {R"("${CODEX_HOME:-$HOME/.codex}")", R"("CODEX_HOME=${CODEX_HOME:-$HOME/.codex}")",
          "codex -c sandbox_mode=danger-full-access"};
}

void replace_all(std::string& text, std::string_view name, const std::string& value) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), value);
    at += value.size();
  }
}

}  // namespace

std::string wrapper_script(std::string_view agent) {
  const WrappedAgent words = wrapped(agent);
  std::string script(kScript);
  replace_all(script, "@NAME@", std::string(agent));
  replace_all(script, "@PLACES@", words.places);
  replace_all(script, "@VARIABLES@", words.variables);
  replace_all(script, "@WORDS@", words.words);
  return script;
}

}  // namespace galley
