// A tool that calls another tool, is limited by its tier and needs a confirmation. The example then
// reverts its changes by the id of its call.
#include <galley/galley.h>

#include <iostream>
#include <string>
#include <string_view>
#include <variant>

namespace {

struct Rename {
  std::string file;
  std::string from;
  std::string to;
  static void describe(auto& field) {
    field("file", &Rename::file, "path relative to the workspace");
    field("from", &Rename::from, "the word as it stands").pattern("^[A-Za-z_]+$");
    field("to", &Rename::to, "the word that takes its place").pattern("^[A-Za-z_]+$");
  }
};

struct Renamed {
  std::string file;
  static void describe(auto& field) { field("file", &Renamed::file); }
};

/// The tool Edit does the work. It finds the places, or says what it needs to find them.
galley::Result<Renamed> rename_word(const Rename& rename, galley::ToolRun& call) {
  const auto edited =
      call.call("Edit", R"({"file_path": ")" + rename.file + R"(", "old_string": ")" + rename.from +
                            R"(", "new_string": ")" + rename.to + R"(", "replace_all": true})");
  if (!edited) return edited.error();
  return Renamed{rename.file};
}

galley::ToolDefinition rename_tool(const std::string& name, galley::ToolInfo::Tier tier) {
  auto tool = galley::define_tool<Rename, Renamed>(name, "Renames a word in a file.", rename_word);
  tool.info.capabilities = {"fs:read", "fs:write"};
  tool.info.security_tier = tier;
  tool.info.is_reversible = true;
  return tool;
}

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

/// Returns the id of the call's record. The revert names it.
std::string execution_of(const galley::CallResult& called) {
  constexpr std::string_view kKey = "\"executionId\":\"";
  const std::string document = called.document();
  const size_t begin = document.find(kKey);
  if (begin == std::string::npos) return {};
  const size_t first = begin + kKey.size();
  return document.substr(first, document.find('"', first) - first);
}

int run(const std::string& directory) {
  galley::WorkspaceOptions options;
  options.tools.push_back(rename_tool("rename", galley::ToolInfo::Tier::kRestricted));
  options.tools.push_back(rename_tool("rename_at_once", galley::ToolInfo::Tier::kDangerous));
  auto workspace = galley::Workspace::open(directory, options);
  if (!workspace) return stop(workspace.error());
  auto transaction = (*workspace)->begin({.agent = "example", .message = "call fruit by its name"});
  if (!transaction) return stop(transaction.error());
  if (auto written = transaction->write("fruit.txt", "apple pie\n"); !written) {
    return stop(written.error());
  }
  const std::string arguments = R"({"file": "fruit.txt", "from": "apple", "to": "quince"})";

  const auto denied = transaction->call("rename_at_once", arguments);
  if (!denied) std::cout << denied.error().reason << "\n";
  const auto asked = transaction->call("rename", arguments);
  if (!asked) std::cout << asked.error().reason << "\n";

  galley::CallOptions answers;
  answers.confirm = [](const galley::CallOptions::Question& question) -> galley::Result<bool> {
    std::cout << "may " << question.tool << " run? yes\n";
    return true;
  };
  const auto renamed = transaction->call("rename", arguments, answers);
  if (!renamed) return stop(renamed.error());
  std::cout << transaction->read("fruit.txt").value_or("nothing\n");

  const auto taken = transaction->rollback_execution(execution_of(renamed));
  if (!taken) return stop(taken.error());
  std::cout << taken->size() << " call taken back\n";
  std::cout << transaction->read("fruit.txt").value_or("nothing\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
