#include "engine/policy/verdict_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace galley {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kKey = "a key of more than sixteen bytes";

JudgedSubject subject() {
  return {ContentId::of("proposal"),
          "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
          ContentId::of("galley.toml"),
          "1.2",
          {{"json", ContentId::of("json")}}};
}

Verdict refused() {
  Verdict verdict{Refusal{"gate.policy_denied", "no"}, {}, {}, {}};
  verdict.runs.push_back({"json", Verdict::Run::Outcome::kPassed, 0, 0, false, "", ""});
  return verdict;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

std::string reason_of(const Result<FiledVerdict>& filed) {
  return filed ? (filed->is_approved ? "approved" : "refused") : filed.error().reason;
}

TEST(VerdictFile, IsAStatementOfInToto) {
  const auto document = nlohmann::json::parse(verdict_file(subject(), refused(), 0));
  EXPECT_EQ(document["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(document["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
  EXPECT_EQ(document["subject"][1]["digest"]["gitTree"], subject().tree);
  EXPECT_EQ(document["predicate"]["result"], "FAILED");
  EXPECT_EQ(document["predicate"]["passedTests"][0], "json");
}

TEST(VerdictFile, HoldsForItsSubjectOnly) {
  const std::string text = verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "refused");
  for (int part = 0; part < 6; ++part) {
    JudgedSubject other = subject();
    if (part == 0) other.proposal = ContentId::of("other");
    if (part == 1) other.tree = "0";
    if (part == 2) other.configuration = ContentId::of("other");
    if (part == 3) other.version = "1.3";
    if (part == 4) other.validators.front().second = ContentId::of("other");
    if (part == 5) other.validators.clear();
    EXPECT_EQ(reason_of(verify_verdict_file(text, other)), "verdict.other_subject") << part;
  }
}

TEST(VerdictFile, SignedOneIsVerifiedByItsKeyAndByNoOther) {
  const std::string text = verdict_file(subject(), refused(), 0, kKey);
  EXPECT_THAT(text, HasSubstr("application/vnd.in-toto+json"));
  const auto filed = verify_verdict_file(text, subject(), kKey);
  EXPECT_EQ(reason_of(filed), "refused");
  EXPECT_TRUE(filed->is_signed);
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject(), "another key")), "verdict.signature");
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "verdict.signature");
  const std::string unsigned_one = verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(unsigned_one, subject(), kKey)), "verdict.signature");
}

TEST(VerdictFile, ChangedPayloadOrNoSignatureIsRefused) {
  const auto envelope = nlohmann::json::parse(verdict_file(subject(), refused(), 0, kKey));
  auto changed = envelope;
  std::string payload = changed["payload"];
  payload[8] = payload[8] == 'A' ? 'B' : 'A';
  changed["payload"] = payload;
  EXPECT_EQ(reason_of(verify_verdict_file(changed.dump(), subject(), kKey)), "verdict.signature");
  changed = envelope;
  changed["signatures"] = nlohmann::json::array();
  EXPECT_EQ(reason_of(verify_verdict_file(changed.dump(), subject(), kKey)), "verdict.signature");
}

TEST(VerdictFile, GarbageIsAnError) {
  for (const char* text :
       {"", "[]", "{}", "{\"payload\":1}", "{\"_type\":\"x\"}",
        "{\"payload\":\"!\",\"payloadType\":\"application/vnd.in-toto+json\"}"}) {
    EXPECT_FALSE(verify_verdict_file(text, subject(), kKey)) << text;
    EXPECT_FALSE(verify_verdict_file(text, subject())) << text;
  }
  const std::string text = verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(replaced(text, "\"configuration\"", "\"x\""), subject())),
            "verdict.syntax");
}

}  // namespace
}  // namespace galley
