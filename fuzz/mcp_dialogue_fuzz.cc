// Reads any bytes as the output of an MCP server. The first byte chooses the step before it: none,
// the handshake, or the list of tools. The dialogue ends or waits, answers each request once, and
// calls nothing before the definitions are approved.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/mcp/mcp_dialogue.h"
#include "tools/mcp/trusted_mcp_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t step = data[0] % 4;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  bool is_judged = false;
  galley::TrustedMcpServer server;
  server.name = "fuzz";
  galley::McpClientTask errand;
  errand.version = step == 3 ? "" : "2025-11-25";
  errand.root = "/w";
  errand.call = galley::McpClientTask::Call{"t", nlohmann::json::object()};
  errand.check = [&](const std::vector<nlohmann::json>& now) -> galley::Result<void> {
    is_judged = true;
    for (const nlohmann::json& one : now) (void)server.tool_info(one);
    (void)server.changes_to(now);
    return {};
  };
  galley::McpDialogue dialogue(errand);
  (void)dialogue.begin();
  if (step == 1 || step == 2) {
    (void)dialogue.take(R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}})"
                        "\n");
  }
  if (step == 2) {
    (void)dialogue.take(R"({"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t"}]}})"
                        "\n");
  }
  while (!text.empty()) {
    const size_t piece = 1 + text.size() / 3;
    const std::string said = dialogue.take(text.substr(0, piece));
    text.remove_prefix(piece);
    GALLEY_CHECK(is_judged || said.find("tools/call") == std::string::npos);
  }
  const auto outcome = dialogue.outcome();
  GALLEY_CHECK(dialogue.is_over() || !outcome);
  GALLEY_CHECK(!outcome || is_judged);
  return 0;
}
