#include "tools/secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

TEST(SecretProviders, TheEnvironmentReturnsOnlyNamedSecrets) {
  ::setenv("GALLEY_TEST_A", "value-of-a", 1);
  ::setenv("GALLEY_TEST_B", "value-of-b", 1);
  const SecretProvider provider = secrets_from_environment({"GALLEY_TEST_A", "GALLEY_TEST_NONE"});
  EXPECT_EQ(provider("GALLEY_TEST_A"), "value-of-a");
  EXPECT_FALSE(provider("GALLEY_TEST_B"));
  EXPECT_FALSE(provider("GALLEY_TEST_NONE"));
}

TEST(SecretProviders, AFileMustBePrivate) {
  const TempDirectory tree;
  tree.write("secrets", "TOKEN=hunter2-and-more\n");
  const std::string path = tree.path() + "/secrets";
  for (const mode_t mode : {0644U, 0640U, 0604U, 0620U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto open = secrets_from_file(path);
    ASSERT_FALSE(open) << mode;
    EXPECT_EQ(open.error().reason, "secret.file_not_private");
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const auto provider = secrets_from_file(path);
  ASSERT_TRUE(provider) << provider.error().message;
  EXPECT_EQ((*provider)("TOKEN"), "hunter2-and-more");
  EXPECT_FALSE((*provider)("OTHER"));
  std::filesystem::create_symlink(path, tree.path() + "/link");
  EXPECT_EQ(secrets_from_file(tree.path() + "/link").error().reason, "secret.file_not_private");
  EXPECT_EQ(secrets_from_file(tree.path()).error().reason, "secret.file_not_private");
  EXPECT_EQ(secrets_from_file(tree.path() + "/none").error().reason, "secret.file_not_found");
}

TEST(SecretProviders, AFileHasANameAndAValueOnEachLine) {
  const auto secrets = parse_secrets("# mine\n\nA=1=2 \r\nB_2=\nC='q'\n");
  ASSERT_TRUE(secrets);
  EXPECT_EQ(*secrets,
            (std::map<std::string, std::string>{{"A", "1=2 "}, {"B_2", ""}, {"C", "'q'"}}));
  for (const char* bad : {"A", "A B=1", "1A=1", "=1", "A=1\nA=2", "export A=1"}) {
    const auto parsed = parse_secrets(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().reason, "secret.file_malformed");
    EXPECT_EQ(parsed.error().message.find("1A"), std::string::npos) << "no text of the file";
  }
}

// Limit: kMaxSecretFileBytes of tools/secrets.h
TEST(SecretProviders, AFileBeyondTheLimitIsRefused) {
  const TempDirectory tree;
  const std::string path = tree.path() + "/secrets";
  std::string text = "TOKEN=hunter2-and-more\n#";
  for (const size_t bytes : {kMaxSecretFileBytes, kMaxSecretFileBytes + 1}) {
    text.resize(bytes, 'x');
    tree.write("secrets", text);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(secrets_from_file(path).has_value(), bytes == kMaxSecretFileBytes) << bytes;
  }
}

TEST(SecretProviders, TheFirstProviderWithAValueIsUsed) {
  const auto answers = [](std::string key, std::string value) -> SecretProvider {
    return [key, value](const std::string& asked) {
      return asked == key ? std::optional<std::string>(value) : std::nullopt;
    };
  };
  const SecretProvider all =
      secrets_from_all({{}, answers("A", "first"), answers("A", "second"), answers("B", "b")});
  EXPECT_EQ(all("A"), "first");
  EXPECT_EQ(all("B"), "b");
  EXPECT_FALSE(all("C"));
}

TEST(SecretPlaceholders, AreFoundByTheirNames) {
  EXPECT_EQ(secrets_named_in("a $ENV.A-$ENV.B_2 $ENV. $ENV.9 $ENV.A"),
            (std::vector<std::string>{"A", "B_2"}));
  EXPECT_EQ(replace_placeholders("x$ENV.A.$ENV.Ab$ENV.",
                                 [](const std::string& name) { return "<" + name + ">"; }),
            "x<A>.<Ab>$ENV.");
}

TEST(SecretPlaceholders, AreReplacedInEveryStringOfADocument) {
  const SecretProvider provider = [](const std::string& key) {
    return key == "A" ? std::optional<std::string>("$ENV.B") : std::nullopt;
  };
  const json document = {{"a", {"x $ENV.A", 1}}, {"$ENV.A", {{"b", "$ENV.A$ENV.A"}}}};
  const auto with_values = with_secrets(document, provider);
  ASSERT_TRUE(with_values);
  EXPECT_EQ(with_values->dump(), R"({"$ENV.A":{"b":"$ENV.B$ENV.B"},"a":["x $ENV.B",1]})")
      << "a value is not looked through again, and names of members stay";
  EXPECT_EQ(with_secrets(json("$ENV.B"), provider).error().reason, "secret.unknown");
  EXPECT_TRUE(has_secret_placeholders(document));
  EXPECT_FALSE(has_secret_placeholders(json{{"$ENV.A", "$ENV"}}));
}

}  // namespace
}  // namespace galley
