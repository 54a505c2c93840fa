#include "tests/architecture/layout.h"

#include <gtest/gtest.h>

namespace galley::architecture {
namespace {

TEST(Layout, AContractWithBrokenLayoutIsFound) {
  const auto broken = [](const std::string& text) {
    return badly_laid_out_comments("base/a.h", text).size();
  };
  EXPECT_EQ(broken("/// Invariant: one, so\n/// bytes\n///            that end.\n"), 1U + 1U);
  EXPECT_EQ(broken("/// Prose. Errors: kIo.\n"), 1U);
  EXPECT_EQ(broken("/// Prose\n///     drawn -> here\n"), 1U);
  EXPECT_EQ(broken("///     drawn -> here\n/// Prose\n"), 1U);
  EXPECT_EQ(broken("  // " + std::string(100, 'x') + "\n"), 1U);
  EXPECT_EQ(broken("/// Prose,\n/// more.\n///\n///     drawn\n///\n/// Invariant: one,\n"
                   "///            two.\n/// Ownership: none. Threads: any.\n/// Errors: kIo,\n"
                   "///         kInvalid.\nclass A;  ///< Errors:\n"),
            0U);
}

TEST(Layout, ASourceBelongsToTheHeaderWithTheLongestNamePrefix) {
  const std::set<std::string> headers = {"a/diff.h", "a/diff_print.h", "a_b/c.h"};
  EXPECT_EQ(header_of_source("a/diff.cc", headers), "a/diff.h");
  EXPECT_EQ(header_of_source("a/diff_myers.cc", headers), "a/diff.h");
  EXPECT_EQ(header_of_source("a/diff_print_binary.cc", headers), "a/diff_print.h");
  EXPECT_EQ(header_of_source("a/difference.cc", headers), "");
  EXPECT_EQ(header_of_source("a_b/d.cc", headers), "");
}

TEST(Layout, RoomsAreReadFromTheDrawing) {
  EXPECT_EQ(rooms_in_drawing("# A\n\n```\ncli/       speaks; its helper/ too\n"
                             "engine/commit/    writes\n```\n```\nno/  more\n```\n"),
            (std::vector<std::string>{"cli", "engine/commit"}));
}

TEST(Layout, DoorsAreReadFromTheirTable) {
  const auto doors = doors_in_page(
      "| library | headers | where |\n|---|---|---|\n"
      "| two | `a/`, `b.h` | `base/`, `cli/` |\n");
  EXPECT_EQ(doors.size(), 2U);
  EXPECT_EQ(doors.at("b.h"), (std::set<std::string>{"base/", "cli/"}));
}

}  // namespace
}  // namespace galley::architecture
