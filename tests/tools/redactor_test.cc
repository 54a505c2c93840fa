#include "tools/redactor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/encoding.h"

namespace galley {
namespace {

Redactor with_token() {
  Redactor redactor;
  redactor.add("TOKEN", "s3cr+t/va\"lue");
  return redactor;
}

TEST(Redactor, ReplacesTheValueAndItsEscapedForms) {
  const Redactor redactor = with_token();
  EXPECT_EQ(redactor.redact("x s3cr+t/va\"lue y"), "x [REDACTED:TOKEN] y");
  EXPECT_EQ(redactor.redact("x=s3cr%2Bt%2Fva%22lue&"), "x=[REDACTED:TOKEN]&");
  EXPECT_EQ(redactor.redact(R"({"t":"s3cr+t/va\"lue"})"), R"({"t":"[REDACTED:TOKEN]"})");
}

TEST(Redactor, FindsBase64AtAnyAlignment) {
  Redactor redactor;
  redactor.add("T", "hunter2hunter2");
  // base64 of "hunter2hunter2", "a:hunter2hunter2", "ab:hunter2hunter2!"
  for (const char* text :
       {"aHVudGVyMmh1bnRlcjI=", "YTpodW50ZXIyaHVudGVyMg==", "YWI6aHVudGVyMmh1bnRlcjIh"}) {
    EXPECT_NE(redactor.redact(text).find("[REDACTED:T]"), std::string::npos) << text;
  }
}

TEST(Redactor, ReplacesTheLastDigitOfASecretInBase64) {
  Redactor redactor;
  redactor.add("T", "hunter2hunter2");
  EXPECT_EQ(redactor.redact("x aHVudGVyMmh1bnRlcjI= y"), "x [REDACTED:T]= y");
  EXPECT_EQ(redactor.redact("YTpodW50ZXIyaHVudGVyMg=="), "YTp[REDACTED:T]==");
  // The last digit of the secret keeps its own bits, whatever follows in the encoded text.
  for (const char* text :
       {"aHVudGVyMmh1bnRlcjIA", "aHVudGVyMmh1bnRlcjJ/", "aHVudGVyMmh1bnRlcjL/"}) {
    EXPECT_EQ(redactor.redact(text).find("[REDACTED:T]"), 0U) << text;
    EXPECT_EQ(redactor.redact(text).size(), sizeof "[REDACTED:T]") << text;
  }
  EXPECT_EQ(redactor.redact("aHVudGVyMmh1bnRlcjMA"), "[REDACTED:T]MA");  // another value
}

TEST(StreamRedactor, HidesTheLastDigitOfBase64InALaterPiece) {
  Redactor redactor;
  redactor.add("T", "hunter2hunter2");
  const std::string text = "x aHVudGVyMmh1bnRlcjI= y aHVudGVyMmh1bnRlcjI";
  for (size_t cut = 1; cut < text.size(); ++cut) {
    StreamRedactor stream(redactor);
    std::string out;
    for (size_t at = 0; at < text.size(); at += cut) {
      out += stream.feed(text.substr(at, cut));
      out += stream.feed("");
    }
    out += stream.finish();
    EXPECT_EQ(out, "x [REDACTED:T]= y [REDACTED:T]") << cut;
  }
}

TEST(Redactor, FindsHexadecimalAndBothUrlForms) {
  Redactor redactor;
  redactor.add("T", "a?b c/\xc3\xa9");
  for (const char* text : {"613f6220632fc3a9", "613F6220632FC3A9", "a%3Fb%20c%2F%C3%A9",
                           "a%3fb%20c%2f%c3%a9", "a%3Fb+c%2F%C3%A9", R"("a?b c/\u00e9")"}) {
    EXPECT_NE(redactor.redact(text).find("[REDACTED:T]"), std::string::npos) << text;
    EXPECT_TRUE(redactor.finds(text)) << text;
  }
  EXPECT_FALSE(redactor.finds("613f62"));
}

TEST(Redactor, FindsBothAlphabetsOfBase64) {
  Redactor redactor;
  redactor.add("T", "\xfb\xff\xbf\xfb\xff\xbf\xfb\xff\xbf");
  EXPECT_EQ(redactor.redact("x +/+/+/+/+/+/ y"), "x [REDACTED:T] y");
  EXPECT_EQ(redactor.redact("x -_-_-_-_-_-_ y"), "x [REDACTED:T] y");
}

TEST(Redactor, FindsDigitsThatAreBrokenIntoLines) {
  std::string value;
  for (int i = 0; i < 118; ++i) value += static_cast<char>('!' + i * 7 % 90);
  Redactor redactor;
  redactor.add("T", value);
  std::string hex;
  for (const char c : value) hex += fmt::format("{:02x}", c);
  for (const std::string& digits : {base64(value), base64("x" + value), hex}) {
    for (const size_t width : {4U, 12U, 60U, 64U, 76U}) {
      std::string text = "a\n";
      for (size_t at = 0; at < digits.size(); at += width)
        text += digits.substr(at, width) + "\r\n";
      const std::string out = redactor.redact(text + "end\n");
      EXPECT_TRUE(redactor.finds(text));
      EXPECT_LT(out.size(), sizeof "a\n????[REDACTED:T]==\r\nend\n") << out;
      EXPECT_EQ(out.substr(out.size() - 6), "\r\nend\n");
      for (const size_t cut : {1U, 7U, 61U, 100U}) {
        StreamRedactor stream(redactor);
        std::string streamed;
        for (size_t at = 0; at < text.size(); at += cut)
          streamed += stream.feed(text.substr(at, cut));
        streamed += stream.finish();
        EXPECT_EQ(streamed + "end\n", out) << cut;
      }
    }
  }
}

TEST(Redactor, AListOfNumbersIsNotASecretInLines) {
  Redactor redactor;
  redactor.add("PIN", "123456");
  EXPECT_EQ(redactor.redact("30\n31\n32\n33\n34\n35\n36\n37\n"),
            "30\n31\n32\n33\n34\n35\n36\n37\n");
}

TEST(Redactor, IgnoresShortValues) {
  Redactor redactor;
  redactor.add("T", "abc");
  EXPECT_TRUE(redactor.is_empty());
}

TEST(Redactor, RedactsNestedStringsAndKeysOfADocument) {
  Redactor redactor;
  redactor.add("T", "hunter2");
  const nlohmann::ordered_json document = {{"a", {"x hunter2", 1}}, {"hunter2", true}};
  EXPECT_EQ(redactor.redact_document(document).dump(),
            R"({"a":["x [REDACTED:T]",1],"[REDACTED:T]":true})");
}

TEST(StreamRedactor, FindsASecretAcrossPieces) {
  const Redactor redactor = with_token();
  const std::string text = "before s3cr+t/va\"lue between s3cr s3cr+t/va\"lue after s3c";
  const std::string wanted = redactor.redact(text);
  for (size_t cut = 1; cut < text.size(); ++cut) {
    StreamRedactor stream(redactor);
    std::string out;
    for (size_t at = 0; at < text.size(); at += cut) out += stream.feed(text.substr(at, cut));
    out += stream.finish();
    EXPECT_EQ(out, wanted) << cut;
  }
}

TEST(PatternStream, HidesAPrivateKeyAcrossPieces) {
  const std::string text =
      "before\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nIIr5\n-----END EC PRIVATE KEY-----\nkey "
      "AKIAIOSFODNN7EXAMPLE after\nlast";
  for (size_t cut = 1; cut < text.size(); cut += 7) {
    PatternStream stream;
    std::string out;
    for (size_t at = 0; at < text.size(); at += cut) out += stream.feed(text.substr(at, cut));
    out += stream.finish();
    EXPECT_EQ(out.find("MHcC"), std::string::npos) << out;
    EXPECT_EQ(out.find("AKIA"), std::string::npos) << out;
    EXPECT_TRUE(out.starts_with("before\n[REDACTED:private-key]")) << out;
    EXPECT_TRUE(out.ends_with("key [REDACTED:aws-access-key] after\nlast")) << out;
  }
}

// Limit: kMaxHeldLineBytes of tools/redactor.h
TEST(PatternStream, ShowsAnOverlongLineInParts) {
  PatternStream stream;
  const std::string line(PatternStream::kMaxHeldLineBytes + 1, 'x');
  EXPECT_EQ(stream.feed(line), line);
  EXPECT_EQ(stream.finish(), "");
}

TEST(RedactionMarkers, AreCounted) {
  EXPECT_EQ(count_redaction_markers("a [REDACTED:env.TOKEN] [REDACTED:key][REDACTED:x"), 2U);
  EXPECT_EQ(count_redaction_markers("[REDACTED:] [REDACTED:a b] [REDACTED]"), 0U);
}

TEST(RedactPatterns, FindsTextThatLooksLikeASecret) {
  EXPECT_EQ(redact_patterns("key AKIAIOSFODNN7EXAMPLE."), "key [REDACTED:aws-access-key].");
  EXPECT_EQ(redact_patterns("https://bob:pw@host/x"), "https://bob:[REDACTED:url-password]@host/x");
  EXPECT_EQ(redact_patterns("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"),
            "[REDACTED:private-key]");
  for (const char* key :
       {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
        "MIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x-1\n\nlQ\n"
        "-----END PGP PRIVATE KEY BLOCK-----"}) {
    EXPECT_EQ(redact_patterns(key), "[REDACTED:private-key]");
    PatternStream stream;
    EXPECT_EQ((stream.feed(std::string(key) + "\n") + stream.finish()).find("MIIE"),
              std::string::npos);
  }
  EXPECT_EQ(redact_patterns("Authorization: BEARER abcdefghijklmn"),
            "Authorization: BEARER [REDACTED:authorization]");
  const std::string digits = "0123456789012345678901234567890123456789";
  EXPECT_EQ(redact_patterns("ghp_" + digits.substr(4) + "!"), "[REDACTED:github-token]!");
  EXPECT_EQ(redact_patterns("npm_" + digits.substr(4) + "!"), "[REDACTED:npm-token]!");
  EXPECT_EQ(redact_patterns("xoxb-" + digits + "!"), "[REDACTED:slack-token]!");
  EXPECT_EQ(redact_patterns("sk-" + digits + "!"), "[REDACTED:api-key]!");
  EXPECT_EQ(redact_patterns("eyJ" + digits + "." + digits + "." + digits + "!"), "[REDACTED:jwt]!");
  EXPECT_EQ(redact_patterns("nothing here"), "nothing here");
}

TEST(RedactPatterns, FindsATokenBehindAnEscapeOrAColour) {
  const std::string long_part = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0bC2eF4hJ6";
  const std::vector<std::string> tokens = {"ghp_" + long_part,
                                           "github_pat_" + long_part,
                                           "xoxb-" + long_part,
                                           "npm_" + long_part,
                                           "sk-" + long_part,
                                           "AKIA" + std::string(16, 'Q'),
                                           "glpat-" + long_part,
                                           "AIza" + long_part.substr(1),
                                           "hf_" + std::string(34, 'q'),
                                           "pypi-AgEIcHlwaS5vcmc" + long_part + long_part,
                                           "xapp-1-" + long_part,
                                           "rk_live_" + long_part,
                                           "eyJ" + long_part + "." + long_part + "." + long_part};
  for (const std::string& token : tokens) {
    for (const char* before : {"\x1b[32m", "\x1b[0;1;32m", R"("a\n)", R"("a\t)", R"(\u000a)",
                               "token%3D", "token%3d", "token%0A"}) {
      const std::string shown = redact_patterns(before + token + "\n");
      EXPECT_TRUE(shown.starts_with(std::string(before) + "[REDACTED:")) << shown;
    }
  }
  for (const char* token : {"ghp_", "github_pat_", "xoxb-", "npm_"}) {
    const std::string text = "MY_" + (token + long_part);
    EXPECT_EQ(redact_patterns(text).find(long_part), std::string::npos) << text;
  }
}

TEST(RedactPatterns, FindsAKeyBehindAByteThatIsNoUtf8) {
  for (const char* before : {"\xff", "lat\xe9", "\x1b[m", "\x1b[0K", "a_"}) {
    EXPECT_EQ(redact_patterns(std::string(before) + "AKIAQZ2W3E4R5T6Y7ABC"),
              std::string(before) + "[REDACTED:aws-access-key]");
  }
}

TEST(RedactPatterns, LeavesOrdinaryWords) {
  for (const char* text :
       {"the task-force-of-the-whole-company-in-2024", "a.risk-assessment-report-of-may-2024",
        "EURASIATRANSCONTINENTAL", "XAKIAQQQQQQQQQQQQQQQQ", "MALAKIAQQQQQQQQQQQQQQQQ",
        "npm_config_registry=https://registry.example.org", "ghp_short",
        "task_live_aB3dE6gH9jK2mN5pQ8rSaB3d", "half_of_what_is_here_and_there_and_gone",
        "see [ask-a-question-about-this-project](x)", "heyJ0aaaaaaaaa.bbbbbbbbbbb.c",
        "d2hhdGV2ZXJzay1pcy1oZXJlYW5kbm90YXRva2VuZWl0aGVyc28=",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}) {
    EXPECT_EQ(redact_patterns(text), text);
  }
}

TEST(RedactPatterns, RecognizesKeysThatNameSecrets) {
  EXPECT_TRUE(is_secret_key("X-Api-Key"));
  EXPECT_TRUE(is_secret_key("access_token"));
  EXPECT_TRUE(is_secret_key("Authorization"));
  EXPECT_FALSE(is_secret_key("tokens"));
  EXPECT_FALSE(is_secret_key("file_path"));
}

}  // namespace
}  // namespace galley
