#include <map>

#include "engine/validators/secret_rules.h"
#include "validator_fixture.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Every credential here is made up; they are put together so that no scanner takes them for real.
std::string github_token() {
  return std::string("ghp") + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0bC2eF4hJ6";
}
std::string aws_key() { return std::string("AKIA") + "Q3EGRZ7TPLN4WXYK"; }

class Secrets : public ValidatorFixture {
 protected:
  Secrets() { use("secrets"); }
};

TEST_F(Secrets, KnownFormsAreFoundInAddedLines) {
  propose("a.py", "x = 1\nkey = '" + aws_key() + "'\n");
  propose("b.env", "TOKEN=" + github_token() + "\n");
  propose("id_rsa", "-----BEGIN RSA PRIVATE KEY-----\nabc\n");
  propose("url.txt", "postgres://app:s3cr3tPw9zQ@db.internal/x\n");
  EXPECT_THAT(findings(),
              ElementsAre("secrets.aws-access-key-id a.py:2:8", "secrets.github-token b.env:1:7",
                          "secrets.private-key id_rsa:1:1", "secrets.url-password url.txt:1:16"));
}

TEST_F(Secrets, ATokenIsFoundBehindAnEscapeAColourOrAWord) {
  const std::string stripe = "sk" + std::string("_live_aB3dE6gH9jK2mN5pQ8rSaB3d");
  propose("a.txt", "\x1b[32m" + github_token() + "\x1b[0m\n{\"l\":\"a\\n" + github_token() +
                       "\\n\"}\nx%3D" + github_token() + "\nMY_" + github_token() + "\n");
  propose("b.txt", "\x1b[32m" + aws_key() + "\n\\t" + aws_key() + "\nx%3D" + aws_key() + "\n");
  propose("c.txt", "\x1b[1;32m" + stripe + "\n\\r" + stripe + "\nx%3d" + stripe + "\n");
  EXPECT_THAT(
      findings(),
      ElementsAre("secrets.github-token a.txt:1:6", "secrets.github-token a.txt:2:10",
                  "secrets.github-token a.txt:3:5", "secrets.github-token a.txt:4:4",
                  "secrets.aws-access-key-id b.txt:1:6", "secrets.aws-access-key-id b.txt:2:3",
                  "secrets.aws-access-key-id b.txt:3:5", "secrets.stripe-key c.txt:1:8",
                  "secrets.stripe-key c.txt:2:3", "secrets.stripe-key c.txt:3:5"));
}

TEST_F(Secrets, APartOfAWordIsNotAToken) {
  propose("a.txt",
          "task_live_aB3dE6gH9jK2mN5pQ8rSaB3d\nEURASIATRANSCONTINENTAL\n"
          "MKVLAKIAQQWERTYASDFGHKLC\nnpm_config_registry_of_the_whole_company_2024\n"
          "theyJ0eXAiOiJKV1QiLCJh.eyJpc3MiOiJqb2UiLCJh.dBjftJeZ4CVP\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, TheMessageDoesNotContainTheSecret) {
  propose("b.env", "TOKEN=" + github_token() + "\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].message, Not(HasSubstr(github_token().substr(4))));
  EXPECT_THAT(report.findings[0].message, HasSubstr("ghp_…"));
}

TEST_F(Secrets, ThatMoreThanTheReportedOnesAreThereIsAFinding) {
  const auto rules_of = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "TOKEN=" + github_token() + "\n";
    propose("b.env", text);
    std::map<std::string, size_t> rules;
    for (const Finding& one : run().findings) ++rules[one.rule];
    return rules;
  };
  EXPECT_THAT(rules_of(1000), ElementsAre(Pair("secrets.github-token", 1000)));
  EXPECT_THAT(rules_of(1200),
              ElementsAre(Pair(kTooManyFindings, 1), Pair("secrets.github-token", 1001)));
}

TEST_F(Secrets, ExistingSecretsAreNotReported) {
  base("b.env", "TOKEN=" + github_token() + "\n");
  propose("b.env", "TOKEN=" + github_token() + "\nMORE=1\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, AssignmentsNeedEntropy) {
  propose("a.ts",
          "const apiKey = \"q8Zt2LmX0vB7cR4nW1yK\";\n"
          "const password = \"correct-horse-battery\";\n"
          "const secretName = \"my_service_secret_name\";\n"
          "const apiKey2 = \"your-api-key-goes-here-0x1f\";\n");
  EXPECT_THAT(findings(), ElementsAre("secrets.assigned-secret a.ts:1:17"));
}

TEST_F(Secrets, AssignmentsMayHaveATypeAnIndexOrBackticks) {
  const std::string value = "KgLWS5de7fsOssBQocBDskSvHSGK2z1D";
  propose("a.py", "d[\"api_key\"] = \"" + value + "\"\napi_key: str = \"" + value + "\"\n");
  propose("b.js", "const apiKey = `" + value + "`;\n");
  propose("c.txt", "redis://:mRkhfvjxNWgKWC@cache:6379\n");
  EXPECT_THAT(findings(),
              ElementsAre("secrets.assigned-secret a.py:1:17", "secrets.assigned-secret a.py:2:17",
                          "secrets.assigned-secret b.js:1:17", "secrets.url-password c.txt:1:10"));
}

TEST_F(Secrets, AssignmentsInSettingsNeedNoQuotes) {
  const std::string value = "kJ8fQz3LmP0xWv7RtY2nBc5HdG9sAe1U4iOo6TjK";
  propose(".env", "API_KEY=" + value + "\nexport SECRET_TOKEN=" + value + "\n");
  propose("a.yaml", "name: x\n  api_key: " + value + "\n");
  propose("b.ini", "client_secret = " + value + "\r\n");
  propose("c/app.properties", "db.password=q8Zt2LmX0vB7cR4n/1yK+2a==\n");
  propose("d.yml",
          "SECRET_KEY_BASE: d4bc55107bd38130ea77e5b44cf37e2fda25cc79f312785369fc0681da9a5f36\n");
  EXPECT_THAT(
      findings(),
      ElementsAre("secrets.unquoted-secret .env:1:9", "secrets.unquoted-secret .env:2:21",
                  "secrets.unquoted-secret a.yaml:2:12", "secrets.unquoted-secret b.ini:1:17",
                  "secrets.unquoted-secret c/app.properties:1:13",
                  "secrets.unquoted-secret d.yml:1:18"));
}

TEST_F(Secrets, OrdinarySettingsHaveNoFindings) {
  propose(
      "a.env",
      "API_KEY=${PRODUCTION_API_KEY_2024_V2}\nAPI_KEY=$(vault read -field=key app1/key2)\n"
      "API_KEY=<your-token-goes-here-1234>\nSECRET=changeme\nPASSWORD=changeme-1-changeme-2\n"
      "SECRET_ID=123e4567-e89b-12d3-a456-426614174000\nPASSWORD_MIN_LENGTH=12\n"
      "SECRET_TTL=31536000000000000000000\nSECRET_FILE=/run/secrets/db_4f/password_v2.txt\n"
      "SECRET_DIR=build/secrets-1/2024/stage2/x9f\nSECRET_URL=https://vault1.local/v1/app2/kv3\n");
  propose("b.yaml",
          "secretName: my-app-2024-tls-v2-certificate\npassword: correct-horse-battery-staple\n"
          "credentials: projects/123456/secrets/my-secret/versions/7\n"
          "secret_sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9\n"
          "private_key_path: ../keys/Server1/rsa2048.pem\n"
          "key_fingerprint: 5feceb66ffc86f38d952786c6d696c79c2dbc239\n"
          "api_key: {{ lookup('env', 'KEY1_V2') }}\nsecret: !vault key1/secret2/value3\n");
  propose("pnpm-lock.yaml",
          "  /password-prompt/1.1.3:\n    resolution: {integrity: "
          "sha512-HkrjG2aJlvF0t2BMH0e2LB/EHf3L}\n");
  propose("Cargo.lock",
          "checksum = \"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb\"\n");
  propose("go.sum", "github.com/x/secret v1.0.2 h1:kJ8fQz3LmP0xWv7RtY2nBc5HdG9sAe1U4iOo6TjK=\n");
  propose("c.go",
          "accessToken := sha256Of2Base64Keys3Encoded4\nsecret = newKey1.FromX509Pem2Der\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, HexadecimalKeysAreFoundBehindATellingName) {
  const std::string digits = "9f86d081884c7d659a2feaa0c55ad015";
  const std::string more = "9f86d081";
  propose("a.py", "api_key = \"" + digits + "\"\nSECRET_KEY: str = '" + digits + more + "'\n");
  propose("b.rb", "secret_key_base = \"" + digits + digits + "\"\n");
  propose("c.env", "AUTH_TOKEN=" + digits + "\n");
  EXPECT_THAT(
      findings(),
      ElementsAre("secrets.assigned-hex-key a.py:1:12", "secrets.assigned-hex-key a.py:2:20",
                  "secrets.assigned-hex-key b.rb:1:20", "secrets.unquoted-hex-key c.env:1:12"));
}

TEST_F(Secrets, PasswordsWithSignsAreFound) {
  propose("a.py",
          "password = \"Tr0ub4dor&3xQz!\"\nconfig[\"SECRET_KEY\"] = 'q8!Zt2Lm$X0vB7cR#4nW'\n");
  propose("b.ts", "const dbPassword: string = `k7#mQ2!vXe9z`;\n");
  propose("c.env", "DB_PASSWORD=k7#mQ2!vXe9z\n");
  EXPECT_THAT(
      findings(),
      ElementsAre("secrets.assigned-password a.py:1:13", "secrets.assigned-password a.py:2:25",
                  "secrets.assigned-password b.ts:1:29", "secrets.unquoted-password c.env:1:13"));
}

TEST_F(Secrets, HashesVersionsAndTemplatesAreNoKeysOrPasswords) {
  const std::string hex = "5f2d7a9c0b1e4f83a6c7d9e0f1b2a3c4";
  propose("a.py", "password_hash = '" + hex + "'\nsecret_commit = '" + hex + "01234567'\n" +
                      "secret_sha256 = '" + hex + hex + "'\npassword_rev = '" + hex + "'\n" +
                      "credential_etag = '" + hex + "'\napi_key = '" + std::string(32, '0') +
                      "'\n" + "api_key_id = '123e4567-e89b-12d3-a456-426614174000'\n" +
                      "index = '" + hex + "'\n");
  propose("b.js",
          "password: \"$2b$12$KIXQ8m9X1zv3JcYxJQ0Y1eWq1\",\n\"secret-lib\": \"^1.2.3-beta.10\",\n"
          "passwordSelector = \"#pass-1-field\";\npassword: \"Password123!\",\n"
          "password_url = \"https://x.y/z?a=1&b=2\";\npassword = `${user}1#abcdef`;\n"
          "passwordMail = \"admin1@corp.internal\";\npassword = \"%(password1)s\";\n");
  propose("c.yaml", "image_secret: registry/app@1.2.3-alpine3\npassword_checksum: " + hex +
                        "\npassword: $DB_PASSWORD_1\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, ALockFileIsNoPlaceForSecrets) {
  const std::string hex = "5f2d7a9c0b1e4f83a6c7d9e0f1b2a3c4";
  propose("Cargo.lock", "api_key = \"" + hex + "\"\n");
  propose("home/front-lock.yaml",
          "api_key: \"aB3dE5fG7hI9jK1lM3nO5pQ7\"\npassword: k7#mQ2!vXe9z\n");
  EXPECT_THAT(findings(), ElementsAre("secrets.assigned-secret Cargo.lock:1:12",
                                      "secrets.assigned-secret home/front-lock.yaml:1:11",
                                      "secrets.unquoted-password home/front-lock.yaml:2:11"));
}

TEST_F(Secrets, HashedPasswordsOfFixturesAreNoPasswords) {
  propose("users.json",
          "\"password\": \"pbkdf2_sha256$260000$Zk3bT9qLm2Xw$8yV5rQ1nC7sJ4hG6fD0aK2pL9oI3uY7tR5e="
          "\",\n\"password\": \"sha1$a1976$a36cc8cbf81742a8fb52e221aaeab48ed7f58ab4\"\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, HashesUnderPathsAreNoKeys) {
  const std::string hex = "5f2d7a9c0b1e4f83a6c7d9e0f1b2a3c4";
  propose("deployment.yaml", "  checksum/secret: \"" + hex + hex + "\"\n");
  propose("deno.lock", "\"https://deno.land/x/lib/secret.ts\": \"" + hex + hex + "\"\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, PasswordsAreFoundWithAnAtSignANumberOrAWordOfHashes) {
  propose("a.py",
          "password = \"kX9mQ2vT@7zLp4Rw\"\npassword = \"kX9#mQ2.5vT7zLp\"\n"
          "password = \"k7#mQ2!hashXe9z\"\n");
  EXPECT_THAT(findings(), ElementsAre("secrets.assigned-password a.py:1:13",
                                      "secrets.assigned-password a.py:2:13",
                                      "secrets.assigned-password a.py:3:13"));
}

TEST_F(Secrets, IdsAreNoKeys) {
  const std::string hex = "5f2d7a9c0b1e4f83a6c7d9e0f1b2a3c4";
  propose("a.ts", "accessKeyId: \"" + hex + "\",\nsecretId = \"" + hex +
                      "01234567\";\nsecretVersionId = \"" + hex + "\";\n");
  propose("a.yaml", "secret_scan: org/action@" + hex +
                        "89abcdef\nsecret_lint: org/action@v2\nsecretId: " + hex + "\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, NamesWithVariablesAreNoPasswords) {
  propose("a.sh", "SECRET_NAME=\"db-$region-v1\"\nsecret_name=db-$region-v1x\n");
  propose("a.kt",
          "val secretName = \"db-$region-v1\"\nval password = \"$dbName-$id-2#x\"\n"
          "val passwordRoute = \"user/reset2#top!\"\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, PlaceholdersAreNoPasswords) {
  propose(".env.example",
          "DB_PASSWORD=change_me_123!\nA_PASSWORD=change-me-123!\n"
          "SECRET_KEY=replace-with-32-chars!\nB_PASSWORD=insert-1-here!\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, ExamplesAreIgnored) {
  propose("a", std::string("AKIA") + "IOSFODNN7EXAMPLE\npostgres://user:password@localhost/db\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, CommentsOfTheChangeCannotSuppressFindings) {
  propose("a", "k=" + github_token() + " # galley:allow secrets -- a test\n");
  propose("b", "k=" + github_token() + " # gitleaks:allow\n");
  EXPECT_THAT(findings(), SizeIs(2));
}

TEST_F(Secrets, OrdinaryTextHasNoFindings) {
  propose("a.json",
          "{\"integrity\": \"sha512-4xQ9vZ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3==\"}\n");
  propose("b.c", "int key_count = 3; /* secret sauce */\nconst char* token = next_token();\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Secrets, ARuleFileInGitleaksFormatIsUsed) {
  base("rules.toml", R"(
title = "ours"
[extend]
useDefault = false
[[rules]]
id = "acme"
description = "an ACME key"
regex = '''acme-(key)-([0-9a-f]{8})'''
secretGroup = 2
keywords = ["ACME-"]
entropy = 2.0
[rules.allowlist]
regexes = ['''^0{8}$''', '''dead''']
[[rules]]
id = "key-file"
path = '''\.pem$'''
[[allowlists]]
paths = ['''^vendor/''']
[[allowlists]]
targetRules = ["key-file", "other"]
regexes = ['''1a2b''']
[[allowlists]]
targetRules = ["acme"]
regexes = ['''5e6f''']
)");
  use("secrets", "rules_file = \"rules.toml\"\n");
  propose("a",
          "acme-key-1a2b3c4d\nacme-key-11111111\nacme-key-dead1234\nACME-key-1a2b3c4d\n"
          "acme-key-5e6f7a8b\n");
  propose("vendor/a", "acme-key-1a2b3c4d\n");
  propose("x.pem", "anything\nand more\n");
  propose("y.pem", "");
  propose("z.pem", std::string("\0\1", 2));
  EXPECT_THAT(findings(), ElementsAre("secrets.acme a:1:10", "secrets.key-file x.pem:0:0",
                                      "secrets.key-file y.pem:0:0", "secrets.key-file z.pem:0:0"));
}

TEST_F(Secrets, AProposalCannotWeakenTheRulesThatJudgeIt) {
  base("rules.toml", "[[rules]]\nid = \"a\"\nregex = 'forbidden'\n");
  use("secrets", "rules_file = \"rules.toml\"\n");
  propose("rules.toml", "[[rules]]\nid = \"a\"\nregex = 'nothing'\n");
  propose("x", "forbidden\n");
  EXPECT_THAT(findings(), ElementsAre("secrets.a x:1:1"));
}

TEST(SecretRules, BadRuleFilesNameTheLine) {
  const auto message = [](std::string_view text) {
    const auto rules = SecretRules::parse(text, "r.toml");
    return rules ? std::string("accepted") : rules.error().message;
  };
  EXPECT_THAT(message("[[rules]]\nid = \"a\"\nregex = 'a('\n"), StartsWith("r.toml:1: a pattern"));
  EXPECT_THAT(message("[[rules]]\nregex = 'a'\n"), HasSubstr("needs an `id`"));
  EXPECT_THAT(message("[[rules]]\nid = 'a'\n"), HasSubstr("needs a `regex` or a `path`"));
  EXPECT_THAT(message("[[rules]]\nid='a'\nregex='b'\nsecretGroup=3\n"), HasSubstr("no group 3"));
  EXPECT_THAT(message("title = 1\n"), HasSubstr("has no [[rules]]"));
}

// Limit: kMaxPatternMemory of engine/validators/secret_rules.h
TEST(SecretRules, APatternThatNeedsTooMuchMemoryIsRefused) {
  const auto is_taken = [](std::string_view pattern) {
    return SecretRules::parse("[[rules]]\nid = 'a'\nregex = '" + std::string(pattern) + "'\n",
                              "r.toml")
        .has_value();
  };
  EXPECT_TRUE(is_taken(R"([\w-]{100})"));
  EXPECT_FALSE(is_taken(R"((([\x00-\x{FF}]{10}[\w-]{90}){10}){100})"));
}

TEST(SecretRules, BuiltInSetCompiles) {
  const auto rules = SecretRules::built_in(PatternCheck::kNow);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_GE(rules->size(), 15U);
}

TEST(SecretRules, ABrokenPatternIsAnErrorAtItsFirstUse) {
  const auto rules = SecretRules::parse(
      "[[rules]]\nid = 'a'\nregex = 'a('\nkeywords = ['word']\n"
      "[[rules]]\nid = 'b'\nregex = 'b'\nsecretGroup = 2\nkeywords = ['other']\n",
      "r.toml", PatternCheck::kAtUse);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_TRUE(rules->find("x", "nothing that a rule looks at"));
  const auto broken = rules->find("x", "a word");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("rule `a` does not compile"));
  const auto lacking = rules->find("x", "the other");
  ASSERT_FALSE(lacking);
  EXPECT_THAT(lacking.error().message, HasSubstr("rule `b`"));
}

TEST_F(Secrets, BadRuleFileIsRefusedWithAndWithoutACache) {
  base("rules.toml", "[[rules]]\nid = \"a\"\nregex = 'a('\n");
  const auto config =
      parse_config("[[validator]]\nbuiltin = \"secrets\"\nrules_file = \"rules.toml\"\n", "g.toml");
  ASSERT_TRUE(config);
  MemoryValidatorCache cache;
  for (ValidatorCache* used : std::initializer_list<ValidatorCache*>{nullptr, &cache, &cache}) {
    const auto made = make_validators(*config, workspace_.directory(), nullptr, used);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("does not compile"));
  }
}

TEST_F(Secrets, AValidRuleFileFromTheCacheGivesTheSameFindings) {
  MemoryValidatorCache cache;
  cache_ = &cache;
  base("rules.toml", "[[rules]]\nid = \"a\"\nregex = 'x(\\d)'\nsecretGroup = 1\n");
  for (const char* text : {"x1\n", "\nx2\n", "\n\nx3\n"}) {
    use("secrets", "rules_file = \"rules.toml\"\n");
    propose("f", text);
    const auto line = std::to_string(std::string_view(text).size() - 2);
    EXPECT_THAT(findings(), ElementsAre("secrets.a f:" + line + ":2"));
  }
  cache_ = nullptr;
}

TEST(SecretRules, EntropyIsInBitsPerByte) {
  EXPECT_EQ(entropy_of(""), 0.0);
  EXPECT_EQ(entropy_of("aaaa"), 0.0);
  EXPECT_EQ(entropy_of("abcd"), 2.0);
}

}  // namespace
}  // namespace galley
