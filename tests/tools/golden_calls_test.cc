// Every folder of fixtures/golden/tools is one call: before/ is the tree, call.json the tool and
// its arguments, answer.json what it says and `diff` what it stages. A new case is a new folder and
// no code; GALLEY_WRITE_GOLDEN=1 writes the last two, which are then read by a person.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "doubles/fake_command_runner.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_diff.h"
#include "support/temp_directory.h"
#include "support/tree_state.h"
#include "tools/perform.h"
#include "tools/profiles.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<fs::path> call_folders() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(GALLEY_SOURCE_DIR "/fixtures/golden/tools")) {
    if (entry.is_directory()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string folder_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// 2024-01-01T12:00:00Z, always.
class NoonClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 1'704'110'400'000'000'000; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return {}; }
};

/// Values that differ between machines only have to exist.
void mask(Json& value) {
  static const std::set<std::string> kTimes = {"modified", "changed", "created"};
  static const std::set<std::string> kOwners = {"uid", "gid"};
  if (!value.is_object()) return;
  for (auto& [key, member] : value.items()) {
    if (kTimes.contains(key) && member.is_string()) member = "TIME";
    if (kOwners.contains(key) && member.is_number()) member = "ID";
  }
}

const char* word_of(const Change& change) {
  if (change.is_create()) return "create";
  if (change.is_delete()) return "delete";
  return change.is_type_change() ? "type" : "modify";
}

/// Each staged change with its mode, and the diff as git has it.
std::string staged_story(Overlay& overlay) {
  std::string text;
  for (const Change& change : overlay.changes()) {
    text += std::string(word_of(change)) + " " + octal_mode(change.after.mode) + " " +
            change.path.str() + "\n";
  }
  const auto diff = render_diff(Proposal::freeze(overlay), ProposalDiffOptions());
  return text + (diff ? *diff : diff.error().message);
}

class GoldenCall : public ::testing::TestWithParam<fs::path> {
 protected:
  GoldenCall() {
    EXPECT_TRUE(add_standard_tools(registry_));
    EXPECT_TRUE(add_dialect_tools(registry_, {}));
  }
  ToolRegistry registry_;
  NoonClock clock_;
};

TEST_P(GoldenCall, AnswersAndStagesAsTheFolderExpects) {
  const fs::path& folder = GetParam();
  const bool is_written = std::getenv("GALLEY_WRITE_GOLDEN") != nullptr;
  TempDirectory tree;
  if (fs::exists(folder / "before")) {
    fs::copy(folder / "before", tree.path(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  const auto call = nlohmann::json::parse(slurp(folder / "call.json"));
  Overlay overlay(tree.directory(), make_memory_store(), clock_);
  const auto entry = registry_.get(call["tool"].get<std::string>());
  ASSERT_TRUE(entry) << call["tool"];
  const auto violations = (*entry)->input.check(call["args"]);
  ASSERT_TRUE(violations.empty()) << describe(violations);
  ToolContext context{.overlay = overlay,
                      .clock = clock_,
                      .root = "/ws",
                      .agent = {},
                      .capabilities = {},
                      .deadline = {},
                      .logger = {},
                      .secrets = {},
                      .may_read = {}};
  const ToolResult result = (*entry)->tool->run(call["args"], context);
  Json answer;
  if (result.ok) {
    answer = *result.data;
    const auto wrong = (*entry)->output.check(answer);
    EXPECT_TRUE(wrong.empty()) << describe(wrong) << "\n" << answer;
    mask(answer);
  } else {
    answer = {{"code", to_string(result.error->code)},
              {"reason", result.error->reason},
              {"message", result.error->message}};
  }
  const std::string story = staged_story(overlay);
  if (is_written) {
    std::ofstream(folder / "answer.json") << answer.dump(2) << "\n";
    std::ofstream(folder / "diff") << story;
  }
  EXPECT_EQ(answer, Json::parse(slurp(folder / "answer.json")));
  EXPECT_EQ(story, slurp(folder / "diff"));
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenCall, ::testing::ValuesIn(call_folders()), folder_name);

TEST(GoldenCalls, EveryToolOfAProfileHasAGoldenCall) {
  ToolRegistry registry;
  ASSERT_TRUE(add_dialect_tools(registry, {}));
  std::set<std::string> called;
  for (const fs::path& folder : call_folders()) {
    called.insert(nlohmann::json::parse(slurp(folder / "call.json"))["tool"]);
  }
  for (const ToolInfo& info : registry.list()) EXPECT_TRUE(called.contains(info.name)) << info.name;
}

}  // namespace
}  // namespace galley
