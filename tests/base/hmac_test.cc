#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace galley {
namespace {

std::string hex_of_hmac(std::string_view key, std::string_view message) {
  std::string hex;
  for (const char c : hmac_sha256(key, message)) append_hex(hex, static_cast<uint8_t>(c));
  return hex;
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, EqualsTheExamplesOfTheStandard) {
  EXPECT_EQ(hex_of_hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex_of_hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_of_hmac(std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Base64, EqualsTheExamplesOfTheStandard) {
  for (const auto& [bytes, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
        std::pair("foo", "Zm9v"), std::pair("foobar", "Zm9vYmFy"), std::pair("\xff\xfe", "//4=")}) {
    EXPECT_EQ(base64(bytes), text);
    std::string back;
    EXPECT_TRUE(from_base64(text, back));
    EXPECT_EQ(back, bytes);
  }
  std::string back;
  for (const char* bad :
       {"a b", "Z", "Zg=", "Zg===", "Zm9v=", "Zm9v==", "Zm9vZ", "=", "==", "Z==="}) {
    EXPECT_FALSE(from_base64(bad, back)) << bad;
  }
  for (const char* bare : {"Zg", "Zm8", ""}) EXPECT_TRUE(from_base64(bare, back)) << bare;
}

TEST(ConstantTime, EqualTextsAreEqual) {
  EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
}

}  // namespace
}  // namespace galley
