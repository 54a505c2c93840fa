// The file that is meant by an edit without a usable name.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

constexpr const char* kThreeLines = "one\ntwo\nthree\n";

/// Returns the file that an answer changes; "" if it is refused.
std::string meant_file(const std::string& answer,
                       const std::vector<std::pair<std::string, std::string>>& files,
                       const StageOptions& options = {}) {
  auto workspace = make_memory_directory();
  for (const auto& [name, text] : files) {
    for (size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
      EXPECT_TRUE(workspace->make_directory(*RelPath::parse(name.substr(0, at)), 0755));
    }
    auto opened =
        workspace->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  }
  auto edits = read_edits(answer, EditFormat::kAuto, {});
  EXPECT_TRUE(edits);
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  const auto outcome = stage_edits(overlay, *edits, options);
  EXPECT_TRUE(outcome);
  return outcome->is_staged ? outcome->files.at(0).path : "";
}

constexpr const char* kNamelessDiff =
    "--- original\n+++ fixed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

TEST(MeantFile, AFileByOneRuleIsNoBetterThanOneByAnother) {
  const std::string answer =
      "Unlike a.c, which is fine, fix the other.\n\n" + std::string(kNamelessDiff);
  EXPECT_EQ(meant_file(answer, {{"a.c", kThreeLines}, {"b.c", kThreeLines}}), "");
  EXPECT_EQ(meant_file(answer, {{"a.c", kThreeLines}, {"b.c", "other\n"}}), "a.c");
  EXPECT_EQ(meant_file(kNamelessDiff, {{"a.c", "other\n"}, {"b.c", kThreeLines}}), "b.c");
}

TEST(MeantFile, AFileThatIsNotMentionedIsNotTakenForOneThatDoesNotFit) {
  const std::string answer = "In a.c:\n\n" + std::string(kNamelessDiff);
  EXPECT_EQ(meant_file(answer, {{"a.c", "other\n"}, {"b.c", kThreeLines}}), "");
}

TEST(MeantFile, TheOnlyFileOfTheNameMayBeAnywhere) {
  const auto diff = [](const std::string& name, const std::string& lines) {
    return "--- a/" + name + "\n+++ b/" + name + "\n@@ -1,3 +1,3 @@\n" + lines;
  };
  const std::string edit = " one\n-two\n+2\n three\n";
  EXPECT_EQ(meant_file(diff("gate.c", edit), {{"x/y/z/gate.c", kThreeLines}}), "x/y/z/gate.c");
  EXPECT_EQ(meant_file(diff("old/z/gate.c", edit), {{"x/y/z/gate.c", kThreeLines}}),
            "x/y/z/gate.c");
  EXPECT_EQ(meant_file(diff("gate.c", edit), {{"x/y/z/gate.c", "other\n"}}), "");
  // Another file of the name may be the one, even if the edit does not fit it now.
  EXPECT_EQ(
      meant_file(diff("gate.c", edit), {{"x/y/z/gate.c", kThreeLines}, {"v/w/gate.c", "other\n"}}),
      "");
  // Two lines may stand in any file.
  EXPECT_EQ(meant_file(diff("gate.c", " one\n-two\n+2\n"), {{"x/y/z/gate.c", kThreeLines}}), "");
}

TEST(MeantFile, NoFileIsTakenForOneThatTheDocumentMovesOrDeletes) {
  const std::string edit = "*** Update File: code.py\n@@\n-two\n+2\n";
  const auto meant = [&](const std::string& before, const std::string& other) {
    return meant_file("*** Begin Patch\n" + before + edit + "*** End Patch\n",
                      {{"code.py", kThreeLines}, {other, kThreeLines}});
  };
  const std::string move = "*** Update File: code.py\n*** Move to: load.py\n@@\n-one\n+1\n";
  EXPECT_EQ(meant("", "backup.py"), "code.py");
  EXPECT_EQ(meant(move, "backup.py"), "");
  EXPECT_EQ(meant(move, "src/code.py"), "");
  EXPECT_EQ(meant("*** Delete File: code.py\n", "backup.py"), "");
  EXPECT_EQ(meant_file("*** Begin Patch\n*** Delete File: x/f\n*** Update File: x/f\n@@\n-two\n"
                       "+2\n*** End Patch\n",
                       {{"f", kThreeLines}, {"x/f", kThreeLines}}),
            "")
      << "the end of the name";
  // The parts of a series see the tree that the parts before them leave.
  const std::string mail =
      "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
      "From: A <a@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
      "Subject: [PATCH] s\n\n---\n";
  EXPECT_EQ(meant_file(mail +
                           "diff --git a/code.py b/load.py\nsimilarity index 100%\n"
                           "rename from code.py\nrename to load.py\n" +
                           mail +
                           "--- a/code.py\n+++ b/code.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n"
                           " three\n",
                       {{"code.py", kThreeLines}, {"backup.py", kThreeLines}}),
            "");
}

TEST(MeantFile, ANameWithAFolderIsNotTakenForAnyFile) {
  const std::string edit = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  const auto meant = [&](const std::string& name, const std::string& other) {
    return meant_file("--- a/" + name + "\n+++ b/" + name + "\n" + edit,
                      {{other, kThreeLines}, {"app/main.c", "other\n"}});
  };
  EXPECT_EQ(meant("source.py", "config.py"), "config.py");
  EXPECT_EQ(meant("app/models/source.py", "config.py"), "");
  EXPECT_EQ(meant("app/source.py", "config.py"), "");
  EXPECT_EQ(meant("app/models/source.py", "lib/db/source.py"), "lib/db/source.py");
}

TEST(MeantFile, ACommandThatWritesAFileIsNotAnEdit) {
  for (const char* answer :
       {"cat > f.py <<'EOF'\nx\nEOF\n", "Now:\n```bash\n$ cat <<EOF >> 'f.py'\nx\nEOF\n```\n",
        "tee f.py <<\"EOF\"\nx\nEOF\n"}) {
    const auto read = read_edits(answer, EditFormat::kAuto, {});
    ASSERT_FALSE(read) << answer;
    EXPECT_EQ(read.error().reason, "edit.not_a_patch");
    EXPECT_NE(read.error().message.find("writes 'f.py'"), std::string::npos) << answer;
  }
  const auto other = read_edits("cat <<'EOF'\nx\nEOF\n", EditFormat::kAuto, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message.find("writes"), std::string::npos);
}

TEST(MeantFile, AFileThatMayNotBeReadIsNotMeant) {
  StageOptions options;
  options.may_read = [](const RelPath& path) { return path.str().starts_with("open/"); };
  const std::string diff = "--- a/g.c\n+++ b/g.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  EXPECT_EQ(meant_file(diff, {{"open/v/w/g.c", kThreeLines}}, options), "open/v/w/g.c");
  EXPECT_EQ(meant_file(diff, {{"secret/v/w/g.c", kThreeLines}}, options), "");
}

TEST(MeantFile, TheContentOfAnEmptyFileMayBeGivenAsThatOfANewOne) {
  for (const char* answer : {"a.c\n<<<<<<< SEARCH\n=======\nint a;\n>>>>>>> REPLACE\n",
                             "*** Begin Patch\n*** Add File: a.c\n+int a;\n*** End Patch\n",
                             "--- /dev/null\n+++ b/a.c\n@@ -0,0 +1 @@\n+int a;\n"}) {
    EXPECT_EQ(meant_file(answer, {{"a.c", ""}}), "a.c") << answer;
    EXPECT_EQ(meant_file(answer, {{"a.c", "int b;\n"}}), "") << answer;
  }
}

struct Refused {
  std::string reason;
  std::string message;
  std::string correction;
};

/// How an answer is refused; the reason is empty if it is not. The workspace is at /ws.
Refused refused(const std::string& answer,
                const std::vector<std::pair<std::string, std::string>>& files) {
  auto workspace = make_memory_directory();
  for (const auto& [name, text] : files) {
    const RelPath path = *RelPath::parse(name);
    if (!path.parent().is_root()) {
      EXPECT_TRUE(make_directories(*workspace, path.parent(), 0755));
    }
    auto opened = workspace->open_writable_file(path, OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  }
  auto edits = read_edits(answer, EditFormat::kAuto, {});
  EXPECT_TRUE(edits);
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  StageOptions options;
  options.root = "/ws";
  const auto outcome = stage_edits(overlay, *edits, options);
  EXPECT_TRUE(outcome);
  if (outcome->is_staged) return {};
  const FileOutcome& file = outcome->files.at(0);
  return {file.refusal ? file.refusal->reason : file.failures.at(0).reason,
          file.refusal ? file.refusal->message : "",
          outcome->correction ? outcome->correction->document : ""};
}

TEST(MeantFile, AnAbsolutePathOfAnotherRootIsRefusedWithItsFile) {
  const std::string hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  const auto diff = [&](const std::string& path) {
    return "--- " + path + "\n+++ " + path + "\n" + hunk;
  };
  const std::vector<std::pair<std::string, std::string>> files = {
      {"src/a.c", kThreeLines}, {"lib/a.c", kThreeLines}, {"lib/only.c", kThreeLines}};
  const Refused by_folder = refused(diff("/workspace/src/a.c"), files);
  EXPECT_EQ(by_folder.reason, "path.outside");
  EXPECT_NE(by_folder.message.find("'src/a.c'"), std::string::npos) << by_folder.message;
  EXPECT_EQ(by_folder.correction, "--- a/src/a.c\n+++ b/src/a.c\n" + hunk);
  EXPECT_EQ(refused(diff("/home/user/project/only.c"), files).correction,
            "--- a/lib/only.c\n+++ b/lib/only.c\n" + hunk);
  for (const std::string path : {"/testbed/a.c", "/workspace/none.c"}) {
    const Refused none = refused(diff(path), files);
    EXPECT_EQ(none.correction, "") << path;
    EXPECT_EQ(none.message.find("that file"), std::string::npos) << none.message;
  }
  // Not where two files have the same end, nor where the edit does not fit.
  EXPECT_EQ(
      refused(diff("/workspace/src/a.c"), {{"src/a.c", kThreeLines}, {"lib/src/a.c", kThreeLines}})
          .correction,
      "");
  EXPECT_EQ(refused(diff("/workspace/src/a.c"), {{"src/a.c", "other\n"}}).correction, "");
  const Refused block =
      refused("/workspace/src/a.c\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n", files);
  EXPECT_EQ(block.reason, "path.outside");
  EXPECT_EQ(block.correction,
            "src/a.c\n<<<<<<< SEARCH\none\ntwo\nthree\n=======\none\n2\nthree\n>>>>>>> REPLACE\n");
}

TEST(MeantFile, AWholeFileInAnotherFolderMakesNoSecondFile) {
  const std::string shown = "tools/u.py\n```python\none\n2\nthree\nfour\n```\n";
  const std::string file = "one\ntwo\nthree\nfour\n";
  const Refused found = refused(shown, {{"lib/u.py", file}, {"tools/notes", "x\n"}});
  EXPECT_EQ(found.reason, "patch.file_not_found");
  EXPECT_NE(found.message.find("'lib/u.py'"), std::string::npos) << found.message;
  EXPECT_EQ(found.correction,
            "lib/u.py\n<<<<<<< SEARCH\none\ntwo\nthree\nfour\n=======\none\n2\nthree\nfour\n"
            ">>>>>>> REPLACE\n");
  EXPECT_EQ(refused(shown, {{"lib/u.py", "other\n"}}).reason, "");
  EXPECT_EQ(refused(shown, {{"lib/u.py", file}, {"app/u.py", file}}).reason, "");
}

TEST(MeantFile, ANewFileWithOldLinesIsTheOneThatExists) {
  const std::string hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  const std::string diff = "--- /dev/null\n+++ b/src/a.c\n" + hunk;
  const Refused found = refused(diff, {{"src/a.c", kThreeLines}});
  EXPECT_EQ(found.reason, "path.exists");
  EXPECT_EQ(found.correction, "--- a/src/a.c\n+++ b/src/a.c\n" + hunk);
  EXPECT_EQ(refused(diff, {{"src/a.c", "other\n"}}).correction, "");
  const Refused missing = refused(diff, {{"src/other.h", kThreeLines}});
  EXPECT_EQ(missing.reason, "patch.file_not_found");
  EXPECT_EQ(missing.correction, "");
  EXPECT_EQ(refused("--- a/src/a.c\n+++ /dev/null\n" + hunk, {{"src/a.c", kThreeLines}}).reason,
            "patch.delete_leaves_content");
  // Only an empty file needs no hunk and no index line.
  EXPECT_EQ(refused("diff --git a/src/a.c b/src/a.c\ndeleted file mode 100644\n",
                    {{"src/a.c", kThreeLines}})
                .reason,
            "patch.delete_leaves_content");
}

}  // namespace
}  // namespace galley
