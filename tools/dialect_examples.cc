#include "tools/dialect_examples.h"

#include <array>

namespace galley {
namespace {

struct Example {
  std::string_view tool;
  std::string_view arguments;
};

constexpr std::array kExamples = {
    Example{"fs.read", R"({"path":"README.md"})"},
    Example{"fs.delete", R"({"path":"old.txt"})"},
    Example{"fs.list", R"({"path":"src"})"},
    Example{"fs.stat", R"({"path":"README.md"})"},
    Example{"fs.mkdir", R"({"path":"var/cache","mode":"0755"})"},
    Example{"fs.move", R"({"source":"old.txt","destination":"new.txt"})"},
    Example{"fs.copy", R"({"source":"README.md","destination":"README.old.md"})"},
    Example{"fs.chmod", R"({"path":"build.sh","mode":"0755"})"},
    Example{"fs.chown", R"({"path":"README.md","uid":0,"gid":0})"},
    Example{"fs.symlink", R"({"path":"latest.md","target":"README.md"})"},
    Example{"fs.search", R"({"pattern":"**/*.md"})"},
    Example{"fs.disk_usage", R"({"path":"src"})"},
    Example{"git_status", R"({"path":"src"})"},
    Example{"git_diff", R"({"path":"README.md"})"},
    Example{"read_file", R"({"path":"README.md","offset":1,"limit":10})"},
    Example{"search_code", R"({"pattern":"int main","glob":"*.cc"})"},
    Example{"find_references", R"({"symbol":"main"})"},
    Example{"analyze_dependencies", R"({"path":"src"})"},
    Example{"run_command", R"({"command":"ls"})"},
    Example{"run_tests", R"({"timeout":60000})"},
    Example{"build_project", R"({"timeout":60000})"},
    Example{"read_specs", R"({"specName":"SPEC"})"},
    Example{"update_spec", R"({"specName":"SPEC","content":"# SPEC\n","summary":"begun"})"},
    Example{"remember_lesson", R"({"title":"Read first","lesson":"Read the file before an edit.",)"
                               R"("eventId":"ev-1"})"},
    Example{"find_agent", R"({"query":"tests"})"},
};

}  // namespace

std::vector<std::string> dialect_examples(std::string_view tool) {
  std::vector<std::string> found;
  for (const Example& one : kExamples) {
    if (one.tool == tool) found.emplace_back(one.arguments);
  }
  return found;
}

}  // namespace galley
