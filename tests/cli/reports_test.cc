#include "cli/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/policy/finding_rules.h"

namespace galley {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// A change of one file, `é = "x" ;`, and findings about it.
class Reports : public ::testing::Test {
 protected:
  Reports() {
    auto store = make_memory_store();
    Change change;
    change.path = *RelPath::parse("src/a b.py");
    change.after = {FileKind::kRegular, 0644, *store->put("ok\né = \"x\" ;\n"), 0};
    judged_.emplace(Preview{Proposal::from({change}, store),
                            Verdict{Refusal{"gate.validator_failed", "no"}, {}, {}, {}}});
    Verdict::Run run;
    run.name = "lint";
    run.elapsed_ms = 1234;
    judged_->verdict.runs = {run};
  }

  Finding& add(std::string message) {
    Finding& finding = judged_->verdict.findings.emplace_back();
    finding.rule = "lint.E1";
    finding.path = "src/a b.py";
    finding.line = 2;
    finding.column = 10;
    finding.end_line = 2;
    finding.end_column = 11;
    finding.message = std::move(message);
    return finding;
  }
  [[nodiscard]] const Preview& judged() const { return *judged_; }

  std::optional<Preview> judged_;
};

TEST_F(Reports, SarifCountsCharactersAndHasTheFix) {
  add("extra semicolon").replacement = "";
  add("known").suppression = kBaselineSuppression;
  add("agreed").suppression = "a reason";
  const std::string text = sarif_report(judged());
  if (const char* file = std::getenv("GALLEY_WRITE_SARIF")) std::ofstream(file) << text;
  const auto results = nlohmann::json::parse(text)["runs"][0]["results"];
  ASSERT_THAT(results, SizeIs(3));
  const auto& physical = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(physical["artifactLocation"]["uri"], "src/a%20b.py");
  EXPECT_EQ(physical["region"], nlohmann::json::parse(R"({"startLine":2,"startColumn":9,
                                                          "endLine":2,"endColumn":10})"));
  const auto& change = results[0]["fixes"][0]["artifactChanges"][0];
  EXPECT_EQ(change["replacements"][0]["deletedRegion"], physical["region"]);
  EXPECT_EQ(change["replacements"][0]["insertedContent"]["text"], "");
  EXPECT_EQ(results[1]["suppressions"][0]["kind"], "external");
  EXPECT_EQ(results[2]["suppressions"][0]["justification"], "a reason");
}

TEST_F(Reports, SarifHasNoMoreResultsThanGithubAcceptsAndBeginsWithErrors) {
  for (int i = 0; i < 25'000; ++i) add("a warning").severity = Severity::kWarning;
  add("an error");
  add("agreed").suppression = "a reason";
  const auto run = nlohmann::json::parse(sarif_report(judged()))["runs"][0];
  ASSERT_THAT(run["results"], SizeIs(25'000));
  EXPECT_EQ(run["results"][0]["level"], "error");
  EXPECT_FALSE(run["results"].back().contains("suppressions"));
  const auto& invocation = run["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], true);
  const std::string told = invocation["toolExecutionNotifications"][0]["message"]["text"];
  EXPECT_THAT(told, HasSubstr("2 of 25002 results are left out"));
}

TEST_F(Reports, RdjsonCountsBytesAndHasTheSuggestion) {
  add("extra semicolon").replacement = "";
  const auto one = nlohmann::json::parse(rdjson_report(judged()))["diagnostics"][0];
  EXPECT_EQ(one["location"]["range"]["start"]["column"], 10);
  EXPECT_EQ(one["suggestions"][0]["range"], one["location"]["range"]);
  EXPECT_EQ(one["suggestions"][0]["text"], "");
}

TEST_F(Reports, TextsCannotBreakTheLineOfAGithubCommand) {
  Finding& finding = add("100%\r\n::stop-commands::x");
  finding.path = "a:b,c\n::error::x";
  finding.rule = "r\n::x::";
  EXPECT_EQ(github_report(judged()),
            "::error title=r\\n%3A%3Ax%3A%3A,file=a%3Ab%2Cc%0A%3A%3Aerror%3A%3Ax,line=2,endLine=2,"
            "col=10,endColumn=11::100%25^M\\n::stop-commands::x\n"
            "::error title=gate.validator_failed::no\n");
}

TEST_F(Reports, SummaryEscapesMarkupOfFindings) {
  add("a | b <script> [x](http://y) @user #1 `c`\n| row |");
  const std::string text = github_summary_report(judged());
  EXPECT_THAT(text, HasSubstr("&#60;script&#62;"));
  for (const char* bad : {"<", "@", " #1", "](", "http:", "`"})
    EXPECT_THAT(text, Not(HasSubstr(bad)));
}

TEST_F(Reports, JunitHasACaseForEachValidatorAndFinding) {
  add("a < \"b\" & ]]>\x01");
  Verdict::Run lost;
  lost.name = "lost";
  lost.outcome = Verdict::Run::Outcome::kUnavailable;
  judged_->verdict.runs.push_back(lost);
  Verdict::Run failing;
  failing.name = "failing";
  failing.outcome = Verdict::Run::Outcome::kFindings;
  judged_->verdict.runs.push_back(failing);
  const std::string text = junit_report(judged());
  EXPECT_THAT(text, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("time=\"1.234\""));
  EXPECT_THAT(text, Not(HasSubstr("name=\"failing\"")));
  EXPECT_THAT(text, HasSubstr("a &lt; &quot;b&quot; &amp; ]]&gt;\\x01"));
}

TEST_F(Reports, ARefusalWithoutAnErrorIsAFinding) {
  add("asked").severity = Severity::kWarning;
  judged_->verdict.decision = Refusal{"gate.approval_missing", "nobody was asked"};
  EXPECT_THAT(junit_report(judged()), HasSubstr("failures=\"1\" errors=\"0\""));
  for (const std::string& text : {junit_report(judged()), sarif_report(judged()),
                                  gitlab_report(judged()), rdjson_report(judged())}) {
    EXPECT_THAT(text, HasSubstr("gate.approval_missing"));
    EXPECT_THAT(text, HasSubstr("nobody was asked"));
  }
  EXPECT_THAT(baseline_report(judged()), Not(HasSubstr("gate.")));
}

TEST_F(Reports, BaselineHasNewAndKnownFindingsExceptThoseOfThePolicy) {
  add("new").fingerprint = "of a line";
  add("known").suppression = kBaselineSuppression;
  add("agreed").suppression = "a reason";
  add("denied").rule = "policy.path";
  const std::string text = baseline_report(judged());
  const auto baseline = Baseline::parse(text, "baseline");
  ASSERT_TRUE(baseline);
  EXPECT_EQ(baseline->size(), 2U);
  EXPECT_THAT(text, HasSubstr("of a line"));
}

TEST(ReportRequests, AreCheckedBeforeAnythingRuns) {
  EXPECT_TRUE(report_requests({"sarif=a=b", "github", "json=x"}));
  EXPECT_EQ(report_requests({"sarif=a=b"})->front().file, "a=b");
  EXPECT_EQ(report_requests({"sarf"}).error().reason, "usage.report");
  EXPECT_EQ(report_requests({"sarif", "gitlab=-"}).error().reason, "usage.report");
}

}  // namespace
}  // namespace galley
