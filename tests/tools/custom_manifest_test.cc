#include "tools/custom_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/schema.h"
#include "tools/source_file.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The manifest of Nachos' document, with the fields that it lacks here.
json nachos() {
  return json::parse(R"({
    "name": "nachos-tool-browser", "version": "1.0.0", "type": "tool",
    "capabilities": {"network": {"egress": ["*"]}, "resources": {"memory": "1GB", "cpus": 1.0}},
    "provides": {"tool": "browser", "securityTier": 1},
    "description": "Opens a page. And more.", "executable": "bin/browser"})");
}

Result<CustomManifest> parsed(const json& manifest) {
  return CustomManifest::parse(manifest.dump(), "x/manifest.json");
}

/// "reason: message" of a manifest that is refused.
std::string manifest_refusal(const json& manifest) {
  const auto read = parsed(manifest);
  return read ? "taken" : read.error().reason + ": " + read.error().message;
}

/// A manifest with one value replaced, by JSON Pointer.
json with(const std::string& pointer, json value) {
  json manifest = nachos();
  manifest[json::json_pointer(pointer)] = std::move(value);
  return manifest;
}

TEST(CustomManifests, AManifestOfNachosIsRead) {
  const auto manifest = parsed(nachos());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->package, "nachos-tool-browser");
  EXPECT_EQ(manifest->info.name, "browser");
  EXPECT_EQ(manifest->info.version, "1.0.0");
  EXPECT_EQ(manifest->info.title, "Opens a page");
  EXPECT_EQ(manifest->info.security_tier, ToolInfo::Tier::kStandard);
  EXPECT_EQ(manifest->executable, "bin/browser");
  EXPECT_TRUE(manifest->uses_network);
  EXPECT_FALSE(manifest->writes);
  EXPECT_EQ(manifest->memory_bytes, uint64_t{1} << 30U);
  EXPECT_THAT(manifest->info.capabilities, ElementsAre("fs:read", "exec", "net:host"));
}

TEST(CustomManifests, TheManifestInTheDocumentationIsAccepted) {
  json manifest = nachos();
  manifest.erase("description");
  manifest.erase("executable");
  const auto read = parsed(manifest);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->executable, "");
  EXPECT_EQ(read->info.description, "The tool of nachos-tool-browser, which does not describe it.");
  EXPECT_EQ(json::parse(read->text), manifest);
}

TEST(CustomManifests, ContextAwarenessAndRollbackToolAreRead) {
  const auto plain = parsed(nachos());
  EXPECT_FALSE(plain->info.is_context_aware || plain->info.is_reversible);
  json manifest = nachos();
  manifest.update(
      {{"context_aware", true}, {"reversible", true}, {"rollback_tool", "browser.back"}});
  const auto read = parsed(manifest);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->info.is_context_aware && read->info.is_reversible);
  EXPECT_EQ(read->info.rollback_tool, "browser.back");
  EXPECT_THAT(manifest_refusal(with("/reversible", "yes")), HasSubstr("manifest.value"));
}

TEST(CustomManifests, TheCategorySetsTheTimeoutUnlessTheManifestDoes) {
  using std::chrono::milliseconds;
  EXPECT_EQ(parsed(nachos())->info.category, ToolInfo::Category::kApi);
  EXPECT_EQ(parsed(nachos())->info.timeout, milliseconds(10'000));
  const auto quiet = parsed(with("/capabilities/network/egress", json::array()));
  EXPECT_EQ(quiet->info.category, ToolInfo::Category::kSystem);
  EXPECT_EQ(quiet->info.timeout, milliseconds(30'000));
  EXPECT_FALSE(quiet->uses_network);
  EXPECT_EQ(parsed(with("/timeout_ms", 1500))->info.timeout, milliseconds(1500));
  EXPECT_EQ(parsed(with("/category", "mcp"))->info.category, ToolInfo::Category::kMcp);
}

TEST(CustomManifests, ResourcesBecomeLimitsOfTheSandbox) {
  const auto half = parsed(with("/capabilities/resources/cpus", 0.5));
  EXPECT_EQ(half->processor_ms, 5000U) << "half a processor for the ten seconds that it has";
  EXPECT_EQ(parsed(with("/capabilities/resources/memory", "512 MiB"))->memory_bytes,
            uint64_t{512} << 20U);
  EXPECT_EQ(parsed(with("/capabilities/resources/memory", 2097152))->memory_bytes, 2097152U);
  for (const json& bad : {json("much"), json("1TB"), json(-1), json("1"), json::array()}) {
    EXPECT_THAT(manifest_refusal(with("/capabilities/resources/memory", bad)),
                HasSubstr("manifest.value"))
        << bad;
  }
  for (const json& bad : {json(0), json(-1.5), json("1"), json(1e9)}) {
    EXPECT_THAT(manifest_refusal(with("/capabilities/resources/cpus", bad)),
                HasSubstr("manifest.value"))
        << bad;
  }
}

TEST(CustomManifests, AListOfHostsNeedsTheNetworksCapability) {
  const auto read =
      parsed(with("/capabilities/network/egress", {"api.example.org", "*.b.org:8443"}));
  EXPECT_TRUE(read->uses_network);
  EXPECT_THAT(read->hosts, ElementsAre("api.example.org", "*.b.org:8443"));
  EXPECT_THAT(read->info.capabilities, Contains("net:host"));
  EXPECT_THAT(parsed(with("/capabilities/network/egress", {"*", "a.org"}))->hosts, IsEmpty());
  EXPECT_THAT(manifest_refusal(with("/capabilities/network/egress", {"https://a.org/"})),
              HasSubstr("manifest.value"));
}

TEST(CustomManifests, UnknownKeysAreRefusedWithTheNearestKey) {
  EXPECT_THAT(manifest_refusal(with("/excutable", "x")),
              HasSubstr("'excutable'; did you mean 'executable'?"));
  EXPECT_THAT(manifest_refusal(with("/capabilities/networks", json::object())),
              HasSubstr("'capabilities.networks'; did you mean 'network'?"));
  EXPECT_THAT(manifest_refusal(with("/capabilities/resources/cpu", 1)),
              HasSubstr("did you mean 'cpus'?"));
  EXPECT_THAT(manifest_refusal(with("/provides/security_tier", 1)), HasSubstr("'securityTier'?"));
  EXPECT_THAT(manifest_refusal(with("/capabilities/network/egres", json::array())),
              HasSubstr("manifest.unknown_key"));
}

TEST(CustomManifests, MissingKeysAndWrongValuesAreNamed) {
  for (const char* key : {"name", "version", "type", "provides"}) {
    json manifest = nachos();
    manifest.erase(key);
    EXPECT_THAT(manifest_refusal(manifest),
                HasSubstr("manifest.missing: x/manifest.json: the key '" + std::string(key) + "'"));
  }
  EXPECT_THAT(manifest_refusal(with("/description", "")), HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/type", "plugin")), HasSubstr("'type' has to be \"tool\""));
  EXPECT_THAT(manifest_refusal(with("/version", "1.0")), HasSubstr("a semantic version"));
  EXPECT_THAT(manifest_refusal(with("/version", "01.0.0")), HasSubstr("a semantic version"));
  EXPECT_THAT(manifest_refusal(with("/provides/securityTier", 5)), HasSubstr("from 0 to 4"));
  EXPECT_THAT(manifest_refusal(with("/executable", "../x")),
              HasSubstr("below the manifest's folder"));
  EXPECT_THAT(manifest_refusal(with("/executable", "/bin/sh")),
              HasSubstr("below the manifest's folder"));
  EXPECT_THAT(manifest_refusal(with("/input_schema", json::array())), HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/output_schema", {{"type", "string"}})),
              HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/timeout_ms", 0)), HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/secrets", {"A B"})), HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/category", "direct")), HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(json::array()), HasSubstr("manifest.malformed"));
}

// Limit: kMaxManifestBytes of tools/custom_manifest.h
TEST(CustomManifests, MalformedAndOversizedTextIsRefused) {
  EXPECT_EQ(CustomManifest::parse("{", "x").error().reason, "manifest.malformed");
  EXPECT_EQ(CustomManifest::parse(R"({"name": "a", "name": "b"})", "x").error().reason,
            "manifest.malformed");
  EXPECT_EQ(CustomManifest::parse(std::string(1000, '['), "x").error().reason,
            "manifest.malformed");
  EXPECT_EQ(CustomManifest::parse(std::string(CustomManifest::kMaxManifestBytes + 1, ' '), "x")
                .error()
                .reason,
            "limit.json_bytes");
}

TEST(CustomManifests, WritablePathsComeFromCapabilities) {
  const auto docs = parsed(with("/required_capabilities", {"fs:write:docs/**", "custom:x"}));
  ASSERT_TRUE(docs) << docs.error().message;
  EXPECT_TRUE(docs->writes);
  EXPECT_THAT(docs->writable, ElementsAre("docs/**"));
  EXPECT_FALSE(docs->info.annotations.read_only);
  const auto all = parsed(with("/required_capabilities", {"fs:write:docs/**", "fs:write"}));
  EXPECT_TRUE(all->writable.empty()) << "the wider of two";
  EXPECT_THAT(manifest_refusal(with("/required_capabilities", {"!fs:read"})),
              HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/required_capabilities", {"everything"})),
              HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/required_capabilities", {"fs:write:[a"})),
              HasSubstr("manifest.value"));
  EXPECT_THAT(manifest_refusal(with("/required_capabilities", {"fs:writ"})),
              HasSubstr("did you mean 'fs:write'?"));
  EXPECT_THAT(manifest_refusal(with("/required_capabilities", {"net:hosts"})),
              HasSubstr("did you mean 'net:host'?"));
}

TEST(CustomManifests, TheSchemaAndTheParserAcceptTheSameKeys) {
  const auto schema = JsonSchema::compile(source_file("docs/json/tool-manifest.schema.json"));
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(describe(schema->check(nachos())), "");
  const json document = json::parse(source_file("docs/json/tool-manifest.schema.json"));
  json manifest = nachos();
  for (const auto& [key, value] : document["properties"].items()) {
    if (!manifest.contains(key)) manifest[key] = 17;
    EXPECT_EQ(manifest_refusal(manifest).find("manifest.unknown_key"), std::string::npos) << key;
  }
  EXPECT_FALSE(schema->check(with("/excutable", "x")).empty());
  EXPECT_EQ(describe(schema->check(with("/capabilities/network/egress", {"a.org"}))), "");
  EXPECT_FALSE(schema->check(with("/capabilities/network/egress", {17})).empty());
}

TEST(CustomManifests, ManifestsOfTheAiosPackAreValid) {
  const auto schema = JsonSchema::compile(source_file("docs/json/tool-manifest.schema.json"));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(GALLEY_SOURCE_DIR) +
                                                               "/examples/aios-pack")) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(".tool.json")) continue;
    const std::string text = source_file("examples/aios-pack/" + file);
    const auto manifest = CustomManifest::parse(text, file);
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->info.name + ".tool.json", file);
    EXPECT_EQ(describe(schema->check(json::parse(text))), "") << file;
    EXPECT_EQ(manifest->info.risk_level, ToolInfo::Risk::kLow) << "as the document has it";
    EXPECT_FALSE(manifest->writes);
    for (const std::string& schema_text :
         {manifest->info.input_schema, manifest->info.output_schema}) {
      EXPECT_TRUE(JsonSchema::compile(schema_text)) << file;
    }
    names.insert(manifest->info.name);
  }
  EXPECT_EQ(names.size(), 24U);
}

}  // namespace
}  // namespace galley
