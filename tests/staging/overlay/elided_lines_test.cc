// Comments that stand for lines are refused, because the lines would be lost.
#include "staging/overlay/stage_checks.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

constexpr const char* kSixFunctions =
    "#include <a>\n#include <b>\n#include <c>\n\nint a() {\n  return 1;\n}\n\nint b(int x) {\n"
    "  x += 1;\n  return x;\n}\n\nint c() {\n  return 3;\n}\n\nint d() {\n  return 4;\n}\n\n"
    "int e() {\n  return 5;\n}\n\nint f() {\n  return 6;\n}\n";

/// Stages an answer about the file `path`. Returns the reason of the refusal, or "staged".
std::string result_of(const std::string& answer, const std::string& path = "f.cc",
                      const std::string& content = kSixFunctions,
                      DocumentEnd end = DocumentEnd::kUnknown) {
  auto workspace = make_memory_directory();
  EXPECT_TRUE(make_directories(*workspace, RelPath::parse(path)->parent(), 0755));
  auto opened = workspace->open_writable_file(*RelPath::parse(path), OpenMode::kOpenOrCreate, 0644);
  EXPECT_TRUE(opened && (*opened)->write_at(0, content));
  ReadOptions options;
  options.end = end;
  auto edits = read_edits(answer, EditFormat::kAuto, options);
  if (!edits) return edits.error().reason;
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  const auto outcome = stage_edits(overlay, *edits, {});
  if (!outcome) return outcome.error().reason;
  const FileOutcome& file = outcome->files.at(0);
  if (file.refusal) return file.refusal->reason;
  return file.failures.empty() ? "staged" : file.failures[0].reason;
}

std::string result_of(const std::string& answer, DocumentEnd end) {
  return result_of(answer, "f.cc", kSixFunctions, end);
}

/// The file in a fence, with `text` in the place of the function b.
std::string shown_with(const std::string& text) {
  std::string file = kSixFunctions;
  const size_t begin = file.find("int b(");
  file.replace(begin, file.find("int c(") - begin, text);
  return "f.cc\n```cpp\n" + file + "```\n";
}

TEST(ElidedLines, AWholeFileHasNoCommentInThePlaceOfLines) {
  for (const std::string comment :
       {"// other functions remain the same", "// same as before", "/* snip */", "// as above",
        "// no changes here", "// body as in the original", "// keep as is", "// etc.",
        "{/* ... */}", "// b() goes here", "/*\n * the function b\n */"}) {
    EXPECT_EQ(result_of(shown_with(comment + "\n\n")), "patch.part_of_file") << comment;
    EXPECT_EQ(result_of(shown_with("int b(int x) {\n  " + comment + "\n}\n\n")),
              "patch.part_of_file")
        << comment;
  }
}

/// A diff that replaces the body of the function b by `text` and a return.
std::string diff_with(const std::string& text) {
  return "--- a/f.cc\n+++ b/f.cc\n@@ -9,4 +9,4 @@\n int b(int x) {\n-  x += 1;\n-  x += 2;\n-  x "
         "+= 3;\n"
         "+  " +
         text + "\n   return x;\n }\n";
}

TEST(ElidedLines, AShortCommentIsNotTakenForLinesOfCode) {
  std::string file = kSixFunctions;
  file.replace(file.find("  x += 1;\n"), 10, "  x += 1;\n  x += 2;\n  x += 3;\n");
  for (const std::string comment : {"// same as before",
                                    "// (no changes)",
                                    "// <snip>",
                                    "// . . .",
                                    "/* ...rest... */",
                                    "[...]",
                                    "(...)",
                                    "// continue with the rest",
                                    "// see original",
                                    "// original code continues",
                                    "// Other code...",
                                    "// previous implementation",
                                    "// (other cases)",
                                    "// keep the existing loop",
                                    "// etc.",
                                    "// other lines remain as they are",
                                    "pass  # existing code",
                                    "// ... (otras funciones permanecen igual)",
                                    "# ... reste du code inchang\xC3\xA9 ...",
                                    "// ... (keep b, c, d)"}) {
    EXPECT_EQ(result_of(diff_with(comment), "f.cc", file), "patch.doubtful_lines") << comment;
    std::string whole = file;
    const size_t begin = whole.find("  x += 1;\n");
    whole.replace(begin, whole.find("  return x;") - begin, "  " + comment + "\n");
    const auto checked = check_content(*RelPath::parse("f.cc"), file, whole);
    EXPECT_EQ(checked ? "taken" : checked.error().reason, "patch.part_of_file") << comment;
  }
  for (const std::string text : {"x = rest_of(x);", "x += 6;  // the same as before, at once",
                                 "// x grows below\n+  x += 6;\n+  y += 2;", "x += 6;  // ..."}) {
    EXPECT_EQ(result_of(diff_with(text), "f.cc", file), "staged") << text;
  }
}

TEST(ElidedLines, ACompleteDocumentReplacesItsFilesAndMakesNewOnes) {
  const std::string other = "f.cc\n```cpp\nint z() {\n  return 0;\n}\n```\n";
  EXPECT_EQ(result_of(other), "patch.part_of_file");
  EXPECT_EQ(result_of(other, DocumentEnd::kComplete), "staged");
  EXPECT_EQ(result_of(shown_with("// ... rest unchanged\n\n"), DocumentEnd::kComplete),
            "patch.part_of_file");
  const std::string made = "new.py\n```python\nx = 1\n```\n";
  EXPECT_EQ(result_of(made), "patch.file_not_found");
  EXPECT_EQ(result_of(made, DocumentEnd::kComplete), "staged");
  EXPECT_EQ(result_of(other + "\n" + made, DocumentEnd::kComplete), "staged");
}

TEST(ElidedLines, AWholeFileMayHaveNewComments) {
  for (const std::string text :
       {"", "// adds one\nint b(int x) {\n  x += 1;\n  return x;\n}\n\n",
        "int b(int x) {\n  // commas, dots etc. count\n  return x + 1;\n}\n\n",
        "// int b(int x) {\n//   x += 1;\n//   return x;\n// }\n\n"}) {
    EXPECT_EQ(result_of(shown_with(text)), "staged") << text;
  }
  std::string file = kSixFunctions;
  file.replace(0, file.find("#include <c>"), "");
  EXPECT_EQ(result_of("f.cc\n```cpp\n" + std::string(kSixFunctions) + "```\n"), "staged");
}

TEST(ElidedLines, AShownFileThatDoesNotExistIsMadeIfNoOtherCanBeMeant) {
  const std::string shown = "\n```cpp\nint g() {\n  return 7;\n}\n```\n";
  EXPECT_EQ(result_of("tools/helper.cc" + shown), "staged");
  EXPECT_EQ(result_of("src/f.cc" + shown), "patch.file_not_found");
  EXPECT_EQ(result_of("helper.cc" + shown), "patch.file_not_found");
  EXPECT_EQ(result_of("out/result.txt\n```\n42\n```\n"), "patch.file_not_found");
  EXPECT_NE(
      result_of("tools/helper.cc\n```cpp\nint g();\n// other functions remain the same\n```\n"),
      "staged");
}

TEST(ElidedLines, TheOnlyFenceMayMakeAFileWithTheNameInItsTitle) {
  const std::string lines = "\nint g() {\n  return 7;\n}\n```\n";
  for (const std::string title : {"cpp helper.cc", "cpp title=\"helper.cc\"", "cpp:helper.cc"}) {
    EXPECT_EQ(result_of("Here it is:\n\n```" + title + lines), "staged") << title;
    EXPECT_EQ(result_of("```" + title + lines, "src/helper.cc"), "patch.file_not_found")
        << "that file may be meant";
    EXPECT_EQ(result_of("```" + title + lines, "helpers.cc"), "patch.file_not_found");
    EXPECT_EQ(result_of("```" + title + lines + "\nRun:\n\n```sh\nmake\n```\n"),
              "patch.file_not_found")
        << "one of several fences may be an example";
  }
  for (const std::string title : {"helper.cc", "title=helper.cc", "file:helper.cc"}) {
    EXPECT_EQ(result_of("```" + title + lines), "patch.file_not_found") << "without a language";
  }
}

std::string block_with(const std::string& old_text, const std::string& new_text) {
  return "f.cc\n<<<<<<< SEARCH\n" + old_text + "=======\n" + new_text + ">>>>>>> REPLACE\n";
}

TEST(ElidedLines, NewTextHasNoCommentInThePlaceOfLines) {
  const std::string old_text = "int b(int x) {\n  x += 1;\n  return x;\n}\n";
  for (const std::string comment :
       {"// ... existing code ...", "// rest of the code unchanged", "... existing code ...",
        "/* ... rest of the function ... */", "# ... (unchanged)", "// \xE2\x80\xA6 existing code",
        "// ..."}) {
    const std::string text = "int b(int x) {\n  " + comment + "\n}\n";
    EXPECT_EQ(result_of(block_with(old_text, text)), "patch.doubtful_lines") << comment;
    EXPECT_EQ(result_of("--- a/f.cc\n+++ b/f.cc\n@@ ... @@\n int b(int x) {\n-  x += 1;\n"
                        "-  return x;\n+  " +
                        comment + "\n }\n"),
              "patch.doubtful_lines")
        << comment;
    const RelPath path = *RelPath::parse("f.cc");
    EXPECT_FALSE(check_content(path, kSixFunctions, text)) << comment;
    EXPECT_TRUE(check_content(path, "  " + comment + "\n" + kSixFunctions, text))
        << "it has that line";
    EXPECT_TRUE(check_content(path, text, text));
  }
}

TEST(ElidedLines, AFileHasNoNoticeOfAReaderInThePlaceOfLines) {
  const RelPath path = *RelPath::parse("f.cc");
  const std::string part = std::string(kSixFunctions).substr(0, 60);
  for (const std::string notice :
       {"[Showing lines 1-20 of 60. Use :21 to continue]",
        "... [truncated: showing first 200 of 1000 chars. Use start_line/end_line to read a "
        "specific range] ...",
        "... (40 more lines)", "[26 lines omitted]", "... 40 lines not shown ...",
        "// ... 40 more lines", "# [Showing lines 1-20 of 60]"}) {
    for (const std::string& text :
         {part + "\n" + notice + "\n", part + "\n" + notice + "\n</file>\n",
          part + "\n" + notice + "\nint f() {\n  return 6;\n}\n"}) {
      const auto written = check_content(path, kSixFunctions, text);
      ASSERT_FALSE(written) << text;
      EXPECT_EQ(written.error().reason, "patch.part_of_file");
      EXPECT_TRUE(check_content(path, kSixFunctions + ("\n" + notice), text)) << "it has that line";
      EXPECT_TRUE(check_content(path, part, text)) << "the file is not longer";
      EXPECT_TRUE(check_content(path, "", text)) << "there is no file";
    }
  }
  for (const std::string line :
       {"[lines]", "(see the other lines)", "// truncate", "[1, 2]", "x = [20 lines omitted]",
        "[1] Lines with more than 80 chars are wrapped.",
        "(See chapter 3 for more about long lines and the 2 lines above.)",
        "# Buffers hold 4096 bytes; anymore is an error."}) {
    EXPECT_TRUE(check_content(path, kSixFunctions, part + "\n" + line + "\n")) << line;
  }
}

TEST(NumberedLines, NewTextMayHaveNumbersBeforeItsLines) {
  const RelPath path = *RelPath::parse("words");
  EXPECT_TRUE(check_content(path, "first word\nsecond word\nthird word\n",
                            "1\tfirst word\n2\tsecond word\n3\tthird word\n"));
  EXPECT_EQ(result_of(block_with("  x += 1;\n", "  x = 1 | x;\n")), "staged");
  EXPECT_EQ(result_of(block_with("  x += 1;\n", "1 |   x += 1;\n")), "staged");
}

TEST(FencedContent, AProgramIsNotWrittenWithItsFence) {
  const RelPath path = *RelPath::parse("f.sh");
  const std::string fenced = "```bash\n#!/bin/sh\necho 1\n```\n";
  for (const std::string file : {"", "#!/bin/sh\necho 2\n"}) {
    const auto written = check_content(path, file, fenced);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().reason, "patch.doubtful_lines");
  }
  EXPECT_TRUE(check_content(path, fenced, fenced)) << "the file begins so";
  EXPECT_TRUE(check_content(path, "", "```\na\n```\nb\n```\nc\n```\n")) << "several fences";
  EXPECT_TRUE(check_content(path, "", "```sh title=f.sh\na\n```\n")) << "no plain label";
  for (const std::string name : {"a.md", "README", "a.txt", "prompt", "prompt.tmpl", "a.j2",
                                 "a.hbs", "a.prompt", "a.out", "a.golden"}) {
    EXPECT_TRUE(check_content(*RelPath::parse(name), "", fenced)) << name;
  }
}

TEST(ElidedLines, OrdinaryCommentsAreNewText) {
  const std::string old_text = "  x += 1;\n";
  for (const std::string comment :
       {"// leave the rest of the buffer unchanged", "// the remaining bytes", "// same as above",
        "// see the existing tests of b", "...", "x(...);", "// etc.", "// loading..."}) {
    EXPECT_EQ(result_of(block_with(old_text, "  " + comment + "\n  x += 1;\n")), "staged")
        << comment;
  }
  EXPECT_EQ(result_of("--- a/f.cc\t2024-01-01 00:00:00\n+++ b/f.cc\t2024-01-01 00:00:00\n"
                      "@@ -10,1 +10,1 @@\n-  x += 1;\n+  // ... existing code ...\n"),
            "staged")
      << "a program wrote it";
}

TEST(Columns, BlanksInThePlaceOfTabsMakeNoRow) {
  const std::string table = "id\tname\tvalue\n1\ta b\tx\n2\tc\ty\n";
  const auto staged = [&](const std::string& old_text, const std::string& new_text,
                          const std::string& path = "t.tsv", const std::string& notice = "") {
    return result_of(
        path + "\n<<<<<<< SEARCH\n" + old_text + "=======\n" + new_text + ">>>>>>> REPLACE\n", path,
        notice + table);
  };
  EXPECT_EQ(staged("2    c    y\n", "2    c    y\n3    d    z\n"), "patch.doubtful_lines");
  EXPECT_EQ(staged("2 c y\n", "2 c y\n3 d z\n", "t.tsv", "# of 2026\n"), "patch.doubtful_lines");
  EXPECT_EQ(staged("2    c    y\n", "2    c    z\n"), "staged");
  EXPECT_EQ(staged("2    c    y\n", "2    c    y\n# end\n"), "staged");
  EXPECT_EQ(staged("id  name  value\n1  a b  x\n2  c  y\n",
                   "id\tname\tvalue\tnote\n1\ta b\tx\t-\n2\tc\ty\t-\n"),
            "staged");
  EXPECT_EQ(staged("id\tname\tvalue \n1\ta b\tx\n2\tc\ty\n", "id\tname\n1\ta b\n2\tc\n"), "staged");
  EXPECT_EQ(staged("2    c    y\n", "2    c    y\n3\td\tz\n"), "staged");
  EXPECT_EQ(staged("2    c    y\n", ""), "staged");
  EXPECT_EQ(staged("2    c    y\n", "2    c    y\n3    d    z\n", "t.txt"), "staged");
  // Found byte for byte, the new text is what it says.
  EXPECT_EQ(staged("2\tc\ty\n", "2\tc\ty\n# end\n"), "staged");
}

}  // namespace
}  // namespace galley
