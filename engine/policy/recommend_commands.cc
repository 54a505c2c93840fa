#include "engine/policy/recommend_commands.h"

#include <fmt/core.h>

#include <array>
#include <utility>

// None of them has `only_new`: it needs a parser for every complaint that the command can have, or
// only the status is compared, which judges nothing where the tree is not clean already.

namespace galley {
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
    // A folder of that name in the tree would be hidden behind the one that is kept.
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
    // 1: tests failed, 2: they could not be read; 5, that there are none, is no answer.
    add("pytest", {"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"}, "pytest",
        time + "parser = \"pytest\"\nfindings_exit = [1, 2]\n");
    return;
  }
  std::string last;
  for (const auto& [folder, is_package] : found_.unittest_folders) {
    const bool is_covered =
        !last.empty() && folder.starts_with(last + "/") && is_package;  // found by the one above
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
    // What `npm init` writes fails whatever is in the tree.
    if (script == found_.scripts.end() ||
        script->second.find("no test specified") != std::string::npos) {
      continue;
    }
    add(fmt::format("{} {}", tool, name), {tool, "run", name}, tool, std::string(kTestTime));
  }
  add_script_linters();
}

/// Those that lie in node_modules: npx would try to fetch what is not there.
void Recommendations::add_script_linters() {
  const auto is_installed = [this](const char* program) {
    return found_.package_programs.contains(program);
  };
  const auto is_configured = [this](std::string_view a, std::string_view b) {
    return found_.has_root_prefix(a) || found_.has_root_prefix(b);
  };
  const bool has_lint = found_.scripts.contains("lint");
  if (!has_lint && is_installed("eslint") && is_configured("eslint.config.", ".eslintrc")) {
    // 2: that it could not judge
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
  add("cargo check", {"cargo", "check", "--offline", "--all-targets", "--message-format", "json"},
      "cargo", time + parser + keep);
  add("cargo clippy",
      {"cargo", "clippy", "--offline", "--message-format", "json", "--", "-D", "warnings"},
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

}  // namespace galley
