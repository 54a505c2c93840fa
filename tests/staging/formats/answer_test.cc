#include "staging/formats/answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "staging/formats/read_edits.h"
#include "staging/placing/search_help.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr const char* kDiff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
constexpr const char* kBlock = "f\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
constexpr const char* kPatch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n";
constexpr const char* kJson = "{\"path\": \"f\", \"content\": \"}\\\"\"}\n";

/// The parts as letters (unified, patch, block, edits, calls) with their first lines, then the
/// unread lines: "u1 b6 !12".
std::string shape_of(const std::string& text) {
  std::string out;
  const Answer answer = divide_answer(text);
  EXPECT_EQ(has_edits(text), !answer.parts.empty() || !answer.unread.empty()) << text;
  for (const AnswerPart& part : answer.parts) {
    const char* letter = part.format == EditFormat::kUnified         ? "u"
                         : part.format == EditFormat::kApplyPatch    ? "p"
                         : part.format == EditFormat::kSearchReplace ? "b"
                         : part.format == EditFormat::kEdits         ? "e"
                                                                     : "c";
    out += (out.empty() ? "" : " ") + (letter + std::to_string(part.line + 1));
  }
  for (const UnreadLine& line : answer.unread) {
    out += (out.empty() ? "!" : " !") + std::to_string(line.line + 1);
  }
  return out;
}

TEST(Answers, TheEditsOfAnAnswerAreDividedByDialect) {
  const std::string diff = kDiff;
  const std::string block = kBlock;
  const std::string patch = kPatch;
  const std::string json = kJson;
  EXPECT_EQ(shape_of(""), "");
  EXPECT_EQ(shape_of("Hello.\n- a list\n+ of two\n"), "");
  EXPECT_EQ(shape_of(diff), "u1");
  EXPECT_EQ(shape_of(diff + "And:\n" + diff), "u1");
  EXPECT_EQ(shape_of(diff + block), "u1 b6");
  EXPECT_EQ(shape_of(block + diff + block), "b1 u7 b12");
  EXPECT_EQ(shape_of(diff + patch), "u1 p6");
  EXPECT_EQ(shape_of(patch + json + block), "p1 e7 b8");
  EXPECT_EQ(shape_of(json + json), "e1 e2");
  EXPECT_EQ(shape_of("```json\n[\n" + json + "]\n```\n"), "e2");
  EXPECT_EQ(shape_of("[{\"args\": {}, \"tool\": \"Write\"}]"), "c1");
  EXPECT_EQ(shape_of("{\"path\": \"/usr/bin\", \"name\": \"no edit\"}\n"), "");
}

/// The lines that begin calls, from 1: "6 9".
std::string calls_in(const std::string& text) {
  std::string out;
  for (const UnreadLine& line : divide_answer(text).calls) {
    out += (out.empty() ? "" : " ") + std::to_string(line.line + 1);
  }
  return out;
}

TEST(Answers, CallsNextToEditsAreRefused) {
  const std::string diff = kDiff;
  const std::string raw = "{\"name\": \"Read\",\n \"arguments\": {\"path\": \"f\"}}\n";
  const std::string function = "{\"id\": \"c\", \"function\": {\"name\": \"Read\"}}\n";
  const std::vector<std::string> calls = {
      "<tool_call>\n" + raw + "</tool_call>\n",
      "<function=Read>\n</function>\n",
      raw,
      function,
      "[TOOL_CALLS][" + raw + "]\n",
      "<invoke name=\"Read\">\n</invoke>\n",
      "<tool_use>\n<tool_name>Read</tool_name>\n</tool_use>\n",
  };
  for (const std::string& call : calls) {
    EXPECT_EQ(calls_in(diff + "\n" + call).substr(0, 1), "7") << call;
    EXPECT_EQ(calls_in("```json\n" + call + "```\n" + kBlock).substr(0, 1), "2") << call;
    for (const EditFormat format : {EditFormat::kAuto, EditFormat::kUnified}) {
      const auto read = read_edits(call + "\n" + diff, format, {});
      ASSERT_FALSE(read.has_value()) << call;
      EXPECT_EQ(read.error().reason, "edit.unread");
      EXPECT_NE(read.error().message.find("tool_text"), std::string::npos);
    }
  }
  for (const std::string& text :
       {diff + "The tag is <tool_call>.\n", diff + "```python\n<tool_call>\n" + raw + "```\n",
        diff + "{\"name\": \"a package\"}\n",
        std::string("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n <tool_call>\n+<invoke name=\n")}) {
    EXPECT_EQ(calls_in(text), "") << text;
    EXPECT_TRUE(read_edits(text, EditFormat::kAuto, {}).has_value()) << text;
  }
  const std::string shown = "page.xml\n```xml\n<tool_call>\n```\n";
  EXPECT_EQ(shape_of(shown), "b1");
  EXPECT_EQ(calls_in(shown), "");
  EXPECT_EQ(calls_in(shown + "<tool_call>\n"), "5");
}

TEST(Answers, EditMarkersInsideAnEditBelongToIt) {
  EXPECT_EQ(shape_of("f\n<<<<<<< SEARCH\n" + std::string(kPatch) + "=======\n" + kDiff +
                     ">>>>>>> REPLACE\n"),
            "b1");
  EXPECT_EQ(shape_of("*** Begin Patch\n*** Add File: f\n+*** Begin Patch\n+<<<<<<< SEARCH\n"
                     "*** End Patch\n"),
            "p1");
  EXPECT_EQ(shape_of("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n *** Begin Patch\n-<<<<<<< SEARCH\n+b\n"),
            "u1");
  EXPECT_EQ(shape_of("{\"path\": \"f\", \"content\": \"x\n<<<<<<< SEARCH\n\"}\n"), "e1");
}

TEST(Answers, TextThatResemblesAnEditIsReported) {
  const std::string diff = kDiff;
  EXPECT_EQ(shape_of(diff + "```diff\n-a\n+b\n```\n"), "u1") << "a hunk without a header";
  EXPECT_EQ(shape_of(diff + "```\n-a\n+b\n```\n"), "u1");
  EXPECT_EQ(shape_of(diff + "<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED\n"), "u1 !6 !10");
  EXPECT_EQ(shape_of(diff + ">>>>>>> REPLACE\n"), "u1 !6");
  EXPECT_EQ(shape_of(diff + "*** Modify File: f\n"), "u1 !6");
  EXPECT_EQ(shape_of(diff + "*** an emphasis\n"), "u1");
  EXPECT_EQ(shape_of(diff + "{\"path\": \"f\", \"content\": \"cut off\n"), "u1 !6");
}

TEST(Answers, ANormalDiffNextToAnEditIsReported) {
  const std::string diff = kDiff;
  const std::string change = "3c3\n< old\n---\n> new\n";
  for (const std::string& normal :
       {change, std::string("2,4d1\n< a\n<\n< c\n"), std::string("0a1,2\n> a\n> b\n"),
        "1c1\n< a\n\\ No newline at end of file\n---\n> b\n" + change}) {
    const size_t changes = 1 + (normal.size() > change.size() && normal.ends_with(change) ? 1 : 0);
    const std::string lines = changes == 1 ? "!6" : "!6 !11";
    EXPECT_EQ(shape_of(diff + normal), "u1 " + lines) << normal;
    EXPECT_EQ(shape_of(diff + "```\n" + normal + "```\n"), "u1 !7") << normal;
    EXPECT_EQ(shape_of(diff + "~~~text\ndiff f g\n\n" + normal), "u1 !7") << normal;
    EXPECT_EQ(shape_of(normal), "") << normal;
    const auto read = read_edits("```\n" + normal + "```\n" + kBlock, EditFormat::kAuto, {});
    ASSERT_FALSE(read) << normal;
    EXPECT_EQ(read.error().reason, "edit.unread");
    EXPECT_NE(read.error().message.find("line 2 ("), std::string::npos) << read.error().message;
  }
  // Text of an edit, a session in a fence, quoted text.
  const std::string inside =
      "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n 3c3\n < old\n ---\n > new\n-a\n+b\n";
  EXPECT_EQ(shape_of(inside), "u1");
  EXPECT_EQ(shape_of(diff + "```console\n$ diff f g\n" + change + "```\n"), "u1");
  EXPECT_EQ(shape_of(diff + "```\n" + change + "x\n```\n"), "u1");
  EXPECT_EQ(shape_of(diff + "3c3\n> new\n"), "u1");
  EXPECT_EQ(shape_of(diff + "3c3\n< old\n> new\n"), "u1");
  EXPECT_EQ(shape_of(diff + "1a2\n>new\n"), "u1");
  EXPECT_EQ(shape_of("f\n<<<<<<< SEARCH\n" + change + "=======\nb\n>>>>>>> REPLACE\n"), "b1");
}

/// The passed over lines, 1-based: "1-2 9-9".
std::string prose_of(const std::string& text) {
  std::string out;
  for (const auto& [begin, end] : divide_answer(text).prose) {
    out += (out.empty() ? "" : " ") + std::to_string(begin + 1) + "-" + std::to_string(end);
  }
  return out;
}

TEST(Answers, AFileThatASentenceNamesBeforeItsFenceIsNeitherReadNorDropped) {
  const std::string first = "src/b.py\n```python\nwhole\n```\n\n";
  const std::string fence = "```\none\n```\n";
  for (const std::string& other :
       {"and `a.txt`:\n\n" + fence, "Now the second file, `a.txt`:\n" + fence,
        "1. `a.txt`\n" + fence, "`a.txt` (updated)\n" + fence, "Then **a.txt**:\n" + fence,
        "As `src/b.py` needs it, in `a.txt`:\n" + fence, "In `a.txt`\n\nthis is new:\n" + fence,
        std::string("The script `a.txt.sh`:\n```sh\necho hi\n```\n")}) {
    const auto set = read_edits(first + other, EditFormat::kAuto, {});
    ASSERT_FALSE(set) << other;
    EXPECT_EQ(set.error().reason, "edit.unread");
    EXPECT_NE(set.error().message.find("'a.txt"), std::string::npos) << set.error().message;
  }
  for (const std::string& other :
       {std::string("Run `make.sh`:\n```sh\n./make.sh\n```\n"), "`src/b.py` had before:\n" + fence,
        "Then `npm test` prints:\n" + fence, "`b.py` and `./src/b.py` had:\n" + fence,
        "With **Next.js** and `Node.js`:\n" + fence,
        std::string("`tests/run.py` prints:\n```text\nok\n```\n"),
        "With `np.array` and `f(x.py)`:\n" + fence,
        std::string("What changes in `a.txt`:\n```diff\n-a\n```\n")}) {
    const auto set = read_edits(first + other, EditFormat::kAuto, {});
    ASSERT_TRUE(set) << other << set.error().message;
    EXPECT_EQ(set->files.size(), 1U);
  }
  EXPECT_EQ(read_edits("`a.txt` is:\n" + fence, EditFormat::kAuto, {}).error().reason,
            "edit.not_a_patch");
}

TEST(Answers, AFileInAFenceOfFourSignsMayHaveFences) {
  const std::string inner = "# T\n\n```diff\n" + std::string(kDiff) + "```\nend\n";
  for (const std::string& text : {"````markdown README.md\n" + inner + "````\n",
                                  "`README.md`\n\n~~~~\n" + inner + "~~~~\nDone.\n"}) {
    const auto set = read_edits(text, EditFormat::kAuto, {});
    ASSERT_TRUE(set) << text << set.error().message;
    ASSERT_EQ(set->files.size(), 1U) << text;
    EXPECT_EQ(set->files[0].path, "README.md");
    EXPECT_EQ(set->files[0].whole.value_or(""), inner);
  }
  // Edits in such a fence are edits, and one that is not closed shows no file.
  EXPECT_EQ(shape_of("f\n````\n" + std::string(kBlock) + "````\n"), "b3");
  EXPECT_EQ(shape_of("````diff f.py\n" + std::string(kDiff) + "````\n"), "u2");
  EXPECT_EQ(shape_of("````markdown README.md\n" + inner), "u5");
}

std::string indented_by(size_t count, const std::string& text) {
  std::string out;
  const Lines lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    out += (lines[i] == "\n" ? "" : std::string(count, ' ')) + std::string(lines[i]);
  }
  return out;
}

TEST(Answers, APatchInTheFenceOfAListItemIsReportedNextToEdits) {
  const std::string block = kBlock;
  const std::string fence = "```diff\n" + std::string(kDiff) + "```\n";
  const std::string second = "\n2. Then:\n\n" + indented_by(3, fence);
  EXPECT_EQ(shape_of(block + second), "b1 !11");
  EXPECT_EQ(shape_of(fence + second), "u2 !12");
  EXPECT_EQ(shape_of(fence + "\n- Then:\n" + indented_by(2, fence)), "u2 !11");
  EXPECT_EQ(shape_of("10) So:\n    text\n\n" + indented_by(4, fence) + kPatch), "p11 !5");
  EXPECT_EQ(shape_of("1. In a.py:\n\n   ```diff\n" + indented_by(3, kDiff) + "   ```\n\n" + kJson),
            "e11 !4");
  EXPECT_EQ(shape_of("./g\n```c\nint g;\n```\n" + second), "b1 !9") << "a whole file";
  const auto set = read_edits(fence + second, EditFormat::kAuto, {});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message,
            "line 12 ('--- a/f') of the edit: the fence of this patch is indented, so it was not "
            "read, and nothing else was; move its lines to the left margin, or take it out");
  EXPECT_TRUE(read_edits(second, EditFormat::kAuto, {})) << "it is the only edit";
  EXPECT_FALSE(read_edits(second + second, EditFormat::kAuto, {}));
}

TEST(Answers, AnIndentedPatchThatIsTextIsNotReported) {
  const std::string block = kBlock;
  const std::string diff = kDiff;
  const std::string second = "2. Then:\n\n" + indented_by(3, "```diff\n" + diff + "```\n");
  EXPECT_EQ(shape_of("README.md\n```markdown\n" + second + second + "```\n" + block), "b22");
  EXPECT_EQ(shape_of("README.md\n````markdown\n" + second + "````\n" + block), "b13");
  EXPECT_EQ(shape_of("f\n<<<<<<< SEARCH\n" + second + "=======\nb\n>>>>>>> REPLACE\n"), "b1");
  EXPECT_EQ(shape_of("--- a/f\n+++ b/f\n@@ -1,9 +1,10 @@\n" + indented_by(1, second) + "+b\n"),
            "u1");
  EXPECT_EQ(shape_of("commit 1\n\n" + indented_by(4, second) + "\n" + diff), "u13");
  EXPECT_EQ(shape_of("It says:\n\n" + indented_by(2, "```diff\n" + diff + "```\n") + block), "b10");
  EXPECT_EQ(shape_of("<think>\n" + second + "</think>\n" + block), "b12");
}

TEST(Answers, TextBetweenEditsIsProse) {
  const std::string diff = kDiff;
  const std::string block = kBlock;
  EXPECT_EQ(prose_of(""), "");
  EXPECT_EQ(prose_of(diff), "");
  EXPECT_EQ(prose_of("Hello.\n\nSo:\n\n```diff\n" + diff + "```\n\nDone.\n"), "1-3 13-13");
  EXPECT_EQ(prose_of(diff + "And:\n" + block + "then\n" + kPatch + kJson + "end\n"),
            "6-6 13-13 21-21");
  EXPECT_EQ(prose_of("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n\nThat.\n"), "5-5");
  EXPECT_EQ(prose_of("diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZPo\n\n"
                     "literal 1\nIcmZPp\n\nThat is all.\n"),
            "10-10");
}

TEST(Answers, EditsInThoughtsAreProse) {
  const std::string block = kBlock;
  const std::string thought = "<think>\nMaybe:\n" + block + "or not.\n</think>\n";
  EXPECT_EQ(shape_of(thought), "");
  EXPECT_EQ(prose_of(thought), "1-10");
  EXPECT_EQ(shape_of(thought + kDiff), "u11");
  EXPECT_EQ(prose_of(thought + kDiff), "1-10");
  EXPECT_EQ(shape_of("<think>a</think>" + block), "b1");
  EXPECT_EQ(shape_of("<thinking>\n" + block + "</thinking>" + kDiff), "u8");
  EXPECT_EQ(shape_of("Or:\n" + block + "</think>\n\n" + kDiff), "u10") << "no opening tag";
  EXPECT_EQ(calls_in("<think>\n<tool_call>\n</think>\n" + block), "");
  const auto read = read_edits(thought + kDiff, EditFormat::kAuto, {});
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->files.size(), 1U);
  EXPECT_EQ(read->files[0].hunks.size(), 1U);
  EXPECT_EQ(read->files[0].document_line, 11U);
  for (const EditFormat format : {EditFormat::kAuto, EditFormat::kSearchReplace}) {
    EXPECT_FALSE(read_edits(thought, format, {}).has_value());
    EXPECT_FALSE(read_edits("<think>\n" + block, format, {}).has_value()) << "not closed";
  }
}

TEST(Answers, TagsOfThoughtsInsideEditsAreText) {
  const std::string block =
      "f\n<<<<<<< SEARCH\n<think>\na\n</think>\n=======\nb\n</think>\n>>>>>>> REPLACE\n";
  const auto read = read_edits(block, EditFormat::kAuto, {});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->files.at(0).text_edits.at(0).old_text, "<think>\na\n</think>\n");
  EXPECT_FALSE(without_asides(block).has_value());
  EXPECT_FALSE(without_asides("page.md\n```md\n<think>\na\n</think>\n```\n").has_value());
  EXPECT_FALSE(without_asides("{'path': 'f', 'content': '\n<think>\n</think>'}\n").has_value());
  EXPECT_FALSE(without_asides("<tool_call>\n{}\n<think>\na\n</think>\n</tool_call>\n").has_value());
  const std::string context = kDiff + std::string("<think>\n</think>\n");
  EXPECT_FALSE(read_edits(context, EditFormat::kAuto, {}).has_value())
      << "context without its blank, or a thought";
}

TEST(Answers, ABlockWhoseMarkersHaveOtherNumbersOfSignsIsUnread) {
  for (const auto& [less, same, more] :
       {std::tuple("<<<< SEARCH\n", "====\n", ">>>> REPLACE\n"),
        std::tuple("<<<<<<<<<<< SEARCH\n", "===========\n", ">>>>>>>>>>> REPLACE\n")}) {
    const std::string block = std::string(less) + "a\n" + same + "b\n" + more;
    for (const std::string& answer :
         {kBlock + ("g\n" + block), "src/app.py\n```python\n" + block + "```\n"}) {
      const auto set = read_edits(answer, EditFormat::kAuto, {});
      EXPECT_EQ(set ? "" : set.error().reason, "edit.unread") << answer;
    }
  }
}

// Limit: kMaxAnswerParts of staging/formats/answer.h
TEST(Answers, AnswersAreReadInLinearTime) {
  // Each of these once began a search for its end: together they are read once.
  std::string open;
  for (int i = 0; i < 20000; ++i) open += "[{\"path\": \"f\", \"content\": 1},\n";
  EXPECT_EQ(divide_answer(open).parts.size(), 0U);
  std::string heads;
  for (int i = 0; i < 20000; ++i) heads += "f\n<<<<<<< SEARCH\n";
  EXPECT_FALSE(read_edits(heads, EditFormat::kAuto, {}).has_value());
  std::string parts;
  for (size_t i = 0; i <= kMaxAnswerParts; ++i) parts += i % 2 == 0 ? kDiff : kBlock;
  const auto many = read_edits(parts, EditFormat::kAuto, {});
  ASSERT_FALSE(many.has_value());
  EXPECT_EQ(many.error().reason, "limit.answer_parts");
}

EditFailure missing(const std::string& text) {
  EditFailure failure;
  failure.reason = "patch.context_not_found";
  failure.message = "its lines are not there";
  failure.expected = {text};
  return failure;
}

TEST(SearchHelp, FindsTheLineOfAMisspeltText) {
  const std::string file = "def total(items):\n    return sum(items)\n\nclass Basket:\n    pass\n";
  const auto line_for = [&](const std::string& text) {
    std::vector<EditFailure> failures = {missing(text)};
    SearchHelp().explain(file, failures);
    return failures.front().nearest_line;
  };
  EXPECT_EQ(line_for("def totl(items):"), 1U);
  EXPECT_EQ(line_for("retrun sum"), 2U);
  EXPECT_EQ(line_for("RETURN SUM(ITEM)"), 2U);
  EXPECT_EQ(line_for("clas Baskets:\n"), 4U);
  EXPECT_EQ(line_for("17\tclass Basket:"), 4U);
  EXPECT_EQ(line_for("4|class Baskte:"), 4U);
  EXPECT_EQ(line_for("> class Basket:"), 4U);
  EXPECT_EQ(line_for("something else altogether"), 0U);
  EXPECT_EQ(line_for("x"), 0U);
  EXPECT_EQ(line_for(""), 0U);
}

TEST(SearchHelp, StopsAtItsBudget) {
  std::string file;
  for (int i = 0; i < 100000; ++i) file += "value_" + std::to_string(i) + " = compute(value)\n";
  std::vector<EditFailure> failures(1000, missing("valeu = copmute(value)"));
  SearchHelp().explain(file, failures);
  EXPECT_GT(failures.front().nearest_line, 0U);
  EXPECT_EQ(failures.back().nearest_line, 0U);
  EXPECT_NE(failures.back().message.find("read the file again"), std::string::npos);
}

TEST(DivideAnswer, ManyOpenThoughtsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "<think>\n";
  EXPECT_TRUE(divide_answer(text).parts.empty());
  EXPECT_FALSE(divide_answer(text).unread.empty());
  const Answer closed = divide_answer("</thinking>\n" + text + kDiff);
  EXPECT_EQ(closed.parts.size(), 1U);
}

}  // namespace
}  // namespace galley
