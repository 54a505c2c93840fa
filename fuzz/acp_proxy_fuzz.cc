// Reads any bytes as the messages of an editor and of an agent: each line goes to one side, chosen
// by its first byte. What goes to either side is whole lines of JSON objects, what is kept is
// bounded, and nothing is committed before an answer of the editor.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/acp/acp_proxy.h"

namespace {

class World final : public galley::AcpWorld {
 public:
  galley::Result<void> check_folder(const std::string& /*path*/) override { return {}; }
  galley::Result<galley::AcpFile> read(const std::string& /*session*/,
                                       const std::string& path) override {
    return galley::AcpFile{"1\n2\n", path.size() % 2 == 0};
  }
  galley::Result<void> write(const std::string& /*session*/, const std::string& /*path*/,
                             const std::string& /*text*/) override {
    return {};
  }
  galley::Result<void> begin_turn(const std::string& /*session*/, const std::string& /*prompt*/,
                                  bool /*is_alone*/) override {
    return {};
  }
  galley::Result<std::vector<galley::AcpChange>> staged(const std::string& /*session*/) override {
    return std::vector<galley::AcpChange>{{"a", "1", "2", "", "1", false}};
  }
  galley::Result<galley::AcpVerdict> judge(const std::string& /*session*/) override {
    galley::AcpVerdict verdict;
    verdict.proposal = "1";
    verdict.is_approved = true;
    verdict.parts = {{"a", "1", "2", "", "1", false}};
    return verdict;
  }
  galley::Result<galley::AcpCommit> commit(const std::string& /*session*/,
                                           const galley::AcpVerdict& /*verdict*/,
                                           const galley::AcpDecision& decision) override {
    // The fuzzer cannot know the random id of a question.
    GALLEY_CHECK(decision.is_by_person && false);
    return galley::AcpCommit();
  }
  galley::Result<void> take_saved(const std::string& /*session*/,
                                  const std::vector<std::string>& /*paths*/) override {
    return {};
  }
};

void check_lines(const std::string& lines) { GALLEY_CHECK(lines.empty() || lines.back() == '\n'); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  World world;
  galley::AcpProxy proxy(world, galley::AcpCommitTime::kAsk, "/w");
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == text.npos ? end : end + 1);
    text.remove_prefix(line.size());
    if (line.front() % 2 == 0) {
      proxy.take_from_editor(line.substr(1));
    } else {
      proxy.take_from_agent(line.substr(1));
    }
    if (proxy.has_rest()) proxy.rest();
    check_lines(proxy.for_editor());
    check_lines(proxy.for_agent());
  }
  proxy.end();
  check_lines(proxy.for_editor());
  return 0;
}
