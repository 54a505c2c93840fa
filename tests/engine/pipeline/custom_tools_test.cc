#include "engine/pipeline/custom_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <galley/transaction.h>
#include <galley/workspace.h>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "doubles/fake_command_runner.h"
#include "engine/pipeline/stored_tools.h"
#include "engine/pipeline/workspace_state.h"
#include "support/temp_directory.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string manifest_of(const std::string& name, const std::string& more = "") {
  return R"({"name": "p", "version": "1.0.0", "type": "tool", "description": "D.",
             "executable": "run", "provides": {"tool": ")" +
         name + "\"}" + more + "}";
}

/// A folder of tools, a workspace, and a home outside the workspace.
class CustomToolsTest : public ::testing::Test {
 protected:
  CustomToolsTest() {
    folder_.write("manifest.json", manifest_of("custom.one"));
    folder_.write("run", "#!/bin/sh\n", 0755);
    settings_.tools_path = home_.path() + "/tools";
    root_ = tree_.path();
  }

  ToolFolder folder() {
    auto read = ToolFolder::read(folder_.path());
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
  }
  std::string refused() {
    const auto read = ToolFolder::read(folder_.path());
    return read ? "taken" : read.error().reason;
  }
  void trust() {
    const auto kept = trust_tools(settings_, root_, folder(), ++now_);
    ASSERT_TRUE(kept) << kept.error().message;
  }
  std::vector<TrustedTools> kept() {
    auto all = trusted_tools(settings_, root_);
    EXPECT_TRUE(all) << all.error().message;
    return *std::move(all);
  }

  TempDirectory folder_;
  TempDirectory tree_;
  TempDirectory home_;
  UserSettings settings_;
  std::string root_;
  int64_t now_ = 0;
};

TEST_F(CustomToolsTest, AFolderIsReadWithAllItsFiles) {
  folder_.write("lib/help.py", "x");
  folder_.write("two.tool.json", manifest_of("custom.two"));
  folder_.write("__pycache__/x.pyc", "left out");
  const ToolFolder read = folder();
  EXPECT_THAT(read.items, SizeIs(4));
  EXPECT_THAT(read.manifests, SizeIs(2));
  const ContentId before = read.hash;
  folder_.write("run", "#!/bin/sh\n", 0644);
  EXPECT_EQ(refused(), "tool.folder") << "without the right to execute";
  folder_.write("run", "#!/bin/sh\n", 0755);
  EXPECT_EQ(folder().hash, before);
  folder_.write("lib/help.py", "y");
  EXPECT_NE(folder().hash, before) << "what is beside the executable counts";
}

TEST_F(CustomToolsTest, InvalidToolFoldersAreRefused) {
  EXPECT_EQ(::symlink("/etc/passwd", (folder_.path() + "/link").c_str()), 0);
  EXPECT_EQ(refused(), "tool.folder");
  ::unlink((folder_.path() + "/link").c_str());
  folder_.write("other.tool.json", manifest_of("custom.one"));
  EXPECT_EQ(refused(), "tool.exists");
  folder_.write("other.tool.json", manifest_of("custom.two", R"(, "excutable": "run")"));
  EXPECT_EQ(refused(), "manifest.unknown_key");
  EXPECT_FALSE(ToolFolder::read(folder_.path() + "/missing"));
  EXPECT_EQ(ToolFolder::read(tree_.path()).error().reason, "tool.folder") << "no manifest";
}

TEST_F(CustomToolsTest, ToolsAreStoredForOneWorkspaceUntilTheyAreRemoved) {
  trust();
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_THAT(kept()[0].names, ElementsAre("custom.one"));
  EXPECT_EQ(kept()[0].source, folder_.path());
  EXPECT_THAT(*trusted_tools(settings_, "/elsewhere"), IsEmpty());
  EXPECT_EQ(*forget_tool(settings_, root_, "custom.none"), false);
  EXPECT_EQ(*forget_tool(settings_, root_, "custom.one"), true);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(CustomToolsTest, AddingAFolderAgainReplacesItsCopy) {
  trust();
  folder_.write("run", "#!/bin/sh\nexit 1\n", 0755);
  trust();
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].hash, folder().hash);
}

TEST_F(CustomToolsTest, BesideItsReplacedCopyTheNewestOneCounts) {
  trust();
  const std::string old = tools_folder(settings_, root_) + "/" + folder().hash.hex();
  std::filesystem::copy(old, home_.path() + "/aside", std::filesystem::copy_options::recursive);
  folder_.write("run", "#!/bin/sh\nexit 1\n", 0755);
  trust();
  // So it looks while another process adds the folder again, and after that process was killed.
  std::filesystem::copy(home_.path() + "/aside", old, std::filesystem::copy_options::recursive);
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].hash, folder().hash);
  ToolRegistry registry;
  const auto added = add_custom_tools(registry, settings_, root_);
  EXPECT_TRUE(added) << added.error().message;
  EXPECT_EQ(*forget_tool(settings_, root_, "custom.one"), true);
  EXPECT_THAT(kept(), IsEmpty()) << "the replaced copy does not come back";
}

TEST_F(CustomToolsTest, AStoredToolThatCouldBeTakenForAnotherIsLeftOutWithANotice) {
  folder_.write("two.tool.json", manifest_of("wri-te"));
  folder_.write("three.tool.json", manifest_of("galley.commit"));
  trust();
  WorkspaceOptions options;
  options.user = std::make_shared<const UserSettings>(settings_);
  const auto workspace = *Workspace::open(tree_.path(), std::move(options));
  const auto registry = tools_of(*workspace).registry();
  ASSERT_TRUE(registry) << registry.error().message;
  EXPECT_TRUE((*registry)->has("custom.one"));
  EXPECT_FALSE((*registry)->has("wri-te"));
  EXPECT_FALSE((*registry)->has("galley.commit"));
  EXPECT_THAT(tools_of(*workspace).left_out(), ElementsAre(HasSubstr("tools remove galley.commit"),
                                                           HasSubstr("tools remove wri-te")));
}

TEST_F(CustomToolsTest, AFolderInsideTheWorkspaceIsNotTrusted) {
  settings_.tools_path = root_ + "/tools";
  const auto no = trust_tools(settings_, root_, folder(), 1);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().reason, "trust.no_place");
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(CustomToolsTest, ACallRunsTheStoredCopyIfNothingChanged) {
  trust();
  FakeCommandRunner runner([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 0;
    result.standard_output.head = R"({"ok": true, "data": {"n": 1}})";
    return result;
  });
  WorkspaceOptions options;
  options.runner = &runner;
  options.user = std::make_shared<const UserSettings>(settings_);
  auto workspace = Workspace::open(tree_.path(), std::move(options));
  ASSERT_TRUE(workspace) << workspace.error().message;
  auto transaction = (*workspace)->begin();
  const auto call = [&] { return transaction->call("custom.one", "{}"); };
  const CallResult done = call();
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_THAT(runner.commands(), SizeIs(1));
  EXPECT_THAT(runner.commands()[0].argv[0], HasSubstr(home_.path()));
  folder_.write("run", "#!/bin/sh\nexit 1\n", 0755);
  EXPECT_EQ(call().error().reason, "tool.changed");
  EXPECT_THAT(runner.commands(), SizeIs(1));
}

TEST_F(CustomToolsTest, OnlyPeopleAddOrRemoveToolsAndBothAreRecorded) {
  const auto workspace = *Workspace::open(tree_.path());
  ASSERT_TRUE(admit_tools(*workspace, {}, settings_, folder()));
  EXPECT_THAT(kept(), SizeIs(1));
  const auto no = remove_stored_tool(*workspace, {.agent = "bot"}, settings_, "custom.one");
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().reason, "tool.by_agent");
  EXPECT_THAT(kept(), SizeIs(1));
  ASSERT_TRUE(remove_stored_tool(*workspace, {}, settings_, "custom.one"));
  EXPECT_THAT(kept(), IsEmpty());
  const std::string log = tree_.read(".galley/audit.jsonl");
  EXPECT_THAT(log, HasSubstr("\"kind\":\"tools.added\""));
  EXPECT_THAT(log, HasSubstr("\"tools\":[\"custom.one\"]"));
  EXPECT_THAT(log, HasSubstr("\"kind\":\"tools.removed\""));
  EXPECT_THAT(log, HasSubstr("\"reason\":\"tool.by_agent\""));
}

}  // namespace
}  // namespace galley
