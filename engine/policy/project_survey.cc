#include "engine/policy/project_survey.h"

#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/policy/toml_document.h"

namespace galley {
namespace {

constexpr size_t kMaxLooks = 4000;  // entries; enough to meet every language of a project
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
    // Functions without a class are pytest's.
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

/// `target: …`, but no `name := value` and no rule by pattern.
void note_make_targets(const std::string& makefile, ProjectSurvey& found) {
  for (size_t start = 0; start < makefile.size();) {
    const size_t end = std::min(makefile.find('\n', start), makefile.size());
    const std::string_view line = std::string_view(makefile).substr(start, end - start);
    start = end + 1;
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
  GALLEY_TRY(root.list());  // a root that cannot be read is an Error, anything below is not
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
