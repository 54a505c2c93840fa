#include "staging/printing/hyperlinks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "staging/printing/git_diff.h"

namespace galley {
namespace {

std::string link(const Hyperlinks& links, std::string_view path, uint32_t line) {
  std::string out;
  links.append(path, line, "text", out);
  return out;
}

TEST(Hyperlinks, ALinkNamesFileAndLine) {
  EXPECT_EQ(link({"file", "/home/me", "host"}, "src/a.c", 3),
            "\033]8;;file://host/home/me/src/a.c\033\\text\033]8;;\033\\");
  EXPECT_EQ(link({"vscode", "/home/me", "host"}, "src/a.c", 3),
            "\033]8;;vscode://file/home/me/src/a.c:3:1\033\\text\033]8;;\033\\");
  EXPECT_EQ(link({"ed:{path}+{line}", "/w", ""}, "a", 0),
            "\033]8;;ed:/w/a+1\033\\text\033]8;;\033\\");
}

TEST(Hyperlinks, ANameCannotEndTheLink) {
  const std::string out = link({"file", "/w", "h"}, "a\033\\\a\n ;{line}\xff", 1);
  EXPECT_EQ(out, "\033]8;;file://h/w/a%1B%5C%07%0A%20%3B%7Bline%7D%FF\033\\text\033]8;;\033\\");
}

TEST(Hyperlinks, AFormatCannotEndTheLink) {
  EXPECT_EQ(link({"x\033]0;title\a{path}", "/w", ""}, "a", 1),
            "\033]8;;x%1B]0;title%07/w/a\033\\text\033]8;;\033\\");
}

TEST(Hyperlinks, ASummaryLinksOnlyNamesOfExistingFiles) {
  const Hyperlinks links("file", "/w", "h");
  std::vector<FileDiff> diffs(2);
  diffs[0].old_path = diffs[0].new_path = "a.c";
  diffs[0].old_mode = diffs[0].new_mode = git_mode::kRegular;
  diffs[0].counts.added = 1;
  diffs[1].old_path = diffs[1].new_path = "gone.c";
  diffs[1].old_mode = git_mode::kRegular;
  diffs[1].counts.removed = 1;
  EXPECT_EQ(diffstat(diffs, {80, false, &links}),
            " \033]8;;file://h/w/a.c\033\\a.c\033]8;;\033\\    | 1 +\n"
            " gone.c | 1 -\n"
            " 2 files changed, 1 insertion(+), 1 deletion(-)\n");
}

}  // namespace
}  // namespace galley
