#include "staging/sandbox/terminal/detach_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galley {
namespace {

DetachKeys keys_of(const std::string& text) {
  auto keys = DetachKeys::parse(text);
  EXPECT_TRUE(keys.has_value()) << text;
  return keys ? *std::move(keys) : DetachKeys();
}

/// Returns the bytes that reach the program when the keys are typed in pieces, with " detached" at
/// the end if they detach.
std::string typed(const std::string& keys, const std::vector<std::string>& pieces) {
  DetachKeys detach = keys_of(keys);
  std::string passed;
  for (const std::string& piece : pieces) {
    const DetachKeys::Typed taken = detach.take(piece);
    passed += taken.passed;
    if (taken.detaches) return passed + " detached";
  }
  return passed;
}

constexpr const char* kUsual = "ctrl-p,ctrl-q";

TEST(DetachKeys, KeysAreFoundInOneOrSeveralPieces) {
  EXPECT_EQ(typed(kUsual, {"ab\x10\x11xy"}), "ab detached");
  EXPECT_EQ(typed(kUsual, {"ab\x10", "\x11"}), "ab detached");
  EXPECT_EQ(typed("ctrl-a,d", {"\x01", "d"}), " detached");
  EXPECT_EQ(typed("ctrl-]", {"\x1d"}), " detached");
}

TEST(DetachKeys, AnIncompleteSequenceIsPassedOnUnchanged) {
  EXPECT_EQ(typed(kUsual, {"\x10", "x"}), "\x10x");
  EXPECT_EQ(typed(kUsual, {"\x10"}), "") << "not yet";
  EXPECT_EQ(typed("a,b,c", {"a", "b", "a", "b", "d"}), "ababd");
}

TEST(DetachKeys, ASequenceCanBeginInsideAFailedOne) {
  EXPECT_EQ(typed(kUsual, {"\x10", "\x10", "\x10", "\x11"}), "\x10\x10 detached");
  EXPECT_EQ(typed("a,a,b", {"aaab"}), "a detached");
}

TEST(DetachKeys, KeysOfTheKittyProtocolAreRecognized) {
  EXPECT_EQ(typed(kUsual, {"\x1b[112;5u", "\x1b[113;5u"}), " detached");
  EXPECT_EQ(typed(kUsual, {"\x1b[112;5:1u\x1b[112;5:3u\x1b[113;5u"}), " detached") << "releases";
  EXPECT_EQ(typed(kUsual, {"\x1b[112::112;133u", "\x11"}), " detached") << "with Num Lock";
  EXPECT_EQ(typed(kUsual, {"\x1b[112;5u", "\x1b[112;5:3u", "x"}), "\x1b[112;5u\x1b[112;5:3ux");
  EXPECT_EQ(typed(kUsual, {"\x1b[112;6u", "\x1b[113;6u"}), "\x1b[112;6u\x1b[113;6u") << "Shift";
}

TEST(DetachKeys, OtherSequencesAndLoneEscapesAreNotHeldBack) {
  for (const std::string text :
       {"\x1b", "\x1b[", "\x1b[A", "\x1b[1;5A", "\x1b[112;5", "\x1b[200~\x1b[u"}) {
    EXPECT_EQ(typed(kUsual, {text}), text);
  }
}

TEST(DetachKeys, WithoutKeysAllInputIsPassedOn) {
  EXPECT_EQ(typed("none", {"\x10\x11"}), "\x10\x11");
}

TEST(DetachKeys, AnInvalidKeyIsRefused) {
  for (const char* text :
       {"", "ctrl-", "ctrl-1", "ctrl-pp", "ab", "a,", ",a", "ctrl-p ctrl-q", "\x10"}) {
    const auto keys = DetachKeys::parse(text);
    ASSERT_FALSE(keys.has_value()) << text;
    EXPECT_EQ(keys.error().reason, "run.detach_keys");
  }
}

}  // namespace
}  // namespace galley
