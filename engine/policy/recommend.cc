#include "engine/policy/recommend.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/policy/toml_document.h"

// None of them has `only_new`. It needs a parser for every possible complaint of the command;
// otherwise only the status is compared, which finds nothing when the tree already has complaints.

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
  return R"(# What may be changed here, and what a change has to survive. `galley help KEY` explains a key.
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

# [agents."*"]                  # what an agent named by --agent may do at most
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
                            FoundCommands commands, std::vector<std::string>& folders) {
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
  if (!text.empty() && commands == FoundCommands::kSwitchedOn) {
    out =
        "\n# --- found in this workspace; each refuses what it is concerned with where its program "
        "is missing\n" +
        text;
  } else if (!text.empty()) {
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

/// The table `[sandbox]`. It is not a comment if switched-on commands need folders.
std::string sandbox_section(const std::vector<std::string>& folders, FoundCommands commands) {
  const bool is_on = commands == FoundCommands::kSwitchedOn && !folders.empty();
  const std::string keys =
      "[sandbox]\n# fallback = \"refuse\"           # where namespaces are missing: or copy\n"
      "# network = false\n";
  const std::string line = readable_line(folders);
  return (is_on ? "\n" + keys + line.substr(2) + "\n" : "# " + keys + line + "#\n");
}

/// How the package managers of the project keep their caches from one run to the next.
std::string cache_lines(const ProjectSurvey& found) {
  std::string layers;
  const auto add = [&](std::initializer_list<std::string_view> files, std::string_view folder) {
    if (found.has(files)) layers += fmt::format(" --layer {}", folder);
  };
  add({"package.json"}, "~/.npm");
  add({"pyproject.toml", "requirements.txt", "setup.py"}, "~/.cache/pip");
  add({"Cargo.toml"}, "~/.cargo --layer ~/.rustup");
  add({"go.mod"}, "~/go/pkg/mod");
  if (layers.empty()) return {};
  return "\n# --- The home folder of a run is a new one. To use the caches of yours, and to write "
         "none "
         "of them:\n# --- galley run" +
         layers + " -- COMMAND\n";
}

std::string other_sections(const std::vector<std::string>& folders, FoundCommands commands) {
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
)" + sandbox_section(folders, commands) +
         R"(# [edits]
# max_step = "mended"           # exact | offset | line_ends | fuzz | whitespace | unicode | mended
)";
}

}  // namespace

Result<std::string> recommended_config(const Directory& root, const FoundPrograms& programs,
                                       FoundCommands commands) {
  GALLEY_ASSIGN(const ProjectSurvey found, survey_project(root));
  std::vector<std::string> folders;
  const std::string text = command_section(found, programs, commands, folders);
  return policy_section() + builtin_section(found, programs) + text +
         other_sections(folders, commands) + cache_lines(found);
}

namespace {

constexpr std::string_view kTestTime = "timeout_ms = 600000\n";
constexpr std::string_view kCSources =
    R"(paths = ["*.c", "*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp"])"
    "\n";
constexpr std::string_view kScriptSources =
    R"(paths = ["*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx"])"
    "\n";
constexpr std::string_view kFix = "fix = true\n";

class Recommendations {
 public:
  Recommendations(const ProjectSurvey& found, const FoundPrograms& programs)
      : found_(found), programs_(programs) {}

  std::vector<RecommendedCommand> run() {
    add_c();
    add_python();
    add_scripts();
    add_rust();
    add_go();
    add_shell();
    return std::move(commands_);
  }

 private:
  using Words = std::vector<std::string>;

  [[nodiscard]] bool has_program(std::string_view program) const {
    return !programs_.has || programs_.has(program);
  }
  void add(std::string name, Words command, std::string program, std::string keys) {
    const bool is_there = has_program(program);
    commands_.push_back(
        {std::move(name), std::move(command), std::move(program), std::move(keys), is_there});
  }

  void add_c();
  void add_python();
  void add_python_tests();
  void add_scripts();
  void add_script_linters();
  void add_rust();
  void add_go();
  void add_shell();

  const ProjectSurvey& found_;
  const FoundPrograms& programs_;
  std::vector<RecommendedCommand> commands_;
};

void Recommendations::add_c() {
  const bool has_sources = found_.has({".c", ".cc", ".cpp", ".cxx"});
  if (found_.has({".clang-format"})) {
    add("clang-format", {"clang-format", "-i", "{files}"}, "clang-format",
        fmt::format("{}{}", kCSources, kFix));
  }
  const std::string keys = fmt::format("{}parser = \"gcc\"\n", kTestTime);
  if (!found_.cmake.empty()) {
    // A folder of that name in the tree would be hidden behind the kept one.
    const std::string build = found_.has({"build"}) ? "build-galley" : "build";
    const bool has_tests = found_.cmake.find("add_test") != std::string::npos ||
                           found_.cmake.find("enable_testing") != std::string::npos ||
                           found_.cmake.find("CTest") != std::string::npos;
    std::string line = fmt::format("cmake -S . -B {0} && cmake --build {0}", build);
    if (has_tests) line += fmt::format(" && ctest --test-dir {} --output-on-failure", build);
    add(has_tests ? "build and test" : "build", {"sh", "-c", line}, "cmake",
        keys + fmt::format("keep = [\"{}\"]\n", build));
    return;
  }
  for (const char* target : {"test", "check"}) {
    if (!found_.make_targets.contains(target)) continue;
    return add(fmt::format("make {}", target), {"make", target}, "make", keys);
  }
  if (has_sources && !found_.make_targets.empty()) add("make", {"make"}, "make", keys);
}

void Recommendations::add_python() {
  if (!found_.has({".py"})) return;
  constexpr std::string_view kPaths = "paths = [\"*.py\"]\n";
  const bool has_ruff = found_.python_tools.contains("ruff");
  const bool has_black = found_.python_tools.contains("black");
  if (has_ruff) {
    add("ruff", {"ruff", "check", "--no-cache", "--output-format", "json", "{files}"}, "ruff",
        fmt::format("{}parser = \"ruff\"\n", kPaths));
    if (!has_black) {
      add("ruff format", {"ruff", "format", "--no-cache", "{files}"}, "ruff",
          fmt::format("{}{}", kPaths, kFix));
    }
  }
  if (has_black) {
    add("black", {"black", "-q", "{files}"}, "black", fmt::format("{}{}", kPaths, kFix));
  }
  if (!has_ruff || !has_program("ruff")) {
    add("python syntax", {"python3", "-m", "py_compile", "{files}"}, "python3",
        fmt::format("{}parser = \"python\"\n", kPaths));
  }
  if (found_.python_tools.contains("mypy")) {
    add("mypy",
        {"mypy", "--cache-dir=/dev/null", "--show-column-numbers", "--show-error-end", "{files}"},
        "mypy", fmt::format("{}parser = \"mypy\"\n", kPaths));
  }
  add_python_tests();
}

void Recommendations::add_python_tests() {
  const std::string time(kTestTime);
  if (found_.uses_pytest) {
    // 1: tests failed, 2: they could not be read. 5 (no tests found) decides nothing.
    add("pytest", {"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"}, "pytest",
        time + "parser = \"pytest\"\nfindings_exit = [1, 2]\n");
    return;
  }
  std::string last;
  for (const auto& [folder, is_package] : found_.unittest_folders) {
    const bool is_covered =
        !last.empty() && folder.starts_with(last + "/") && is_package;  // found by the folder above
    if (is_covered) continue;
    last = folder;
    Words command = {"python3", "-m", "unittest", "discover"};
    if (!folder.empty()) {
      command.insert(command.end(), {"-s", folder});
      if (is_package) command.insert(command.end(), {"-t", "."});
    }
    add(folder.empty() ? "unittest" : "unittest " + folder, std::move(command), "python3",
        time + "parser = \"python\"\n");
  }
}

void Recommendations::add_scripts() {
  struct Tool {
    std::string_view lock;
    std::string_view program;
  };
  constexpr std::array<Tool, 3> kTools = {
      {{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lockb", "bun"}}};
  std::string tool = "npm";
  for (const auto& [lock, program] : kTools) {
    if (found_.has({lock}) && has_program(program)) tool = program;
  }
  for (const char* name : {"lint", "typecheck", "type-check", "format:check", "check", "test"}) {
    const auto script = found_.scripts.find(name);
    // The script that `npm init` writes always fails.
    if (script == found_.scripts.end() ||
        script->second.find("no test specified") != std::string::npos) {
      continue;
    }
    add(fmt::format("{} {}", tool, name), {tool, "run", name}, tool, std::string(kTestTime));
  }
  add_script_linters();
}

/// Linters in node_modules only: npx would try to download missing ones.
void Recommendations::add_script_linters() {
  const auto is_installed = [this](const char* program) {
    return found_.package_programs.contains(program);
  };
  const auto is_configured = [this](std::string_view a, std::string_view b) {
    return found_.has_root_prefix(a) || found_.has_root_prefix(b);
  };
  const bool has_lint = found_.scripts.contains("lint");
  if (!has_lint && is_installed("eslint") && is_configured("eslint.config.", ".eslintrc")) {
    // 2: it could not judge
    add("eslint", {"node_modules/.bin/eslint", "--format", "json", "{files}"}, "node",
        fmt::format("{}parser = \"eslint\"\nfindings_exit = [1]\n", kScriptSources));
  }
  if (is_installed("prettier") && is_configured(".prettierrc", "prettier.config.")) {
    add("prettier", {"node_modules/.bin/prettier", "--write", "--ignore-unknown", "{files}"},
        "node",
        fmt::format("{}{}",
                    "paths = [\"*.js\", \"*.jsx\", \"*.ts\", \"*.tsx\", \"*.css\", \"*.html\"]\n",
                    kFix));
  }
  const bool has_types =
      found_.scripts.contains("typecheck") || found_.scripts.contains("type-check");
  if (!has_types && is_installed("tsc") && found_.has({"tsconfig.json"})) {
    add("tsc", {"node_modules/.bin/tsc", "--noEmit", "-p", ".", "--pretty", "false"}, "node",
        fmt::format("{}parser = \"tsc\"\n", kScriptSources));
  }
}

void Recommendations::add_rust() {
  if (!found_.has({"Cargo.toml"})) return;
  const std::string keep = "keep = [\"target\"]\n";
  const std::string parser =
      "paths = [\"*.rs\", \"Cargo.toml\", \"Cargo.lock\"]\n"
      "parser = \"cargo\"\n";
  const std::string time(kTestTime);
  add("cargo fmt", {"cargo", "fmt"}, "cargo-fmt",
      fmt::format("{}{}", "paths = [\"*.rs\"]\n", kFix));
  if (!has_program("cargo-clippy")) {  // clippy reports all that check does
    add("cargo check", {"cargo", "check", "--offline", "--all-targets", "--message-format", "json"},
        "cargo", time + parser + keep);
  }
  add("cargo clippy",
      {"cargo", "clippy", "--offline", "--all-targets", "--message-format", "json", "--", "-D",
       "warnings"},
      "cargo-clippy", time + parser + keep);
  add("cargo test", {"cargo", "test", "--offline"}, "cargo", time + "parser = \"cargo\"\n" + keep);
}

void Recommendations::add_go() {
  if (!found_.has({"go.mod"})) return;
  const std::string time(kTestTime);
  add("gofmt", {"gofmt", "-w", "{files}"}, "gofmt",
      fmt::format("{}{}", "paths = [\"*.go\"]\n", kFix));
  add("go vet", {"go", "vet", "./..."}, "go",
      time +
          "paths = [\"*.go\", \"go.mod\"]\n"
          "parser = \"go\"\n");
  add("go test", {"go", "test", "./..."}, "go", time + "parser = \"go\"\n");
}

void Recommendations::add_shell() {
  if (!found_.has({".sh"}) || !found_.has({".shellcheckrc"})) return;
  add("shellcheck", {"shellcheck", "--format", "json1", "{files}"}, "shellcheck",
      "paths = [\"*.sh\", \"*.bash\"]\nparser = \"shellcheck\"\nfindings_exit = [1]\n");
}

}  // namespace

std::vector<RecommendedCommand> recommended_commands(const ProjectSurvey& found,
                                                     const FoundPrograms& programs) {
  return Recommendations(found, programs).run();
}

std::string command_text(const RecommendedCommand& command) {
  std::string words;
  for (const std::string& word : command.command) {
    words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", word);
  }
  return fmt::format("[[validator]]\nname = \"{}\"\ncommand = [{}]\n{}", command.name, words,
                     command.keys);
}

namespace {

constexpr size_t kMaxLooks = 4000;  // entries; enough to find every language of a project
constexpr size_t kMaxDepth = 4;
constexpr size_t kMaxTestFiles = 50;
constexpr uint64_t kMaxProjectFileBytes = uint64_t{1} << 20U;
constexpr int kMaxPackageDepth = 64;

bool is_of_no_interest(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "node_modules", "target", "build", "dist", "vendor", "__pycache__", "third_party", "venv"};
  return name.starts_with('.') || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string read_if_there(const Directory& root, std::string_view name) {
  const auto path = RelPath::parse(name);
  if (!path) return {};
  const auto stat = root.stat(*path);
  if (!stat || stat->kind != FileKind::kRegular) return {};
  auto text = read_file(root, *path, kMaxProjectFileBytes);
  return text ? std::move(*text) : std::string();
}

std::vector<DirectoryEntry> entries_of(const Directory& root, const RelPath& directory) {
  if (directory.is_root()) {
    auto entries = root.list();
    return entries ? std::move(*entries) : std::vector<DirectoryEntry>();
  }
  const auto opened = root.open_directory(directory);
  if (!opened) return {};
  auto entries = (*opened)->list();
  return entries ? std::move(*entries) : std::vector<DirectoryEntry>();
}

/// unittest looks for `test*.py`, pytest for `test_*.py` and `*_test.py`.
bool is_python_test(std::string_view name) {
  return name.ends_with(".py") && (name.starts_with("test") || name.ends_with("_test.py"));
}

std::vector<RelPath> note_names(const Directory& root, ProjectSurvey& found) {
  std::vector<RelPath> tests;
  std::deque<std::pair<RelPath, size_t>> todo = {{RelPath::root(), 0}};
  size_t looks = 0;
  while (!todo.empty() && looks < kMaxLooks) {
    const auto [directory, depth] = todo.front();
    todo.pop_front();
    for (const auto& entry : entries_of(root, directory)) {
      if (++looks > kMaxLooks) break;
      if (depth == 0) found.root_entries.insert(entry.name);
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? directory.join(*name) : name;
      if (!path || is_of_no_interest(entry.name)) continue;
      if (entry.kind == FileKind::kDirectory) {
        if (depth < kMaxDepth) todo.emplace_back(*path, depth + 1);
        continue;
      }
      const size_t dot = entry.name.rfind('.');
      if (entry.kind != FileKind::kRegular || dot == std::string::npos || dot == 0) continue;
      found.extensions.insert(entry.name.substr(dot));
      if (is_python_test(entry.name) && tests.size() < kMaxTestFiles) tests.push_back(*path);
    }
  }
  return tests;
}

bool mentions(const std::string& text, std::string_view words) {
  return text.find(words) != text.npos;
}

void note_python(const Directory& root, const std::vector<RelPath>& tests, ProjectSurvey& found) {
  if (const auto document = parse_toml(read_if_there(root, "pyproject.toml"), "pyproject.toml")) {
    const TomlNode* tools = document->find("tool");
    if (tools != nullptr) {
      for (const auto& [name, value] : tools->entries) found.python_tools.insert(name);
    }
  }
  if (found.has({"ruff.toml", ".ruff.toml"})) found.python_tools.insert("ruff");
  found.uses_pytest = found.has({"pytest.ini", ".pytest.ini", "conftest.py"}) ||
                      found.python_tools.contains("pytest") ||
                      mentions(read_if_there(root, "setup.cfg"), "[tool:pytest]") ||
                      mentions(read_if_there(root, "tox.ini"), "[pytest]") ||
                      !read_if_there(root, "tests/conftest.py").empty();
  for (const RelPath& test : tests) {
    const std::string text = read_if_there(root, test.str());
    if (mentions(text, "import pytest") || mentions(text, "from pytest ")) found.uses_pytest = true;
    const bool is_unittest = mentions(text, "import unittest") || mentions(text, "from unittest ");
    const std::string folder = test.str().substr(
        0, test.str().rfind('/') == std::string::npos ? 0 : test.str().rfind('/'));
    const std::string name = test.str().substr(folder.empty() ? 0 : folder.size() + 1);
    // Test functions without a class belong to pytest.
    if (!is_unittest && mentions(text, "\ndef test_")) found.uses_pytest = true;
    if (!is_unittest || !name.starts_with("test")) continue;
    const auto init = RelPath::parse((folder.empty() ? "" : folder + "/") + "__init__.py");
    const auto stat = init ? root.stat(*init) : Result<FileStat>(FileStat());
    found.unittest_folders[folder] = stat && stat->kind == FileKind::kRegular;
  }
}

void note_package(const Directory& root, ProjectSurvey& found) {
  using nlohmann::json;
  const std::string text = read_if_there(root, "package.json");
  const auto is_shallow = [](int depth, json::parse_event_t, json&) {
    return depth < kMaxPackageDepth;
  };
  const json package = json::parse(text, is_shallow, false);
  if (!package.is_object()) return;
  if (const auto scripts = package.find("scripts"); scripts != package.end()) {
    for (const auto& [name, script] : scripts->items()) {
      if (script.is_string()) found.scripts[name] = script.get<std::string>();
    }
  }
  for (const char* kind : {"dependencies", "devDependencies"}) {
    const auto packages = package.find(kind);
    if (packages == package.end() || !packages->is_object()) continue;
    for (const auto& [name, version] : packages->items()) found.packages.insert(name);
  }
  if (package.contains("prettier")) found.root_entries.insert(".prettierrc");
  if (package.contains("eslintConfig")) found.root_entries.insert(".eslintrc");
  const auto programs = RelPath::parse("node_modules/.bin");
  if (!programs) return;
  for (const auto& entry : entries_of(root, *programs)) found.package_programs.insert(entry.name);
}

/// Finds `target: …`, but not `name := value` or pattern rules.
void note_make_targets(std::string_view makefile, ProjectSurvey& found) {
  while (!makefile.empty()) {
    const std::string_view line = take_line(makefile);
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0 || line.starts_with('\t') || line.starts_with('#')) {
      continue;
    }
    if (line.substr(colon).starts_with(":=") || line.substr(colon).starts_with("::=")) continue;
    const std::string_view names = line.substr(0, colon);
    if (names.find_first_of("=$%") != names.npos) continue;
    for (size_t at = 0; at < names.size();) {
      const size_t stop = std::min(names.find(' ', at), names.size());
      if (stop > at) found.make_targets.insert(std::string(names.substr(at, stop - at)));
      at = stop + 1;
    }
  }
}

}  // namespace

Result<ProjectSurvey> survey_project(const Directory& root) {
  GALLEY_TRY(root.list());  // an unreadable root is an Error, anything below is not
  ProjectSurvey found;
  const std::vector<RelPath> tests = note_names(root, found);
  note_python(root, tests, found);
  note_package(root, found);
  for (const char* name : {"GNUmakefile", "makefile", "Makefile"}) {  // make's own order
    if (!found.has({name})) continue;
    note_make_targets(read_if_there(root, name), found);
    break;
  }
  found.cmake = read_if_there(root, "CMakeLists.txt");
  return found;
}

}  // namespace galley
