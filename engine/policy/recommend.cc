#include "engine/policy/recommend.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/policy/project_survey.h"
#include "engine/policy/recommend_commands.h"

namespace galley {
namespace {

std::string validator(std::string_view comment, std::string_view keys) {
  return fmt::format("\n{}[[validator]]\n{}", comment, keys);
}

std::string commented(const std::string& text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && c != '\n') out += "# ";
    out += c;
    begins_line = c == '\n';
  }
  return out;
}

std::string policy_section() {
  return R"(# What may be changed here, and what a change has to survive. Every key: docs/configuration.md.
# Refusals name the line of this file that made them; `galley policy explain PATH` shows all of them.

[policy]
default = "allow"               # for paths that no rule below names: allow | ask | deny
# protected = ["LICENSE"]       # nobody changes these through Galley, not even with a rule

# [[policy.rule]]               # the last rule that matches a path decides
# name = "generated code"
# paths = ["src/generated/", "!src/generated/README.md"]
# decision = "deny"             # allow | ask | deny
# reason = "edit the schema and run the generator"

# [[policy.rule]]
# name = "deleting needs a person"
# paths = ["*"]
# operations = ["delete"]
# decision = "ask"

# [policy.effects]              # what one proposal may do as a whole
# max_files = 50
# max_changed_bytes = "1 MiB"
# max_deletes = 10
# over_limit = "ask"
# executable_bit = "ask"
# symlinks = "ask"
# binaries = "ask"
# submodules = "deny"

# [agents."*"]                  # what a named agent may do at most
# capabilities = ["fs:read", "fs:write", "!fs:write:.github/", "exec:*", "net:none"]
)";
}

/// The languages that galley-syntax has grammars for.
bool has_grammar(const ProjectSurvey& found) {
  return found.has({".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".py", ".js", ".jsx", ".mjs", ".cjs",
                    ".ts", ".tsx", ".cs"});
}

std::string builtin_section(const ProjectSurvey& found, const FoundPrograms& programs) {
  std::string out = "\n# --- validators: only severity = \"error\" refuses; \"warning\" tells\n";
  out += validator("", "builtin = \"conflict_markers\"\n");
  out += validator("", "builtin = \"secrets\"               # in added lines\n");
  out += validator("", "builtin = \"utf8\"                  # text that was UTF-8 stays UTF-8\n");
  if (has_grammar(found)) {
    const std::string syntax =
        validator("", "builtin = \"syntax\"                # of the languages found here\n");
    out +=
        programs.has_grammars
            ? syntax
            : "\n# --- needs the package galley-syntax, and refuses without it" + commented(syntax);
  }
  if (found.has({".json", "package.json"})) {
    out += validator("",
                     "builtin = \"json\"\npaths = [\"*.json\", \"!tsconfig*.json\", "
                     "\"!jsconfig*.json\", \"!.vscode/\", \"!.devcontainer/\"]\n");
  }
  if (found.has({".toml"})) out += validator("", "builtin = \"toml\"\n");
  if (found.has({".yml", ".yaml", ".github"})) out += validator("", "builtin = \"yaml\"\n");
  if (found.has({".xml", ".svg", ".plist", ".xsd"})) out += validator("", "builtin = \"xml\"\n");
  out += validator("",
                   "builtin = \"line_endings\"          # a file keeps the ending it has\n"
                   "severity = \"warning\"\n");
  out += validator("",
                   "builtin = \"symlinks\"              # broken ones\n"
                   "severity = \"warning\"\n");
  out += validator("", "builtin = \"size\"\nmax_bytes = \"5 MiB\"\nseverity = \"warning\"\n");
  out += commented(
      "\n[[validator]]\nbuiltin = \"whitespace\"            # as git diff --check\n"
      "\n[[validator]]\nbuiltin = \"last_newline\"\n"
      "\n[[validator]]\nbuiltin = \"shebang\"\n"
      "\n[[validator]]\nbuiltin = \"forbidden_text\"\n"
      "patterns = ['(?i)do not commit', '\\bFIXME\\b']\n");
  return out;
}

std::string command_section(const ProjectSurvey& found, const FoundPrograms& programs,
                            std::vector<std::string>& folders) {
  std::string text;
  std::string missing;
  for (const RecommendedCommand& one : recommended_commands(found, programs)) {
    if (!one.is_there) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", one.name);
      continue;
    }
    text += "\n" + command_text(one);
    if (!programs.folders) continue;
    for (const std::string& folder : programs.folders(one.program)) {
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
        folders.push_back(folder);
      }
    }
  }
  std::string out;
  if (!text.empty()) {
    out =
        "\n# --- found in this workspace; take the # away to switch them on, then: galley trust\n"
        "# --- A validator whose program is missing refuses everything it is concerned with.\n" +
        commented(text);
  }
  if (!missing.empty()) {
    out += "\n# --- not proposed, for their programs were not found here: " + missing + "\n";
  }
  return out;
}

std::string readable_line(const std::vector<std::string>& folders) {
  if (folders.empty()) return {};
  std::string list;
  for (const std::string& folder : folders) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", folder);
  }
  return fmt::format("# readable = [{}]   # where the programs above lie; read-only\n", list);
}

std::string other_sections(const std::vector<std::string>& folders) {
  return R"(
# --- the rest, with its defaults
# [commit]
# durability = "full"           # full | group | none
# isolation = "snapshot"        # or serializable: what was read must not have changed either
# hard_links = "break"          # or refuse
#
# [history]
# keep_transactions = 1000
# keep_days = 90
#
# [sandbox]
# fallback = "refuse"           # where namespaces are missing: or copy
# network = false
)" + readable_line(folders) +
         R"(#
# [edits]
# max_step = "unicode"          # exact | offset | line_ends | fuzz | whitespace | unicode
)";
}

}  // namespace

Result<std::string> recommended_config(const Directory& root, const FoundPrograms& programs) {
  GALLEY_ASSIGN(const ProjectSurvey found, survey_project(root));
  std::vector<std::string> folders;
  const std::string commands = command_section(found, programs, folders);
  return policy_section() + builtin_section(found, programs) + commands + other_sections(folders);
}

}  // namespace galley
