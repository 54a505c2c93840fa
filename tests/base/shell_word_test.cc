#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(ShellWord, QuotesEveryByteExactly) {
  EXPECT_EQ(shell_word("plain-1.x"), "plain-1.x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'b $c\n"), "'a'\\''b $c\n'");
  EXPECT_EQ(shell_word("~"), "'~'");
}

}  // namespace
}  // namespace galley
