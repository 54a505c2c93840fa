// The promises of every built-in tool under its version: fixtures/tools/contracts.json.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tools/schema_compatibility.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr const char* kFile = GALLEY_SOURCE_DIR "/fixtures/tools/contracts.json";
constexpr const char* kRenew =
    "; when that is what you want, raise the version of the tool and renew the file: "
    "GALLEY_RENEW_CONTRACTS=1 build/tests/test_tools --gtest_filter='ToolContracts.*'";

class ToolContracts : public ToolFixture {
 protected:
  /// Name, version and schemas of every tool, one below the other.
  json current() {
    json tools = json::object();
    const json all = registry_.schemas();
    for (const json& tool : all["tools"]) {
      tools[tool["name"].get<std::string>()] = {{"version", tool["version"]},
                                                {"input", tool["inputSchema"]},
                                                {"output", tool["outputSchema"]}};
    }
    return tools;
  }
  /// One tool a line, so that merges of two new ones are easy.
  static void write(const json& tools) {
    std::ofstream file(kFile);
    const char* before = "{\n";
    for (const auto& [name, tool] : tools.items()) {
      file << before << json(name).dump() << ": " << tool.dump();
      before = ",\n";
    }
    file << "\n}\n";
  }
  static ToolContract contract(const json& tool) {
    return {tool.at("version").get_ref<const std::string&>(), tool.at("input"), tool.at("output")};
  }
};

TEST_F(ToolContracts, ASchemaChangesOnlyWithItsVersion) {
  std::ifstream file(kFile);
  json before = json::object();
  if (file) before = json::parse(file);
  const json now = current();
  for (const auto& [name, tool] : before.items()) {
    if (!now.contains(name)) continue;  // the whole comparison below says so
    for (const std::string& breach : contract_breaches(contract(tool), contract(now[name]))) {
      ADD_FAILURE() << "the tool '" << name << "': " << breach << kRenew;
    }
  }
  if (std::getenv("GALLEY_RENEW_CONTRACTS") != nullptr && !HasFailure()) {
    return write(now);
  }
  EXPECT_EQ(before, now) << "the file does not have what the tools are now" << kRenew;
}

}  // namespace
}  // namespace galley
