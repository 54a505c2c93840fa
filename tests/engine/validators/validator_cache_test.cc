#include "engine/validators/validator_cache.h"

#include "doubles/memory_directory.h"
#include "validator_fixture.h"

namespace galley {
namespace {

std::vector<Finding> some_findings() {
  Finding finding;
  finding.rule = "a.b";
  finding.severity = Severity::kWarning;
  finding.path = "p/\xff";
  finding.line = 3;
  finding.column = 4;
  finding.message = "m";
  finding.remedy = "r";
  finding.end_line = 5;
  finding.end_column = 6;
  Finding with_replacement = finding;
  with_replacement.replacement = "";
  return {finding, with_replacement};
}

TEST(ValidatorCache, FindingsSurviveTheJsonText) {
  auto findings = some_findings();
  findings[0].path = findings[1].path = "p";
  EXPECT_EQ(findings_from_json(findings_to_json(findings)), findings);
}

TEST(ValidatorCache, DamagedTextIsNotAResult) {
  const std::string text = findings_to_json(some_findings());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(findings_from_json(text.substr(0, size)));
  }
  EXPECT_FALSE(findings_from_json("{\"format\":2,\"findings\":[]}"));
  EXPECT_FALSE(
      findings_from_json("{\"format\":3,\"findings\":[[\"a\",9,\"\",0,0,\"\",\"\",\"\",0,0]]}"));
}

// Limit: kMaxEntries of engine/validators/validator_cache.h
TEST(ValidatorCache, MemoryCacheDropsTheOldest) {
  MemoryValidatorCache cache;
  for (size_t i = 0; i <= MemoryValidatorCache::kMaxEntries; ++i) {
    cache.put(ContentId::of(std::to_string(i)), {});
  }
  EXPECT_FALSE(cache.get(ContentId::of("0")));
  EXPECT_TRUE(cache.get(ContentId::of("1")));
}

class CachedValidator : public ValidatorFixture {
 protected:
  CachedValidator() {
    cache_ = &memory_;
    use("json");
  }
  MemoryValidatorCache memory_;
};

TEST_F(CachedValidator, ASecondRunOnTheSameBytesIsCached) {
  propose("a.json", "{");
  EXPECT_FALSE(run().was_cached);
  const auto again = run();
  EXPECT_TRUE(again.was_cached);
  EXPECT_EQ(again.findings.size(), 1U);
  propose("b.txt", "not looked at");
  EXPECT_TRUE(run().was_cached);
}

TEST_F(CachedValidator, ChangedBytesNameOrConfigurationRunAgain) {
  propose("a.json", "{}");
  EXPECT_FALSE(run().was_cached);
  propose("a.json", "{ }");
  EXPECT_FALSE(run().was_cached);
  ASSERT_TRUE(overlay_.move(rel("a.json"), rel("b.json")));
  EXPECT_FALSE(run().was_cached);
  use("json", "severity = \"warning\"\n");
  EXPECT_FALSE(run().was_cached);
}

}  // namespace
}  // namespace galley
