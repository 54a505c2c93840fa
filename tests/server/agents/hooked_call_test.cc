#include "server/agents/hooked_call.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "server/agents/shell_patch.h"

namespace galley {
namespace {

using nlohmann::json;

const StagedProgram kStaged = {"galley", "bot"};

Result<HookedCall::Deed> deed(const std::string& tool, json input) {
  HookRequest request;
  request.tool = tool;
  request.input = std::move(input);
  return deed_of(request, kStaged, {}, [](std::string_view name) { return name == "Edit"; });
}

TEST(HookedCall, EditsAreTranslatedToToolsOfGalley) {
  const auto claude = deed("Edit", {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}});
  const auto opencode = deed("edit", {{"filePath", "a"}, {"oldString", "x"}, {"newString", "y"}});
  ASSERT_TRUE(claude.has_value() && opencode.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*claude).tool, "Edit");
  EXPECT_EQ(std::get<HookedCall::Edit>(*claude).arguments,
            std::get<HookedCall::Edit>(*opencode).arguments);
  const auto gemini = deed("replace", {{"file_path", "a"}, {"expected_replacements", 2}});
  ASSERT_TRUE(gemini.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*gemini).arguments["allow_multiple"], true);
}

TEST(HookedCall, WhatIsSentBesideTheArgumentsIsLeftOut) {
  const auto edit = deed("Write", {{"file_path", "a"}, {"content", "x"}, {"more", 1}});
  ASSERT_TRUE(edit.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).arguments,
            (json{{"file_path", "a"}, {"content", "x"}}));
}

TEST(HookedCall, ACommandIsStagedWithItsOtherArgumentsAsTheyWere) {
  const auto bash = deed("Bash", {{"command", "echo 'x'"}, {"timeout", 5}});
  ASSERT_TRUE(bash.has_value());
  EXPECT_EQ(std::get<HookedCall::Command>(*bash).input,
            (json{{"command", R"(galley --agent bot exec --begin -- sh -c 'echo '\''x'\''')"},
                  {"timeout", 5}}));
}

TEST(HookedCall, AnUnknownToolIsRefused) {
  const auto unknown = deed("Teleport", json::object());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().reason, "hook.unknown_tool");
  EXPECT_TRUE(std::holds_alternative<HookedCall::Pass>(deed("Read", json::object()).value()));
}

TEST(HookedCall, OnlyToolsThatGalleyOffersAreItsOwn) {
  for (const char* own : {"mcp__galley__Edit", "mcp_galley_Edit", "galley_Edit"}) {
    const auto passed = deed(own, json::object());
    ASSERT_TRUE(passed.has_value()) << own;
    EXPECT_TRUE(std::holds_alternative<HookedCall::Pass>(*passed)) << own;
  }
  for (const char* other : {"mcp__galley__x__Edit", "mcp_galley_x_Edit", "galley_x_Edit", "galley_",
                            "mcp__galley__Teleport"}) {
    const auto refused = deed(other, json::object());
    ASSERT_FALSE(refused.has_value()) << other;
    EXPECT_EQ(refused.error().reason, "hook.unknown_tool") << other;
  }
}

TEST(HookedCall, APatchKeepsBothDirectories) {
  const std::string command = "cd sub && apply_patch <<'E'\np\nE\n";
  const auto edit = deed("bash", {{"command", command}, {"workdir", "top"}});
  ASSERT_TRUE(edit.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).directory, "top/sub");
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).arguments["input"], "p\n");
}

TEST(ShellPatch, IsFoundOnlyWhereNothingElseIsDone) {
  EXPECT_TRUE(patch_in_shell_command("apply_patch <<'E'\np\nE"));
  EXPECT_TRUE(patch_in_shell_command("  cd 'a b' && applypatch << \"E\" \np\nE\n\n"));
  EXPECT_TRUE(patch_in_shell_command("apply_patch 'p\nq'"));
  for (const char* other :
       {"", "apply_patch", "apply_patch <<E\np\nE", "apply_patch <<'E'\np",
        "apply_patch <<'E' | x\np\nE", "apply_patch <<'E'\np\nE\nx", "apply_patch 'p' x",
        "apply_patch 'p", "apply_patch \"p\"", "cd a; apply_patch 'p'", "cd $x && apply_patch 'p'",
        "cd - && apply_patch 'p'", "x=1 apply_patch 'p'", "apply_patchy 'p'", "apply_patch 'p'; x",
        "apply_patch 'p'x"}) {
    EXPECT_FALSE(patch_in_shell_command(other)) << other;
  }
}

TEST(ShellWord, MeansExactlyItsBytes) {
  EXPECT_EQ(shell_word("plain-1.x"), "plain-1.x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'b $c\n"), "'a'\\''b $c\n'");
  EXPECT_EQ(shell_word("~"), "'~'");
}

}  // namespace
}  // namespace galley
