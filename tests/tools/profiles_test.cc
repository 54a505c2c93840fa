#include "tools/profiles.h"

#include <fstream>
#include <set>
#include <sstream>

#include "base/tool_profile_names.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

/// Tools of profiles that need the engine: the workspace adds them (engine/agent_tools).
const std::set<std::string_view>& engine_tools() {
  static const std::set<std::string_view> table = {"GraphQuery", "git_commit", "sec.grant",
                                                   "sec.revoke", "sec.audit"};
  return table;
}

class Profiles : public ToolFixture {
 protected:
  Profiles() { EXPECT_TRUE(add_dialect_tools(registry_, {})); }

  static std::vector<std::string> names(const std::vector<ToolInfo>& tools) {
    std::vector<std::string> out;
    for (const ToolInfo& info : tools) out.push_back(info.name);
    return out;
  }
};

TEST_F(Profiles, AProfileHasOneToolForEachVerb) {
  for (const ToolProfile& profile : profiles()) {
    std::set<std::string_view> verbs;
    std::set<std::string_view> tools;
    for (const ToolProfile::Row& row : profile.tools) {
      EXPECT_TRUE(verbs.insert(row.verb).second) << profile.name << ": " << row.verb;
      EXPECT_TRUE(tools.insert(row.tool).second) << profile.name << ": " << row.tool;
    }
  }
}

TEST_F(Profiles, EveryToolOfAProfileExists) {
  for (const ToolProfile& profile : profiles()) {
    for (const ToolProfile::Row& row : profile.tools) {
      if (engine_tools().contains(row.tool)) continue;
      EXPECT_TRUE(registry_.has(row.tool)) << profile.name << ": " << row.tool;
    }
  }
}

TEST_F(Profiles, TheConfigurationHasTheSameNames) {
  std::vector<std::string_view> known;
  for (const ToolProfile& profile : profiles()) known.push_back(profile.name);
  EXPECT_EQ(known,
            std::vector<std::string_view>(kToolProfileNames.begin(), kToolProfileNames.end()));
}

TEST_F(Profiles, AiosRunsNoPrograms) {
  for (const ToolInfo& info : shown_tools(registry_, *profile_named("aios"))) {
    EXPECT_TRUE(info.name.starts_with("fs.")) << info.name;
    EXPECT_FALSE(info.annotations.open_world) << info.name;
    for (const std::string& needed : info.capabilities) {
      EXPECT_TRUE(needed.starts_with("fs:")) << info.name << " needs " << needed;
    }
  }
}

TEST_F(Profiles, WithoutAProfileTheStandardToolsAreShown) {
  ToolRegistry standard;
  ASSERT_TRUE(add_standard_tools(standard));
  EXPECT_EQ(names(shown_tools(registry_, nullptr)), names(standard.list()));
}

TEST_F(Profiles, AToolOfTheProgramIsShownInEveryProfile) {
  class Own final : public Tool {
   public:
    Own() {
      info_.name = "deploy";
      info_.description = "Deploys.";
      info_.input_schema = info_.output_schema = R"({"type":"object"})";
    }
    [[nodiscard]] const ToolInfo& info() const override { return info_; }
    Result<Intent> intent(const nlohmann::json&, const PathOrigin&) const override {
      return Intent();
    }
    ToolResult run(const nlohmann::json&, ToolContext&) const override {
      return ToolResult::success(nlohmann::ordered_json::object());
    }

   private:
    ToolInfo info_;
  };
  ASSERT_TRUE(registry_.add(std::make_unique<Own>()));
  EXPECT_EQ(names(shown_tools(registry_, nullptr)).back(), "deploy");
  for (const ToolProfile& profile : profiles()) {
    EXPECT_EQ(names(shown_tools(registry_, &profile)).back(), "deploy") << profile.name;
    EXPECT_TRUE(profile.check_shows("deploy")) << profile.name;
  }
}

TEST_F(Profiles, AToolOfAnotherProfileIsRefused) {
  const ToolProfile& aios = **profile_named("aios");
  const auto shown = aios.check_shows("fs.raed");
  EXPECT_TRUE(shown) << "no tool of Galley's: the registry says so";
  const auto other = aios.check_shows("Bash");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().reason, "tool.not_in_profile");
  const auto near = (*profile_named("sage"))->check_shows("read_file");
  ASSERT_FALSE(near);
  EXPECT_NE(near.error().message.find("galley tools list --profile sage"), std::string::npos);
}

TEST_F(Profiles, AnUnknownProfileIsAnErrorWithTheNearestName) {
  const auto found = profile_named("aois");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, "profile.unknown");
  EXPECT_NE(found.error().message.find("did you mean 'aios'?"), std::string::npos);
}

std::string page(const std::string& name) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/docs/" + name + ".md", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(Profiles, EveryToolIsDocumentedUnderTheSevenHeadings) {
  std::vector<std::string> names(engine_tools().begin(), engine_tools().end());
  for (const ToolInfo& info : registry_.list()) names.push_back(info.name);
  EXPECT_GT(names.size(), 60U);
  for (const std::string& name : names) {
    const std::string text = page("tools/" + name);
    for (const char* heading : {"Purpose", "When Used", "Parameters", "Returns", "Configuration",
                                "Limitations", "Performance"}) {
      EXPECT_NE(text.find("\n## " + std::string(heading) + "\n\n"), std::string::npos)
          << name << ": " << heading;
    }
  }
}

TEST_F(Profiles, EveryToolHasAnExampleOfACall) {
  for (const ToolInfo& info : registry_.list()) EXPECT_FALSE(info.examples.empty()) << info.name;
}

}  // namespace
}  // namespace galley
