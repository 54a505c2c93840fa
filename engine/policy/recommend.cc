#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "engine/policy/config.h"

namespace galley {
namespace {

constexpr size_t kMaxLooks = 4000;  // entries; enough to meet every language of a project
constexpr size_t kMaxDepth = 4;
constexpr uint64_t kMaxProjectFileBytes = uint64_t{1} << 20U;

/// What a workspace seems to be made of.
struct Survey {
  std::set<std::string> extensions;  ///< `.c`
  std::set<std::string> root_files;
  std::string package_json;
  std::string pyproject;
  std::string makefile;

  [[nodiscard]] bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(any.begin(), any.end(), [this](std::string_view one) {
      return extensions.contains(std::string(one)) || root_files.contains(std::string(one));
    });
  }
};

bool is_of_no_interest(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "node_modules", "target", "build", "dist", "vendor", "__pycache__", "third_party", "venv"};
  return name.starts_with('.') || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string read_if_there(const Directory& root, std::string_view name) {
  const auto path = RelPath::parse(name);
  if (!path) return {};
  auto text = read_file(root, *path, kMaxProjectFileBytes);
  return text ? std::move(*text) : std::string();  // nothing to recommend from what cannot be read
}

/// What `top` is for the root, read anew below it; nothing of a directory that cannot be read.
std::vector<DirectoryEntry> entries_of(const Directory& root, const RelPath& directory,
                                       const std::vector<DirectoryEntry>& top) {
  if (directory.is_root()) return top;
  const auto opened = root.open_directory(directory);
  if (!opened) return {};
  auto entries = (*opened)->list();
  return entries ? std::move(*entries) : std::vector<DirectoryEntry>();
}

void note_extension(const DirectoryEntry& entry, Survey& found) {
  const size_t dot = entry.name.rfind('.');
  if (entry.kind != FileKind::kRegular || dot == std::string::npos || dot == 0) return;
  found.extensions.insert(entry.name.substr(dot));
}

Result<Survey> survey(const Directory& root) {
  Survey found;
  GALLEY_ASSIGN(const auto top, root.list());
  for (const auto& entry : top) found.root_files.insert(entry.name);
  std::deque<std::pair<RelPath, size_t>> todo = {{RelPath::root(), 0}};
  size_t looks = 0;
  while (!todo.empty() && looks < kMaxLooks) {
    const auto [directory, depth] = todo.front();
    todo.pop_front();
    for (const auto& entry : entries_of(root, directory, top)) {
      if (++looks > kMaxLooks) break;
      if (is_of_no_interest(entry.name)) continue;
      note_extension(entry, found);
      const auto name = RelPath::parse(entry.name);
      if (entry.kind != FileKind::kDirectory || depth == kMaxDepth || !name) continue;
      if (const auto path = directory.join(*name)) todo.emplace_back(*path, depth + 1);
    }
  }
  found.package_json = read_if_there(root, "package.json");
  found.pyproject = read_if_there(root, "pyproject.toml");
  found.makefile = read_if_there(root, "Makefile");
  return found;
}

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

std::string builtin_section(const Survey& found) {
  std::string out = "\n# --- validators: only severity = \"error\" refuses; \"warning\" tells\n";
  out += validator("", "builtin = \"conflict_markers\"\n");
  out += validator("", "builtin = \"secrets\"               # in added lines\n");
  out += validator("", "builtin = \"utf8\"                  # text that was UTF-8 stays UTF-8\n");
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

std::string formatter(std::string_view name, std::string_view command, std::string_view paths) {
  return fmt::format("\n[[validator]]\nname = \"{}\"\ncommand = [{}]\npaths = [{}]\nfix = true\n",
                     name, command, paths);
}

std::string tests(std::string_view name, std::string_view command, std::string_view more) {
  return fmt::format("\n[[validator]]\nname = \"{}\"\ncommand = [{}]\ntimeout_ms = 600000\n{}",
                     name, command, more);
}

std::string formatters(const Survey& found) {
  std::string out;
  if (found.has({".clang-format"})) {
    out += formatter("clang-format", "\"clang-format\", \"-i\", \"{files}\"",
                     "\"*.c\", \"*.cc\", \"*.cpp\", \"*.h\", \"*.hpp\"");
  }
  if (found.package_json.find("\"prettier\"") != std::string::npos) {
    out += formatter("prettier", "\"npx\", \"prettier\", \"--write\", \"{files}\"",
                     "\"*.js\", \"*.ts\", \"*.jsx\", \"*.tsx\", \"*.css\", \"*.md\"");
  }
  if (found.pyproject.find("ruff") != std::string::npos) {
    out += formatter("ruff", "\"ruff\", \"format\", \"{files}\"", "\"*.py\"");
  } else if (found.pyproject.find("black") != std::string::npos) {
    out += formatter("black", "\"black\", \"-q\", \"{files}\"", "\"*.py\"");
  }
  if (found.has({"Cargo.toml"})) {
    out += formatter("rustfmt", "\"rustfmt\", \"{files}\"", "\"*.rs\"");
  }
  if (found.has({"go.mod"})) {
    out += formatter("gofmt", "\"gofmt\", \"-w\", \"{files}\"", "\"*.go\"");
  }
  return out;
}

bool has_test_target(const std::string& makefile) {
  return makefile.starts_with("test:") || makefile.find("\ntest:") != makefile.npos;
}

std::string command_section(const Survey& found) {
  std::string out = formatters(found);
  if (found.has({".py"}) && out.find("ruff") == out.npos) {
    out +=
        "\n[[validator]]\nname = \"python syntax\"\n"
        "command = [\"python3\", \"-m\", \"py_compile\", \"{files}\"]\npaths = [\"*.py\"]\n";
  }
  if (found.package_json.find("\"test\"") != std::string::npos) {
    out += tests("npm test", "\"npm\", \"test\"", "only_new = true\n");
  }
  if (found.has({"Cargo.toml"})) {
    out += tests("cargo test", "\"cargo\", \"test\", \"--offline\"", "keep = [\"target\"]\n");
  }
  if (found.has({"go.mod"})) out += tests("go test", "\"go\", \"test\", \"./...\"", "");
  if (found.has({".py"}) && found.has({"tests", "test", "pytest.ini", "tox.ini"})) {
    out += tests("pytest", "\"python3\", \"-m\", \"pytest\", \"-q\"", "");
  }
  if (found.has({"CMakeLists.txt"})) {
    out += tests("build and test",
                 "\"sh\", \"-c\", \"cmake -B build && cmake --build build && ctest --test-dir "
                 "build\"",
                 "keep = [\"build\"]\nparser = \"gcc\"\n");
  } else if (has_test_target(found.makefile)) {
    out += tests("make test", "\"make\", \"test\"", "parser = \"gcc\"\n");
  }
  if (out.empty()) return {};
  return "\n# --- found in this workspace; take the # away to switch them on. A validator whose\n"
         "# program is missing refuses everything it is concerned with.\n" +
         commented(out);
}

std::string other_sections() {
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
#
# [edits]
# max_step = "unicode"          # exact | offset | fuzz | whitespace | unicode
)";
}

}  // namespace

Result<std::string> recommended_config(const Directory& root) {
  GALLEY_ASSIGN(const Survey found, survey(root));
  return policy_section() + builtin_section(found) + command_section(found) + other_sections();
}

}  // namespace galley
