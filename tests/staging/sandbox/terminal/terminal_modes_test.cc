#include "staging/sandbox/terminal/run_client.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

std::string restored_after(const std::string& output) {
  TerminalModes at_once;
  at_once.see(output);
  TerminalModes by_bytes;
  for (const char byte : output) by_bytes.see(std::string(1, byte));
  EXPECT_EQ(at_once.restore(), by_bytes.restore());
  return at_once.restore();
}

TEST(TerminalModes, AProgramThatSetNoModeNeedsNoReset) {
  EXPECT_EQ(restored_after("text \x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b(B \x1b[2J\x1b[?12h"), "");
}

TEST(TerminalModes, ModesThatAreOnAreSwitchedOff) {
  EXPECT_EQ(restored_after("\x1b[?1049h\x1b[?25l\x1b[?2004;1004h"),
            "\x1b[?25h\x1b[?1004l\x1b[?1049l\x1b[?2004l\x1b[0m");
  EXPECT_EQ(restored_after("\x1b[>7u\x1b[>1u"), "\x1b[<2u\x1b[0m");
}

TEST(TerminalModes, ModesThatTheProgramSwitchedOffAreNotReset) {
  EXPECT_EQ(restored_after("\x1b[?1049h\x1b[?25l\x1b[>1u text \x1b[<u\x1b[?25h\x1b[?1049l"), "");
  EXPECT_EQ(restored_after("\x1b[>1u\x1b[<9u"), "");
}

TEST(TerminalModes, NegativePopCountsAreIgnored) {
  EXPECT_EQ(restored_after("\x1b[<-5u"), "");
  EXPECT_EQ(restored_after("\x1b[<-2147483648u\x1b[<-2147483647u\x1b[>1u"), "\x1b[<1u\x1b[0m");
}

TEST(TerminalModes, BrokenSequencesSetNoMode) {
  EXPECT_EQ(restored_after("\x1b[?" + std::string(1000, '1') + "h\x1b[?;;;h\x1b[?h\x1b[?25"), "");
}

}  // namespace
}  // namespace galley
