#include "engine/git_hooks/ref_updates.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

const std::string kA(40, 'a');
const std::string kB(40, 'b');
const std::string kNone(40, '0');

TEST(RefUpdates, OfAPushNameTheReferenceOfTheOtherSide) {
  const auto updates = parse_pushed_refs("HEAD " + kB + " refs/heads/main " + kA + "\n(delete) " +
                                         kNone + " refs/heads/old " + kA + "\nrefs/tags/v1 " + kB +
                                         " refs/tags/v1 " + kNone + "\n");
  const std::vector<RefUpdate> expected = {
      {"refs/heads/main", kA, kB}, {"refs/heads/old", kA, ""}, {"refs/tags/v1", "", kB}};
  EXPECT_EQ(updates.value(), expected);
}

TEST(RefUpdates, OfAServerHaveTheOldIdFirst) {
  const auto updates = parse_received_refs(kA + " " + kB + " refs/heads/main\n");
  EXPECT_EQ(updates.value(), (std::vector<RefUpdate>{{"refs/heads/main", kA, kB}}));
  EXPECT_EQ(parse_update({"refs/heads/main", kA, kB}).value(), updates.value().front());
}

TEST(RefUpdates, Sha256IdsAreAccepted) {
  const std::string id(64, 'c');
  EXPECT_EQ(parse_received_refs(id + " " + id + " refs/heads/m\n").value().front().new_id, id);
}

TEST(RefUpdates, AnEmptyInputHasNoUpdates) { EXPECT_TRUE(parse_pushed_refs("").value().empty()); }

TEST(RefUpdates, AnErrorNamesTheLineOfMalformedInput) {
  for (const std::string& line :
       {std::string("main"), kA + " " + kB, kA + " " + kB + " main", kA + "  refs/heads/m",
        "x" + kA.substr(1) + " " + kB + " refs/heads/m", kA + " " + kB + " refs/heads/m extra"}) {
    const auto parsed = parse_received_refs(kA + " " + kB + " refs/heads/m\n" + line + "\n");
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().reason, "hook.input");
    EXPECT_NE(parsed.error().message.find("line 2"), std::string::npos) << parsed.error().message;
  }
}

// Limit: kMaxRefUpdates of engine/git_hooks/ref_updates.h
TEST(RefUpdates, AreBounded) {
  std::string text;
  for (size_t i = 0; i <= kMaxRefUpdates; ++i) text += kA + " " + kB + " refs/heads/m\n";
  EXPECT_EQ(parse_received_refs(text).error().reason, "limit.ref_updates");
}

}  // namespace
}  // namespace galley
