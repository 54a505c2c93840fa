#include <gmock/gmock.h>

#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

class EditTools : public ToolFixture {};

TEST_F(EditTools, TheNativeEditAppliesAPatchAndReturnsItsDiff) {
  put("a.txt", "one\ntwo\nthree\n");
  const auto data = done(
      "Edit", {{"file", "a.txt"},
               {"patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"}});
  EXPECT_EQ(data["applied"], true);
  EXPECT_EQ(data["staged"], true);
  EXPECT_NE(data["diff"].get<std::string>().find("\n-two\n+TWO\n"), std::string::npos);
  EXPECT_EQ(staged("a.txt"), "one\nTWO\nthree\n");
}

TEST_F(EditTools, StrategyCheckReportsAndStagesNothing) {
  put("a.txt", "one\n");
  const auto data = done(
      "Edit", {{"file", "a.txt"}, {"strategy", "check"}, {"patch", "@@ -1 +1 @@\n-one\n+two\n"}});
  EXPECT_EQ(data["applied"], false);
  EXPECT_EQ(data["staged"], false);
  EXPECT_NE(data["diff"].get<std::string>().find("+two"), std::string::npos);
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(EditTools, ThePatchOfEditAppliesToTheNamedFile) {
  put("a.txt", "one\n");
  put("b.txt", "one\n");
  done("Edit",
       {{"file", "a.txt"}, {"patch", "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n"}});
  EXPECT_EQ(staged("a.txt"), "two\n");
  EXPECT_EQ(staged("b.txt"), "one\n");
  EXPECT_EQ(refused("Edit", {{"file", "a.txt"},
                             {"patch",
                              "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+x\n"
                              "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+x\n"}}),
            "EVALIDATION args.one_file");
}

TEST_F(EditTools, APatchOfAnotherFileIsRefusedWhereNothingElseConfirmsTheFile) {
  put("a.txt", "one\n");
  put("b.txt", "one\n");
  for (const char* patch :
       {"*** Begin Patch\n*** Delete File: b.txt\n*** End Patch",
        "*** Begin Patch\n*** Add File: c.txt\n+x\n*** End Patch",
        "*** Begin Patch\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-one\n+x\n*** End Patch",
        "diff --git a/b.txt b/c.txt\nrename from b.txt\nrename to c.txt\n",
        "diff --git a/b.txt b/c.txt\nsimilarity index 100%\ncopy from b.txt\ncopy to c.txt\n"}) {
    EXPECT_EQ(refused("Edit", {{"file", "a.txt"}, {"patch", patch}}), "EVALIDATION args.one_file");
  }
  EXPECT_TRUE(overlay_.changes().empty());
  done("Edit",
       {{"file", "b.txt"}, {"patch", "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch"}});
  EXPECT_EQ(overlay_.changes().size(), 1U);
}

TEST_F(EditTools, OldAndNewStringHaveTheAnswerOfClaudeCode) {
  put("src/a.py", "def f():\n    return 1\n");
  const auto data =
      done("Edit",
           {{"file_path", "/ws/src/a.py"}, {"old_string", "return 1"}, {"new_string", "return 2"}});
  EXPECT_EQ(data["filePath"], "src/a.py");
  EXPECT_EQ(data["oldString"], "return 1");
  EXPECT_EQ(data["replaceAll"], false);
  EXPECT_EQ(data["staged"], true);
  const auto& hunk = data["structuredPatch"][0];
  EXPECT_EQ(hunk["oldStart"], 1);
  EXPECT_EQ(hunk["oldLines"], 2);
  EXPECT_EQ(hunk["newLines"], 2);
  EXPECT_EQ(hunk["lines"], (json{" def f():", "-    return 1", "+    return 2"}));
}

TEST_F(EditTools, AnAmbiguousEditIsAnErrorWithBothPlaces) {
  put("a.txt", "x\nsame\ny\nsame\n");
  for (const auto& [tool, args] : std::vector<std::pair<std::string, json>>{
           {"Edit", {{"file_path", "a.txt"}, {"old_string", "same"}, {"new_string", "z"}}},
           {"edit_file", {{"path", "a.txt"}, {"edits", {{{"oldText", "same"}, {"newText", "z"}}}}}},
           {"replace",
            {{"file_path", "a.txt"},
             {"instruction", "i"},
             {"old_string", "same"},
             {"new_string", "z"}}},
           {"str_replace_based_edit_tool",
            {{"command", "str_replace"},
             {"path", "a.txt"},
             {"old_str", "same"},
             {"new_str", "z"}}}}) {
    const ToolResult result = call(tool, args);
    ASSERT_FALSE(result.ok) << tool;
    EXPECT_EQ(result.error->reason, "patch.ambiguous") << tool;
    EXPECT_EQ((*result.error->details)["files"][0]["failed"][0]["candidates"].size(), 2U) << tool;
  }
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(EditTools, AChosenCandidateIsEdited) {
  const std::string text = "one\nsame\ntwo\nsame\n";
  const std::vector<std::pair<std::string, nlohmann::json>> calls = {
      {"Edit", {{"file_path", "a.txt"}, {"old_string", "same"}, {"new_string", "z"}}},
      {"Edit", {{"file", "a.txt"}, {"patch", "@@ ... @@\n-same\n+z\n"}}},
      {"MultiEdit",
       {{"file_path", "a.txt"}, {"edits", {{{"old_string", "same"}, {"new_string", "z"}}}}}},
      {"apply_patch",
       {{"input", "*** Begin Patch\n*** Update File: a.txt\n@@\n-same\n+z\n*** End Patch\n"}}},
      {"str_replace_based_edit_tool",
       {{"command", "str_replace"}, {"path", "a.txt"}, {"old_str", "same"}, {"new_str", "z"}}},
      {"replace",
       {{"file_path", "a.txt"}, {"instruction", "i"}, {"old_string", "same"}, {"new_string", "z"}}},
      {"edit_file", {{"path", "a.txt"}, {"edits", {{{"oldText", "same"}, {"newText", "z"}}}}}}};
  for (const auto& [tool, args] : calls) {
    put("a.txt", text);
    overlay_.restore({});
    const ToolResult result = call(tool, args);
    ASSERT_FALSE(result.ok) << tool;
    const auto failed = (*result.error->details)["files"][0]["failed"][0];
    ASSERT_EQ(failed["candidates"].size(), 2U) << tool;
    nlohmann::json chosen = args;
    chosen["choices"] = {failed["candidates"][1]["id"]};
    done(tool, chosen);
    EXPECT_EQ(staged("a.txt"), "one\nsame\ntwo\nz\n") << tool;
  }
}

TEST_F(EditTools, AnEditThatDoesNotFitShowsAWordDiff) {
  put("a.txt", "int total = 1;\nint count = 2;\nreturn total;\n");
  const ToolResult result = call("Edit", {{"file_path", "a.txt"},
                                          {"old_string", "int total = 1;\nint number = 2;\n"},
                                          {"new_string", "x\n"}});
  ASSERT_FALSE(result.ok);
  const auto failed = (*result.error->details)["files"][0]["failed"][0];
  EXPECT_NE(failed["word_diff"].get<std::string>().find("[-number-]{+count+}"), std::string::npos)
      << failed;
  EXPECT_NE(result.error->message.find("[-number-]{+count+}"), std::string::npos)
      << result.error->message;
}

TEST_F(EditTools, ReplaceAllReplacesAll) {
  put("a.txt", "same same\nsame\n");
  done("Edit", {{"file_path", "a.txt"},
                {"old_string", "same"},
                {"new_string", "other"},
                {"replace_all", true}});
  EXPECT_EQ(staged("a.txt"), "other other\nother\n");
}

TEST_F(EditTools, LineEndingsOfAFileAreKept) {
  put("a.txt", "one\r\ntwo\r\nthree\r\n");
  const auto data = done(
      "edit_file", {{"path", "a.txt"}, {"edits", {{{"oldText", "two"}, {"newText", "2\n2b"}}}}});
  EXPECT_EQ(json(staged("a.txt")), json("one\r\n2\r\n2b\r\nthree\r\n"));
  EXPECT_EQ(data["diff"].get<std::string>().find("-one"), std::string::npos);
}

/// Every door through which lines get into a file: a tool and its arguments, which put "x" and "y"
/// in place of line 2 of `f`, or behind it.
struct LineDoor {
  const char* name;
  const char* tool;
  json args;
  bool inserts = false;
};

std::vector<LineDoor> line_doors() {
  const auto document = [](const json& edit) {
    return json{{"patch", json{{"path", "f"}, {"edits", {edit}}}.dump()}};
  };
  const json editor = {{"command", "insert"}, {"path", "f"}, {"insert_line", 2}};
  json insert = editor;
  insert["insert_text"] = "x\ny\n";
  json insert_str = editor;
  insert_str["new_str"] = "x\ny";
  return {
      {"Edit", "Edit", {{"file_path", "f"}, {"old_string", "b"}, {"new_string", "x\ny"}}},
      {"Edit of a whole line",
       "Edit",
       {{"file_path", "f"}, {"old_string", "b\n"}, {"new_string", "x\ny\n"}}},
      {"replace_all",
       "Edit",
       {{"file_path", "f"}, {"old_string", "b"}, {"new_string", "x\ny"}, {"replace_all", true}}},
      {"MultiEdit",
       "MultiEdit",
       {{"file_path", "f"}, {"edits", {{{"old_string", "b"}, {"new_string", "x\ny"}}}}}},
      {"edit_file",
       "edit_file",
       {{"path", "f"}, {"edits", {{{"oldText", "b"}, {"newText", "x\ny"}}}}}},
      {"replace",
       "replace",
       {{"file_path", "f"}, {"instruction", "i"}, {"old_string", "b"}, {"new_string", "x\ny"}}},
      {"str_replace",
       "str_replace_based_edit_tool",
       {{"command", "str_replace"}, {"path", "f"}, {"old_str", "b"}, {"new_str", "x\ny"}}},
      {"insert", "str_replace_based_edit_tool", insert, true},
      {"insert of new_str", "str_replace_editor", insert_str, true},
      {"insert by line number", "apply_patch",
       document({{"insert_line", 2}, {"insert_text", "x\ny"}}), true},
      {"edit by line number", "apply_patch",
       document({{"start_line", 2}, {"end_line", 2}, {"new_text", "x\ny\n"}})},
      {"edits", "apply_patch", document({{"old_string", "b"}, {"new_string", "x\ny"}})},
      {"unified",
       "apply_patch",
       {{"patch", "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n"}}},
      {"V4A",
       "apply_patch",
       {{"patch", "*** Begin Patch\n*** Update File: f\n@@\n-b\n+x\n+y\n*** End Patch\n"}}},
      {"block",
       "apply_patch",
       {{"patch", "f\n<<<<<<< SEARCH\nb\n=======\nx\ny\n>>>>>>> REPLACE\n"}}},
  };
}

TEST_F(EditTools, NewLinesGetTheLineEndingOfTheirNeighboursInEveryTool) {
  for (const LineDoor& door : line_doors()) {
    for (const std::string end : {"\n", "\r\n"}) {
      for (const std::string other : {"\n", "\r\n"}) {
        put("f", "a" + other + "b" + end + "c" + other);
        done(door.tool, door.args);
        const std::string lines = door.inserts ? "b" + end + "x" + end + "y" : "x" + end + "y";
        EXPECT_EQ(json(staged("f")), json("a" + other + lines + end + "c" + other)) << door.name;
        overlay_.restore({});
      }
    }
  }
}

TEST_F(EditTools, LinesAfterAnUnterminatedLineGetTheLineEndingOfTheFile) {
  put("f", "a\r\nb");
  done("str_replace_editor",
       {{"command", "insert"}, {"path", "f"}, {"insert_line", 2}, {"insert_text", "x\ny\n"}});
  EXPECT_EQ(json(staged("f")), json("a\r\nb\r\nx\r\ny"));
  put("g", "a\r\n");
  done("apply_patch",
       {{"patch", "*** Begin Patch\n*** Update File: g\n@@\n+x\n+y\n*** End Patch\n"}});
  EXPECT_EQ(json(staged("g")), json("a\r\nx\r\ny\r\n"));
}

TEST_F(EditTools, AnEmptyTextIsInsertedAsABlankLine) {
  put("f", "a\nb\n");
  const json insert = {
      {"command", "insert"}, {"path", "f"}, {"insert_line", 1}, {"insert_text", ""}};
  done("str_replace_editor", insert);
  EXPECT_EQ(staged("f"), "a\n\nb\n");
  const json edit = {{"insert_line", 3}, {"insert_text", ""}};
  done("apply_patch", {{"patch", json{{"path", "f"}, {"edits", {edit}}}.dump()}});
  EXPECT_EQ(staged("f"), "a\n\nb\n\n");
}

TEST_F(EditTools, AnEditOfLineEndingsKeepsTheGivenOnes) {
  put("f", "a\r\nb\r\n");
  done("Edit", {{"file_path", "f"}, {"old_string", "a\r\nb"}, {"new_string", "a\nb"}});
  EXPECT_EQ(json(staged("f")), json("a\nb\r\n"));
  put("g", "a\nb\n");
  done("Edit",
       {{"file_path", "g"}, {"old_string", "\n"}, {"new_string", "\r\n"}, {"replace_all", true}});
  EXPECT_EQ(json(staged("g")), json("a\r\nb\r\n"));
}

TEST_F(EditTools, NewLinesAreConvertedToTheLineEndingOfTheFile) {
  put("f", "a\nb\nc\n");
  const auto data =
      done("Edit", {{"file_path", "f"}, {"old_string", "b"}, {"new_string", "x\r\ny"}});
  EXPECT_EQ(json(staged("f")), json("a\nx\ny\nc\n"));
  put("old.txt", "a\rb\rc\r");
  done("Edit", {{"file_path", "old.txt"}, {"old_string", "b"}, {"new_string", "x\ny"}});
  EXPECT_EQ(json(staged("old.txt")), json("a\rx\ry\rc\r"));
}

TEST_F(EditTools, AByteOrderMarkStaysFirst) {
  put("f",
      "\xEF\xBB\xBF"
      "a\r\nb\r\n");
  done("str_replace_editor",
       {{"command", "insert"}, {"path", "f"}, {"insert_line", 0}, {"insert_text", "x\n"}});
  EXPECT_EQ(json(staged("f")), json("\xEF\xBB\xBF"
                                    "x\r\na\r\nb\r\n"));
}

TEST_F(EditTools, NoToolAddsTheSameLinesTwiceNextToANamedLine) {
  const json text = {{"old_string", "line b"}, {"new_string", "line b\nnew"}};
  json edit = text;
  edit["file_path"] = "f";
  json replace = edit;
  replace["instruction"] = "put it in";
  const auto patch = [](const std::string& body) { return json{{"patch", body}}; };
  const std::vector<std::pair<const char*, json>> doors = {
      {"Edit", edit},
      {"replace", replace},
      {"MultiEdit", {{"file_path", "f"}, {"edits", {text}}}},
      {"edit_file",
       {{"path", "f"}, {"edits", {{{"oldText", "line b"}, {"newText", "line b\nnew"}}}}}},
      {"str_replace_based_edit_tool",
       {{"command", "str_replace"},
        {"path", "f"},
        {"old_str", "line b\n"},
        {"new_str", "line b\nnew\n"}}},
      {"Edit", {{"file_path", "f"}, {"old_string", "line c"}, {"new_string", "new\nline c"}}},
      {"apply_patch", patch("f\n<<<<<<< SEARCH\nline b\n=======\nline b\nnew\n>>>>>>> REPLACE\n")},
      {"apply_patch",
       patch("*** Begin Patch\n*** Update File: f\n@@\n line b\n+new\n*** End Patch\n")},
      {"apply_patch", patch("--- a/f\n+++ b/f\n@@ ... @@\n line b\n+new\n")},
      {"apply_patch", patch("--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n line b\n+new\n line c\n")},
  };
  for (const std::string end : {"\n", "\r\n"}) {
    for (const auto& [tool, args] : doors) {
      put("f", "line a" + end + "line b" + end + "line c" + end);
      const std::string once = "line a" + end + "line b" + end + "new" + end + "line c" + end;
      done(tool, args);
      EXPECT_EQ(json(staged("f")), json(once)) << tool << args;
      EXPECT_EQ(refused(tool, args), "ERUNTIME patch.already_applied") << args;
      EXPECT_EQ(json(staged("f")), json(once)) << tool << args;
      overlay_.restore({});
    }
  }
}

TEST_F(EditTools, RepeatedLinesWithoutProofAreAddedAndReported) {
  const std::vector<std::pair<const char*, json>> doors = {
      {"str_replace_editor",
       {{"command", "insert"}, {"path", "f"}, {"insert_line", 2}, {"insert_text", "new\n"}}},
      {"apply_patch",
       {{"patch",
         json{{"path", "f"}, {"edits", {{{"insert_line", 2}, {"insert_text", "new"}}}}}.dump()}}},
      {"Edit", {{"file_path", "f"}, {"old_string", "}"}, {"new_string", "}\nnew"}}},
  };
  for (const auto& [tool, args] : doors) {
    put("f", "{\n}\n");
    EXPECT_TRUE(done(tool, args)["report"]["leniencies"].empty()) << args;
    const auto again = done(tool, args);
    ASSERT_EQ(again["report"]["leniencies"].size(), 1U) << again;
    EXPECT_EQ(again["report"]["leniencies"][0]["rule"], "repeated_lines");
    EXPECT_EQ(staged("f"), "{\n}\nnew\nnew\n");
    overlay_.restore({});
  }
}

TEST_F(EditTools, RepeatedTextInALineIsAddedAndReported) {
  const std::vector<std::pair<json, std::string>> edits = {
      {{{"file_path", "f"}, {"old_string", "[1"}, {"new_string", "[1, 2"}}, "a = [1, 2, 2]\n"},
      {{{"file_path", "f"}, {"old_string", "1]"}, {"new_string", "0, 1]"}}, "a = [0, 0, 1]\n"}};
  for (const auto& [args, twice] : edits) {
    put("f", "a = [1]\n");
    EXPECT_TRUE(done("Edit", args)["report"]["leniencies"].empty()) << args;
    const auto again = done("Edit", args);
    ASSERT_EQ(again["report"]["leniencies"].size(), 1U) << again;
    EXPECT_EQ(again["report"]["leniencies"][0]["rule"], "repeated_lines");
    EXPECT_EQ(staged("f"), twice);
    overlay_.restore({});
  }
}

TEST_F(EditTools, AnExistingLineDoesNotProveAnEarlierEdit) {
  put("f.js", "var a;\nvar fs = 1;\n");
  const json edit = {
      {"file_path", "f.js"}, {"old_string", "missing stuff here"}, {"new_string", "var fs = 1;"}};
  EXPECT_EQ(refused("Edit", edit), "ERUNTIME patch.context_not_found");
  const json other = {
      {"file_path", "f.js"}, {"old_string", "var a;"}, {"new_string", "var fs = 1;"}};
  done("Edit", other);
  EXPECT_EQ(refused("Edit", other), "ERUNTIME patch.already_applied") << "this transaction made it";
  EXPECT_EQ(refused("Edit", edit), "ERUNTIME patch.context_not_found");
}

TEST_F(EditTools, EveryToolThatMakesAFileRefusesNamesFromElsewhere) {
  put("a.txt", "one\n");
  put("src/old.txt", "one\n");
  for (const std::string name : {"~/.bashrc", "~/notes/a.md", "~root/x", "D:/tools/a.md",
                                 "C:\\proj\\a.md", "src\\new.txt", "$HOME/a.md"}) {
    const auto patch = [](const std::string& body) { return json{{"patch", body}}; };
    const std::vector<std::pair<const char*, json>> doors = {
        {"Write", {{"file_path", name}, {"content", "x\n"}}},
        {"write_file", {{"path", name}, {"content", "x\n"}}},
        {"Edit", {{"file_path", name}, {"old_string", ""}, {"new_string", "x\n"}}},
        {"Edit", {{"file_path", name}, {"old_string", "x"}, {"new_string", "y"}}},
        {"str_replace_editor", {{"command", "create"}, {"path", name}, {"file_text", "x\n"}}},
        {"apply_patch", patch("*** Begin Patch\n*** Add File: " + name + "\n+x\n*** End Patch\n")},
        {"apply_patch", patch("*** Begin Patch\n*** Update File: a.txt\n*** Move to: " + name +
                              "\n@@\n-one\n+two\n*** End Patch\n")},
        {"apply_patch", patch("--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n")},
        {"apply_patch", patch(name + "\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n")},
        {"apply_patch", patch(json{{"path", name}, {"content", "x\n"}}.dump())},
        {"Move", {{"source", "a.txt"}, {"destination", name}}},
        {"Copy", {{"source", "a.txt"}, {"destination", name}}},
        {"MakeDirectory", {{"path", name}}},
    };
    for (const auto& [tool, args] : doors) {
      EXPECT_THAT(refused(tool, args), ::testing::HasSubstr(" path.elsewhere")) << args;
    }
    EXPECT_TRUE(overlay_.changes().empty()) << name;
  }
}

TEST_F(EditTools, ContentThatSaysThatLinesWereLeftOutIsRefused) {
  const std::string elided = "int a;\n// ... existing code ...\n";
  put("f.cc", "int a;\nint b;\nint c;\n");
  EXPECT_THAT(refused("Write", {{"file_path", "f.cc"}, {"content", elided}}),
              ::testing::HasSubstr("patch.part_of_file"));
  const json edit = {{"file_path", "f.cc"}, {"old_string", "int b;\n"}, {"new_string", elided}};
  EXPECT_THAT(refused("Edit", edit), ::testing::HasSubstr("patch.doubtful_lines"));
  EXPECT_TRUE(overlay_.changes().empty());
  done("Write", {{"file_path", "new.cc"}, {"content", elided}});
}

TEST_F(EditTools, ARefusedNameFromElsewhereSuggestsTheIntendedFile) {
  put("src/old.txt", "one\n");
  const auto told = [this](const std::string& name) {
    return call("Write", {{"file_path", name}, {"content", "x\n"}}).error->message;
  };
  EXPECT_THAT(told("src\\new.txt"), ::testing::HasSubstr("'src/new.txt'"));
  EXPECT_THAT(told("C:\\Users\\me\\src\\old.txt"), ::testing::HasSubstr("'src/old.txt'"));
  EXPECT_THAT(told("~/ws/src/new.txt"), ::testing::HasSubstr("'src/new.txt'"));
  EXPECT_THAT(told("~/.bashrc"), ::testing::Not(::testing::HasSubstr("'.bashrc'")));
}

TEST_F(EditTools, AnExistingFileWithAnUnusualNameCanBeEdited) {
  for (const std::string name : {"~lock", "a\\b.txt", "~/x"}) {
    put(name, "one\n");
    done("Edit", {{"file_path", name}, {"old_string", "one"}, {"new_string", "two"}});
    EXPECT_EQ(staged(name), "two\n");
  }
}

TEST_F(EditTools, Utf8LettersAreRefusedInAFileWithAnotherEncoding) {
  const std::string gbk = "# \xd6\xd0\xce\xc4\nname = 1\n";  // two Chinese letters in GBK
  put("gbk.py", gbk);
  put("latin.py", "# caf\xe9\nname = 1\n");
  for (const std::string file : {"gbk.py", "latin.py"}) {
    const std::string letters = "name = 1  # \xc3\xa9t\xc3\xa9";
    const std::vector<std::pair<const char*, json>> doors = {
        {"Edit", {{"file_path", file}, {"old_string", "name = 1"}, {"new_string", letters}}},
        {"str_replace_editor",
         {{"command", "insert"}, {"path", file}, {"insert_line", 2}, {"insert_text", letters}}},
        {"apply_patch",
         {{"patch", "*** Begin Patch\n*** Update File: " + file + "\n@@\n-name = 1\n+" + letters +
                        "\n*** End Patch\n"}}},
    };
    for (const auto& [tool, args] : doors) {
      EXPECT_EQ(refused(tool, args), "ERUNTIME patch.encoding") << args;
    }
    done("Edit", {{"file_path", file}, {"old_string", "name = 1"}, {"new_string", "name = 2"}});
  }
  put("utf8.py", "# \xc3\xa9\nname = 1\n");
  done("Edit", {{"file_path", "utf8.py"}, {"old_string", "name"}, {"new_string", "n\xc3\xa4me"}});
  put("damaged.txt", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xff one\n");
  done("Edit", {{"file_path", "damaged.txt"}, {"old_string", "one"}, {"new_string", "\xc3\xa9"}});
  done("Write", {{"file_path", "gbk.py"}, {"content", "# \xc3\xa9\n"}});
}

TEST_F(EditTools, EditsByNumberAreRefusedInAFileWithWideCharacters) {
  const auto wide = [](const std::string& text, size_t size, bool is_big) {
    std::string out;
    for (const char c : text) {
      const std::string zeros(size - 1, '\0');
      out += is_big ? zeros + c : c + zeros;
    }
    return out;
  };
  const std::vector<std::string> files = {
      wide("one\ntwo\n", 2, false), wide("one\ntwo\n", 2, true), wide("one\ntwo\n", 4, false),
      wide("one\ntwo\n", 4, true),
      "\xFF\xFE" + std::string(2, '\0') + wide("one\ntwo\n", 4, false)};
  for (const std::string& file : files) {
    for (const std::string added : {"abcd", "\xc3\xa9", "\n"}) {
      put("wide.txt", file);
      EXPECT_EQ(refused("str_replace_editor", {{"command", "insert"},
                                               {"path", "wide.txt"},
                                               {"insert_line", 1},
                                               {"insert_text", added}}),
                "ERUNTIME patch.encoding");
    }
  }
  put("wide.txt", files[0]);
  EXPECT_EQ(
      refused("Edit", {{"file_path", "wide.txt"}, {"old_string", "one"}, {"new_string", "1"}}),
      "ERUNTIME patch.encoding");
  put("binary.dat", std::string("a\0b\nc", 5));
  done("str_replace_editor",
       {{"command", "insert"}, {"path", "binary.dat"}, {"insert_line", 1}, {"insert_text", "x"}});
}

TEST_F(EditTools, Utf8LettersAreRefusedInIso2022Jp) {
  put("mail.txt", "name = 1\n\x1B$B$3$s\x1B(B\n");
  const json letters = {
      {"file_path", "mail.txt"}, {"old_string", "name"}, {"new_string", "n\xc3\xa4me"}};
  EXPECT_EQ(refused("Edit", letters), "ERUNTIME patch.encoding");
  done("Edit", {{"file_path", "mail.txt"}, {"old_string", "name"}, {"new_string", "title"}});
}

TEST_F(EditTools, AByteThatMayBeHalfALetterIsNotReplaced) {
  const auto edit = [](const std::string& file, const std::string& from, const std::string& to) {
    return json{{"file_path", file}, {"old_string", from}, {"new_string", to}};
  };
  put("sjis.ini", "title = \"\x95\x5c\x8e\xa6\"\nx = 1\n");
  EXPECT_EQ(refused("Edit", edit("sjis.ini", "\\", "/")), "ERUNTIME patch.encoding");
  EXPECT_EQ(refused("edit_file",
                    {{"path", "sjis.ini"}, {"edits", {{{"oldText", "\\"}, {"newText", "/"}}}}}),
            "ERUNTIME patch.encoding");
  done("Edit", edit("sjis.ini", "x = 1", "x = 2"));
  put("paths.ini", "p = \"C:\\\x95\x5c\"\n");
  json all = edit("paths.ini", "\\", "/");
  all["replace_all"] = true;
  EXPECT_EQ(refused("Edit", all), "ERUNTIME patch.encoding");
  put("gbk.txt", "\x81\x41 = 1\nB = 2\n");
  EXPECT_EQ(refused("Edit", edit("gbk.txt", "A", "Z")), "ERUNTIME patch.encoding");
  EXPECT_EQ(refused("Edit", edit("gbk.txt", "A = 1", "a = 1")), "ERUNTIME patch.encoding");
  done("Edit", edit("gbk.txt", " = 1", " = 2"));
  put("mail.c", "// \x1B$B@_Dj\x1B(B\nint a = \"B\";\n");
  all = edit("mail.c", "B", "C");
  all["replace_all"] = true;
  EXPECT_EQ(refused("Edit", all), "ERUNTIME patch.encoding");
  EXPECT_EQ(refused("Edit", edit("mail.c", "@_D", "x")), "ERUNTIME patch.encoding");
  done("Edit", edit("mail.c", "\"B\"", "\"C\""));
  put("latin.py", "\xe9t\xe9=1\n# caf\xe9 noir\n");
  done("Edit", edit("latin.py", "=1", "=2"));
  done("Edit", edit("latin.py", " noir", " au lait"));
  done("Edit", edit("latin.py", "# caf", "# Caf"));
  put("damaged.txt", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9x \xff one\n");
  done("Edit", edit("damaged.txt", "x", "y"));
}

TEST_F(EditTools, AMissingFileSuggestsTheFileWithThatNameNearby) {
  put("src/app/main.py", "x = 1\n");
  const auto told = [this](const std::string& name) {
    return call("Edit", {{"file_path", name}, {"old_string", "x = 1"}, {"new_string", "x = 2"}})
        .error->message;
  };
  EXPECT_THAT(told("app/main.py"), ::testing::HasSubstr("'src/app/main.py' does"));
  EXPECT_THAT(told("ws/src/app/main.py"), ::testing::HasSubstr("'src/app/main.py' does"));
  EXPECT_THAT(told("main.py"), ::testing::HasSubstr("'src/app/main.py' does"));
  EXPECT_THAT(told("source/app/main.py"), ::testing::HasSubstr("'src/app/main.py' does"));
  put(".cache/app/main.py", "x = 1\n");
  put("lib/core/main.py", "x = 1\n");
  EXPECT_THAT(told("source/app/main.py"), ::testing::HasSubstr("'src/app/main.py' does"));
  EXPECT_THAT(told("main.py"), ::testing::Not(::testing::HasSubstr("does:")));
  put("lib/app/main.py", "x = 1\n");
  for (const char* name : {"app/main.py", "source/app/main.py"}) {
    EXPECT_THAT(told(name), ::testing::Not(::testing::HasSubstr("does:"))) << name;
  }
}

TEST_F(EditTools, EscapeSequencesInTheOldTextAreReported) {
  put("f", "one\ntwo\nthree\n");
  for (const char* old_text : {"one\\ntwo", "one\\r\\ntwo", "one\\ntwo\n", "one\\n\ntwo\\n\n",
                               "one\\r\\ntwo\\r\\n", "one\\ntwo\nthree"}) {
    const auto error =
        call("Edit", {{"file_path", "f"}, {"old_string", old_text}, {"new_string", "one\\n2"}})
            .error;
    ASSERT_TRUE(error) << old_text;
    EXPECT_EQ(error->reason, "patch.context_not_found");
    EXPECT_THAT(error->message, ::testing::HasSubstr("escape sequences")) << old_text;
    EXPECT_THAT(error->message, ::testing::HasSubstr("line 1"));
  }
}

TEST_F(EditTools, EscapeSequencesInAPatchAreReported) {
  put("f", "one\ntwo\nthree\n");
  const std::string patch = "*** Begin Patch\n*** Update File: f\n@@\n";
  for (const char* lines : {"-one\\ntwo\n+one\\n2\n", "-one\\ntwo\n-three\n+one\n+2\n"}) {
    const auto error = call("apply_patch", {{"input", patch + lines + "*** End Patch\n"}}).error;
    ASSERT_TRUE(error) << lines;
    EXPECT_EQ(error->reason, "patch.context_not_found");
    EXPECT_THAT(error->message, ::testing::HasSubstr("escape sequences")) << lines;
    EXPECT_THAT(error->message, ::testing::HasSubstr("line 1"));
  }
}

TEST_F(EditTools, APatchInACompleteArgumentIsNotTreatedAsCutOff) {
  std::string rest;  // so that the file has as many lines as are stated
  for (int i = 10; i < 60; ++i) rest += std::to_string(i) + "\n";
  put("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n" + rest);
  const std::string names = "--- a/f\n+++ b/f\n";
  const std::string wrong = "@@ -1,30 +1,30 @@\n 1\n-2\n+two\n 3\n";
  done("apply_patch", {{"patch", names + wrong}});
  EXPECT_EQ(staged("f"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n" + rest);
  overlay_.restore({});
  const std::string right = "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
  EXPECT_EQ(refused("apply_patch", {{"patch", names + right + "@@ -6,30 +6,30 @@\n 6\n-7\n+7b\n"}}),
            "EVALIDATION edit.truncated")
      << "the counts of the other hunk are right";
  const std::string last = "@@ -6,30 +6,30 @@\n 6\n-7\n+7b\n";
  done("apply_patch", {{"patch", names + right + last}, {"complete", true}});
  EXPECT_EQ(staged("f"), "1\ntwo\n3\n4\n5\n6\n7b\n8\n9\n" + rest);
  overlay_.restore({});
  EXPECT_EQ(refused("apply_patch", {{"patch", names + wrong}, {"complete", false}}),
            "EVALIDATION edit.truncated");
  EXPECT_EQ(refused("Edit", {{"file", "f"}, {"patch", wrong}, {"complete", false}}),
            "EVALIDATION edit.truncated");
  EXPECT_EQ(
      refused("Edit",
              {{"file", "f"}, {"old_string", "2"}, {"new_string", "two"}, {"complete", false}}),
      "EVALIDATION args.mixed");
}

TEST_F(EditTools, BytesThatAreNotUtf8AreKept) {
  put("a.bin", "caf\xe9 one\n\xff\xfe two\n");
  const auto data =
      done("Edit", {{"file_path", "a.bin"}, {"old_string", "one"}, {"new_string", "1"}});
  EXPECT_EQ(staged("a.bin"), "caf\xe9 1\n\xff\xfe two\n");
  EXPECT_EQ(data["diffIsLossy"], true);
}

TEST_F(EditTools, MultiEditIsAllOrNothing) {
  put("a.txt", "one\ntwo\n");
  EXPECT_EQ(refused("MultiEdit", {{"file_path", "a.txt"},
                                  {"edits",
                                   {{{"old_string", "one"}, {"new_string", "1"}},
                                    {{"old_string", "absent"}, {"new_string", "x"}}}}}),
            "ERUNTIME patch.context_not_found");
  EXPECT_EQ(staged("a.txt"), "one\ntwo\n");
  done("MultiEdit", {{"file_path", "a.txt"},
                     {"edits",
                      {{{"old_string", "one"}, {"new_string", "1"}},
                       {{"old_string", "1\ntwo"}, {"new_string", "done"}}}}});
  EXPECT_EQ(staged("a.txt"), "done\n");
}

TEST_F(EditTools, AnEmptyOldTextOnlyMakesANewFile) {
  done("Edit", {{"file_path", "new.txt"}, {"old_string", ""}, {"new_string", "hello\n"}});
  EXPECT_EQ(staged("new.txt"), "hello\n");
  EXPECT_NE(refused("Edit", {{"file_path", "new.txt"}, {"old_string", ""}, {"new_string", "x"}})
                .substr(0, 3),
            "ok:");
  EXPECT_EQ(refused("Edit", {{"file_path", "new.txt"}, {"old_string", "a"}, {"new_string", "a"}}),
            "EVALIDATION args.no_change");
}

TEST_F(EditTools, ApplyPatchIsAllOrNothingOverFiles) {
  put("a.txt", "one\n");
  put("b.txt", "two\n");
  const std::string bad =
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n"
      "-absent\n+2\n*** Add File: c.txt\n+new\n*** End Patch\n";
  EXPECT_EQ(refused("apply_patch", {{"input", bad}}), "ERUNTIME patch.context_not_found");
  EXPECT_EQ(staged("a.txt"), "one\n");
  const std::string good =
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: b.txt\n"
      "*** Add File: c.txt\n+new\n*** End Patch\n";
  const auto data = done("apply_patch", {{"input", good}});
  EXPECT_EQ(staged("a.txt"), "1\n");
  EXPECT_EQ(staged("c.txt"), "new\n");
  EXPECT_EQ(data["changes"].size(), 3U);
}

TEST_F(EditTools, NoDialectLeavesTheWorkspaceOrWritesProtectedPaths) {
  put("a.txt", "one\n");
  ASSERT_TRUE(workspace_->make_symlink(rel("link"), "/etc"));
  const auto patch = [](const std::string& path) {
    return "*** Begin Patch\n*** Add File: " + path + "\n+x\n*** End Patch\n";
  };
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", ".git/hooks/pre-commit", ".GIT/x",
                           "sub/.git/config", ".galley/x", ".sage/x", "link/x"}) {
    for (const auto& [tool, args] : std::vector<std::pair<std::string, json>>{
             {"Write", {{"file", path}, {"content", "x"}}},
             {"write_file", {{"path", path}, {"content", "x"}}},
             {"apply_patch", {{"input", patch(path)}}},
             {"Edit", {{"file_path", path}, {"old_string", ""}, {"new_string", "x"}}},
             {"str_replace_based_edit_tool",
              {{"command", "create"}, {"path", path}, {"file_text", "x"}}},
             {"Move", {{"source", "a.txt"}, {"destination", path}}},
             {"Symlink", {{"path", path}, {"target", "a.txt"}}}}) {
      const std::string said = refused(tool, args);
      const bool is_no = said.starts_with("EPERMISSION") || said.starts_with("EVALIDATION");
      EXPECT_TRUE(is_no) << tool << " " << path << ": " << said;
    }
  }
}

TEST_F(EditTools, NamesThatOnlyLookLikeEscapesAreAccepted) {
  done("Write", {{"file", "a..b"}, {"content", ""}});
  EXPECT_EQ(staged("a..b"), "");
  done("Write", {{"file", "workspace-evil/x"}, {"content", "x"}});
  EXPECT_EQ(refused("Write", {{"file", "/ws-evil/x"}, {"content", "x"}}),
            "EPERMISSION path.outside");
}

TEST_F(EditTools, AnAbsolutePathOfAPatchMeansWhatItsTextMeans) {
  for (const std::string path : {"/ws//a.txt", "/ws/../ws/a.txt", "//ws/sub/../a.txt"}) {
    done("Write", {{"file", "a.txt"}, {"content", "one\n"}});
    done("apply_patch",
         {{"input", "--- " + path + "\n+++ " + path + "\n@@ -1 +1 @@\n-one\n+two\n"}});
    EXPECT_EQ(staged("a.txt"), "two\n") << path;
  }
}

TEST_F(EditTools, TheTextEditorHasItsCommands) {
  const auto editor = [&](json args) { return done("str_replace_based_edit_tool", args); };
  editor({{"command", "create"}, {"path", "/ws/a.txt"}, {"file_text", "one\ntwo\n"}});
  EXPECT_EQ(editor({{"command", "view"}, {"path", "a.txt"}})["content"],
            "     1\tone\n     2\ttwo\n");
  EXPECT_EQ(editor({{"command", "view"}, {"path", "a.txt"}, {"view_range", {2, -1}}})["content"],
            "     2\ttwo\n");
  editor({{"command", "insert"}, {"path", "a.txt"}, {"insert_line", 0}, {"insert_text", "zero"}});
  editor({{"command", "insert"}, {"path", "a.txt"}, {"insert_line", 3}, {"new_str", "three\n"}});
  EXPECT_EQ(staged("a.txt"), "zero\none\ntwo\nthree\n");
  editor({{"command", "str_replace"}, {"path", "a.txt"}, {"old_str", "one\n"}});
  EXPECT_EQ(staged("a.txt"), "zero\ntwo\nthree\n");
  EXPECT_EQ(editor({{"command", "view"}, {"path", "/ws"}})["entries"][0]["name"], "a.txt");
  EXPECT_EQ(refused("str_replace_based_edit_tool", {{"command", "undo_edit"}, {"path", "a.txt"}}),
            "EVALIDATION args.undo_edit");
  EXPECT_EQ(refused("str_replace_based_edit_tool", {{"command", "insert"}, {"path", "a.txt"}}),
            "EVALIDATION args.schema");
}

TEST_F(EditTools, DryRunOfEditFileStagesNothing) {
  put("a.txt", "one\n");
  const auto data = done(
      "edit_file",
      {{"path", "a.txt"}, {"edits", {{{"oldText", "one"}, {"newText", "two"}}}}, {"dryRun", true}});
  EXPECT_NE(data["diff"].get<std::string>().find("+two"), std::string::npos);
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(EditTools, EditingAMissingFileIsAnError) {
  EXPECT_EQ(refused("Edit", {{"file_path", "no.txt"}, {"old_string", "a"}, {"new_string", "b"}}),
            "ERUNTIME patch.file_not_found");
}

}  // namespace
}  // namespace galley
