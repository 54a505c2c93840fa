#include "base/printable.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(Printable, OrdinaryTextOfAnyScriptStaysAsItIs) {
  const std::string text = "a\tb\n gr\u00fc\u00df \u65e5\u672c \u05e9 \U0001F600\n";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreShown) {
  EXPECT_EQ(printable("\x1b]52;c;cm0=\x07"), "\\x1b]52;c;cm0=\\x07");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "<U+009B>2J");
  EXPECT_EQ(printable("a\r\n"), "a^M\n");
}

TEST(Printable, BidirectionalAndInvisibleCharactersAreShown) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u061c"), "a<U+202E>b<U+2066>c<U+200F>d<U+061C>");
  EXPECT_EQ(printable("\ufeffa\u200bb\u200dc\u2060\u00ad"),
            "<U+FEFF>a<U+200B>b<U+200D>c<U+2060><U+00AD>");
  EXPECT_EQ(printable("\u115f\u1160\u3164\uffa0"), "<U+115F><U+1160><U+3164><U+FFA0>");
  EXPECT_EQ(printable("\U000E0041\U000E01EF"), "<U+E0041><U+E01EF>");
  EXPECT_EQ(printable("\u2028\u2029"), "<U+2028><U+2029>");
}

TEST(Printable, BytesThatAreNotUtf8AreShown) {
  EXPECT_EQ(printable("caf\xe9 \xff\xc3"), "caf\\xe9 \\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(Printable, ReverseVideoMarksOnlyReplacements) {
  std::string out;
  append_printable("a\u202e<U+202E>", true, out);
  EXPECT_EQ(out, "a\033[7m<U+202E>\033[27m<U+202E>");
}

TEST(Printable, ALineStaysOneLineAndIsCutAtItsLimit) {
  EXPECT_EQ(printable_line("a\nb\tc\r\u2028"), "a\\nb\\tc^M<U+2028>");
  EXPECT_EQ(printable_line("abcdef", 3), "abc…");
  EXPECT_EQ(printable_line("ab\u202e", 4), "ab…");
}

TEST(Printable, AStreamInPiecesIsShownLikeTheWholeText) {
  const std::string text = "a\u202eb\U0001F600\u00fc\x1b[0m\xff\u200b\xe2\x80";
  const std::string whole = printable(text);
  for (size_t step = 1; step <= text.size(); ++step) {
    PrintableStream stream;
    std::string shown;
    for (size_t at = 0; at < text.size(); at += step) shown += stream.feed(text.substr(at, step));
    shown += stream.finish();
    EXPECT_EQ(shown, whole) << "in pieces of " << step;
  }
}

}  // namespace
}  // namespace galley
