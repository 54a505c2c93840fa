#include "base/ed25519_key.h"

#include <gtest/gtest.h>

#include <string>

#include "base/encoding.h"
#include "support/test_keys.h"

namespace galley {
namespace {

std::string hex_of(const std::string& bytes) {
  return to_hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

std::string reason_of(std::string_view pem) {
  const auto key = Ed25519Key::parse(pem);
  return key ? "" : key.error().reason;
}

TEST(Ed25519Key, SignatureEqualsTheExampleOfRfc8032) {
  const auto key = Ed25519Key::parse(test_keys::kRfcPrivate);
  ASSERT_TRUE(key.has_value()) << key.error().message;
  const auto signature = key->sign("\x72");
  ASSERT_TRUE(signature.has_value());
  EXPECT_EQ(hex_of(*signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(Ed25519Key, ThePublicKeyVerifiesAndDoesNotSign) {
  const auto pair = Ed25519Key::parse(test_keys::kPrivate);
  const auto open = Ed25519Key::parse(test_keys::kPublic);
  const auto other = Ed25519Key::parse(test_keys::kOtherPublic);
  ASSERT_TRUE(pair && open && other);
  EXPECT_TRUE(pair->is_private());
  EXPECT_FALSE(open->is_private());
  EXPECT_EQ(pair->id(), open->id());
  EXPECT_NE(pair->id(), other->id());
  std::string signature = *pair->sign("message");
  EXPECT_TRUE(pair->verify("message", signature));
  EXPECT_TRUE(open->verify("message", signature));
  EXPECT_FALSE(other->verify("message", signature));
  EXPECT_FALSE(open->verify("massage", signature));
  EXPECT_FALSE(open->verify("message", signature.substr(1)));
  EXPECT_FALSE(open->verify("message", ""));
  signature[3] = static_cast<char>(signature[3] ^ 1);
  EXPECT_FALSE(open->verify("message", signature));
  EXPECT_EQ(open->sign("message").error().reason, "key.public");
}

TEST(Ed25519Key, AnInvalidKeyHasTheReasonOfItsError) {
  EXPECT_EQ(reason_of(test_keys::kEncrypted), "key.encrypted");
  EXPECT_EQ(reason_of(test_keys::kX25519), "key.other_kind");
  EXPECT_EQ(reason_of("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
            "key.syntax");
  EXPECT_EQ(reason_of("-----BEGIN CERTIFICATE-----\n"), "key.syntax");
  EXPECT_EQ(reason_of(""), "key.syntax");
  EXPECT_TRUE(Ed25519Key::is_pem("junk\n-----BEGIN PUBLIC KEY-----"));
  EXPECT_FALSE(Ed25519Key::is_pem("a shared secret of more bytes"));
}

}  // namespace
}  // namespace galley
