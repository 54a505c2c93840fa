#include "engine/policy/verdict_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/encoding.h"
#include "base/hash.h"
#include "support/test_keys.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSecret = "a key of more than sixteen bytes";

VerdictKey key_of(std::string_view text) {
  auto key = VerdictKey::parse(text);
  EXPECT_TRUE(key.has_value()) << key.error().message;
  return *std::move(key);
}

JudgedSubject subject() {
  return {ContentId::of("proposal"),
          "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
          ContentId::of("galley.toml"),
          "1.2",
          {{"json", ContentId::of("json")}},
          {{"rules.toml", ContentId::of("rules")}},
          "bot"};
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
  const auto document = nlohmann::json::parse(*verdict_file(subject(), refused(), 0));
  EXPECT_EQ(document["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(document["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
  EXPECT_EQ(document["subject"][1]["digest"]["gitTree"], subject().tree);
  EXPECT_EQ(document["predicate"]["result"], "FAILED");
  EXPECT_EQ(document["predicate"]["passedTests"][0], "json");
}

TEST(VerdictFile, AVerdictIsValidOnlyForItsSubject) {
  const std::string text = *verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "refused");
  for (int part = 0; part < 9; ++part) {
    JudgedSubject other = subject();
    if (part == 0) other.proposal = ContentId::of("other");
    if (part == 1) other.tree = "0";
    if (part == 2) other.configuration = ContentId::of("other");
    if (part == 3) other.version = "1.3";
    if (part == 4) other.validators.front().second = ContentId::of("other");
    if (part == 5) other.validators.clear();
    if (part == 6) other.files.front().second = ContentId::of("other");
    if (part == 7) other.files.clear();
    if (part == 8) other.agent.clear();
    EXPECT_EQ(reason_of(verify_verdict_file(text, other)), "verdict.other_subject") << part;
  }
}

TEST(VerdictFile, OnlyItsKeyVerifiesASignedVerdict) {
  const VerdictKey key = key_of(kSecret);
  const VerdictKey other = key_of("another key of many bytes");
  const std::string text = *verdict_file(subject(), refused(), 0, &key);
  EXPECT_THAT(text, HasSubstr("application/vnd.in-toto+json"));
  const auto filed = verify_verdict_file(text, subject(), &key);
  EXPECT_EQ(reason_of(filed), "refused");
  EXPECT_TRUE(filed->is_signed);
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject(), &other)), "verdict.signature");
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "verdict.signature");
  const std::string unsigned_one = *verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(unsigned_one, subject(), &key)), "verdict.signature");
}

TEST(VerdictFile, ChangedPayloadOrNoSignatureIsRefused) {
  for (const std::string_view text : {kSecret, test_keys::kPrivate}) {
    const VerdictKey key = key_of(text);
    const auto envelope = nlohmann::json::parse(*verdict_file(subject(), refused(), 0, &key));
    auto changed = envelope;
    std::string payload = changed["payload"];
    payload[8] = payload[8] == 'A' ? 'B' : 'A';
    changed["payload"] = payload;
    EXPECT_EQ(reason_of(verify_verdict_file(changed.dump(), subject(), &key)), "verdict.signature");
    changed = envelope;
    changed["signatures"] = nlohmann::json::array();
    EXPECT_EQ(reason_of(verify_verdict_file(changed.dump(), subject(), &key)), "verdict.signature");
  }
}

TEST(VerdictFile, ThePrivateKeySignsAndBothKeysOfAPairVerify) {
  const VerdictKey signing = key_of(test_keys::kPrivate);
  const VerdictKey verifying = key_of(test_keys::kPublic);
  const VerdictKey other = key_of(test_keys::kOtherPublic);
  const std::string text = *verdict_file(subject(), refused(), 0, &signing);
  EXPECT_THAT(text, HasSubstr(verifying.id()));
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject(), &verifying)), "refused");
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject(), &signing)), "refused");
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject(), &other)), "verdict.signature");
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "verdict.signature");
  EXPECT_EQ(verdict_file(subject(), refused(), 0, &verifying).error().reason, "key.public");
}

TEST(VerdictFile, KindsOfKeysAreNotMixed) {
  const VerdictKey secret = key_of(kSecret);
  const VerdictKey signing = key_of(test_keys::kPrivate);
  const VerdictKey verifying = key_of(test_keys::kPublic);
  const std::string by_secret = *verdict_file(subject(), refused(), 0, &secret);
  const std::string by_pair = *verdict_file(subject(), refused(), 0, &signing);
  EXPECT_EQ(reason_of(verify_verdict_file(by_secret, subject(), &verifying)), "verdict.signature");
  EXPECT_EQ(reason_of(verify_verdict_file(by_pair, subject(), &secret)), "verdict.signature");
  // An attacker with the public key cannot sign with its text as a secret, because it never is one.
  auto forged = nlohmann::json::parse(by_pair);
  std::string payload;
  ASSERT_TRUE(from_base64(forged["payload"].get<std::string>(), payload));
  const std::string type = "application/vnd.in-toto+json";
  const std::string signed_text = "DSSEv1 " + std::to_string(type.size()) + " " + type + " " +
                                  std::to_string(payload.size()) + " " + payload;
  for (const std::string& secret_text :
       {std::string(test_keys::kPublic),
        std::string(test_keys::kPublic.substr(0, test_keys::kPublic.size() - 1))}) {
    forged["signatures"] = {
        {{"keyid", "hmac-sha256"}, {"sig", base64(hmac_sha256(secret_text, signed_text))}}};
    EXPECT_EQ(reason_of(verify_verdict_file(forged.dump(), subject(), &verifying)),
              "verdict.signature");
  }
}

TEST(VerdictFile, ShortAndInvalidKeysAreRefused) {
  EXPECT_EQ(VerdictKey::parse("short").error().reason, "verdict.short_key");
  EXPECT_EQ(VerdictKey::parse("").error().reason, "verdict.short_key");
  EXPECT_EQ(VerdictKey::parse(test_keys::kEncrypted).error().reason, "key.encrypted");
  EXPECT_EQ(VerdictKey::parse("-----BEGIN PUBLIC KEY-----\nno\n").error().reason, "key.syntax");
  EXPECT_TRUE(VerdictKey::parse(std::string(kMinVerdictKeyBytes, 'x') + "\r\n").has_value());
}

// Limit: kMaxVerdictFileBytes of engine/policy/verdict_file.h
TEST(VerdictFile, AFileBeyondTheLimitIsRefused) {
  std::string text = *verdict_file(subject(), refused(), 0);
  text.resize(kMaxVerdictFileBytes, ' ');
  EXPECT_EQ(reason_of(verify_verdict_file(text, subject())), "refused");
  const auto filed = verify_verdict_file(text + " ", subject());
  EXPECT_EQ(reason_of(filed), "verdict.syntax");
  EXPECT_THAT(filed.error().message, HasSubstr("it is too large"));
}

TEST(VerdictFile, GarbageIsAnError) {
  const VerdictKey key = key_of(kSecret);
  for (const char* text :
       {"", "[]", "{}", "{\"payload\":1}", "{\"_type\":\"x\"}",
        "{\"payload\":\"!\",\"payloadType\":\"application/vnd.in-toto+json\"}"}) {
    EXPECT_FALSE(verify_verdict_file(text, subject(), &key)) << text;
    EXPECT_FALSE(verify_verdict_file(text, subject())) << text;
  }
  const std::string text = *verdict_file(subject(), refused(), 0);
  EXPECT_EQ(reason_of(verify_verdict_file(replaced(text, "\"configuration\"", "\"x\""), subject())),
            "verdict.syntax");
}

}  // namespace
}  // namespace galley
