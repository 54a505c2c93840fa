#include "validator_fixture.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using SyntaxValidators = ValidatorFixture;

TEST_F(SyntaxValidators, JsonErrorHasLineAndColumn) {
  use("json");
  propose("a.json", "{\n  \"a\": 1,\n}\n");
  propose("b.txt", "{");
  EXPECT_THAT(findings(), ElementsAre("json.syntax a.json:3:1"));
}

TEST_F(SyntaxValidators, ValidJsonPasses) {
  use("json");
  propose("a.json", "{\"a\": [1, 2.5, null, \"\\u00e9\"]}");
  propose("deep/b.json", "\xEF\xBB\xBF[]");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(SyntaxValidators, EmptyBinaryAndTruncatedJsonAreErrors) {
  use("json");
  propose("empty.json", "");
  propose("nul.json", std::string("{\0}", 3));
  propose("open.json", "[1, 2");
  propose("bytes.json", "\"\xff\"");
  EXPECT_EQ(run().findings.size(), 4U);
}

TEST_F(SyntaxValidators, JsonNestedHalfAMillionDeepDoesNotCrash) {
  use("json");
  propose("deep.json", std::string(500'000, '['));
  EXPECT_THAT(findings(), ElementsAre("json.depth deep.json:0:0"));
}

TEST_F(SyntaxValidators, JsonDuplicateKeyIsAWarning) {
  use("json");
  propose("a.json", "{\"k\": 1, \"k\": 2}");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].rule, "json.duplicate_key");
  EXPECT_EQ(report.findings[0].severity, Severity::kWarning);
}

TEST_F(SyntaxValidators, JsonCommentsOnlyWhereAllowed) {
  propose("tsconfig.json", "{\n// note\n\"a\": 1}");
  use("json");
  EXPECT_EQ(run().findings.size(), 1U);
  use("json", "allow_comments = true\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(SyntaxValidators, OnlyChangedFilesAreChecked) {
  base("old.json", "{");
  use("json");
  propose("new.json", "{}");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(SyntaxValidators, AModeOrANameDoesNotMakeAnOldFaultNew) {
  configure(
      "[[validator]]\nbuiltin = \"json\"\n[[validator]]\nbuiltin = \"yaml\"\n"
      "[[validator]]\nbuiltin = \"toml\"\n[[validator]]\nbuiltin = \"xml\"\n");
  for (const char* name : {"x.json", "x.yml", "x.toml", "x.xml"}) {
    base(name, "{[<\n");
    ASSERT_TRUE(overlay_.set_mode(rel(name), 0755));
  }
  base("old.json", "{[<\n");
  base("old.txt", "{[<\n");
  ASSERT_TRUE(overlay_.move(rel("old.json"), rel("new.json")));
  EXPECT_THAT(findings(), IsEmpty());
  ASSERT_TRUE(overlay_.move(rel("old.txt"), rel("text.json")));
  EXPECT_THAT(findings(), ElementsAre("json.syntax text.json:1:2")) << "it was no document";
  use("json", "paths = [\"*.json\", \"!old.json\"]\n");
  EXPECT_THAT(findings(), ElementsAre("json.syntax new.json:1:2", "json.syntax text.json:1:2"))
      << "the former name was not judged";
}

TEST_F(SyntaxValidators, PathsReplaceTheDefaultSelection) {
  use("json", "paths = [\"*.conf\", \"!skip.conf\"]\n");
  propose("a.json", "{");
  propose("a.conf", "{");
  propose("skip.conf", "{");
  EXPECT_THAT(findings(), ElementsAre(StartsWith("json.syntax a.conf")));
}

TEST_F(SyntaxValidators, SeverityAndAgentsComeFromTheConfiguration) {
  use("json", "severity = \"warning\"\nagents = [\"bot\"]\n");
  propose("a.json", "{");
  EXPECT_TRUE(try_run("ann")->findings.empty());
  ASSERT_EQ(try_run("bot")->findings.size(), 1U);
  EXPECT_EQ(try_run("bot")->findings[0].severity, Severity::kWarning);
}

TEST_F(SyntaxValidators, Toml) {
  use("toml");
  propose("a.toml", "a = 1\nb = = 2\n");
  propose("ok.toml", "[a]\nb = \"c\"\n");
  propose("deep.toml", "a = " + std::string(100'000, '['));
  propose("header.toml", "\n\n[[[a]]]\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 3U);
  EXPECT_EQ(report.findings[0].line, 2U);
  EXPECT_EQ(report.findings[2].line, 3U);
}

TEST_F(SyntaxValidators, Yaml) {
  use("yaml");
  propose("bad.yml", "a: 1\nb: [1, 2\nc: 3\n");
  propose("tab.yaml", "a:\n\t- b\n");
  propose("ok.yaml", "a: 1\n---\nb: [*x, &x 1]\n");
  propose("good.yml", "- &a x\n- *a\n---\nsecond: {doc: true}\n");
  propose("bomb.yml", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n");
  std::set<std::string> files;
  for (const auto& finding : run().findings) files.insert(finding.path);
  EXPECT_THAT(files, ElementsAre("bad.yml", "ok.yaml", "tab.yaml")) << "ok.yaml: unknown anchor";
}

TEST_F(SyntaxValidators, StrayClosingBracketInYamlEndsWithAFinding) {
  use("yaml");
  propose("a.yml", "a: 1\n}\n");
  propose("b.yml", "[1]]\n");
  propose("c.yml", "- a\n---\n]\n");
  EXPECT_EQ(run().findings.size(), 3U);
}

TEST_F(SyntaxValidators, DeepYamlDoesNotCrash) {
  use("yaml");
  propose("deep.yml", std::string(200'000, '['));
  EXPECT_EQ(run().findings.size(), 1U);
}

TEST_F(SyntaxValidators, Xml) {
  use("xml");
  propose("bad.xml", "<a>\n  <b></c>\n</a>\n");
  propose("two.xml", "<a/><b/>");
  propose("ok.svg", "<?xml version=\"1.0\"?>\n<!-- c --><svg><g/></svg>\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].line, 2U);
  EXPECT_THAT(report.findings[1].message, HasSubstr("exactly one root"));
}

TEST_F(SyntaxValidators, XmlThatThePartsOfADocumentDoNotAllowIsFound) {
  use("xml");
  const std::vector<std::string> bad = {"<a>b & c</a>",           "<a/>garbage",   "junk<a/>",
                                        "<a x=\"1\" x=\"2\"/>",   "<a x=\"<b\"/>", "<a>&nope;</a>",
                                        "<a><!-- x -- y --></a>", "<a>&#xg;</a>"};
  for (size_t i = 0; i < bad.size(); ++i) propose("bad" + std::to_string(i) + ".xml", bad[i]);
  const std::vector<std::string> good = {
      "\xef\xbb\xbf<a>&amp;&#10;&#x2F;</a>\n",
      "<!DOCTYPE a [<!ENTITY own \"<b>\"><!-- ] > -->]><a>&own;</a>",
      "<a x='1' y=\"a>b\" ><![CDATA[a & b <c>]]></a>",
      "<?xml version=\"1.0\"?><!-- - -->\n<a><?p x & y?><b/>text</a>\n<!-- end -->\n",
      "<a\n  xml:x='1'\n  x='1'/>"};
  for (size_t i = 0; i < good.size(); ++i) propose("good" + std::to_string(i) + ".xml", good[i]);
  std::set<std::string> files;
  for (const auto& finding : run().findings) files.insert(finding.path);
  std::set<std::string> expected;
  for (size_t i = 0; i < bad.size(); ++i) expected.insert("bad" + std::to_string(i) + ".xml");
  EXPECT_EQ(files, expected);
}

TEST_F(SyntaxValidators, YamlThatDoesNotEndIsFound) {
  use("yaml");
  const std::vector<std::string> bad = {"- a\nb: c\n",    "[a]\nfoo: bar\n",
                                        "\"a\" \"b\"\n",  "a: \"unterminated\nb: c\n",
                                        "\xc3\xa9: 'x\n", "--- [a]\nfoo: bar\n"};
  for (size_t i = 0; i < bad.size(); ++i) propose("bad" + std::to_string(i) + ".yml", bad[i]);
  const std::vector<std::string> good = {"--- a\n--- b\n...\n---\nc: d\n",
                                         "a: 1\n# end\n",
                                         "- 'it''s'\n",
                                         "\xc3\xa9: \"a\\\"\"\n",
                                         "a: |\n  \"text\n---\nb: 1\n",
                                         "%YAML 1.2\n---\na: b\n...\n%YAML 1.2\n---\nc\n",
                                         "---\n---\na\n",
                                         "a: >\n  x\n  'y\n"};
  for (size_t i = 0; i < good.size(); ++i) propose("good" + std::to_string(i) + ".yml", good[i]);
  std::set<std::string> files;
  for (const auto& finding : run().findings) files.insert(finding.path);
  std::set<std::string> expected;
  for (size_t i = 0; i < bad.size(); ++i) expected.insert("bad" + std::to_string(i) + ".yml");
  EXPECT_EQ(files, expected);
}

TEST_F(SyntaxValidators, DeepXmlDoesNotCrash) {
  use("xml");
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "<a>";
  propose("deep.xml", text);
  EXPECT_EQ(run().findings.size(), 1U);
}

TEST_F(SyntaxValidators, EveryBuiltinNameMakesAValidator) {
  for (const auto& name : builtin_validator_names()) {
    use(name, name == "forbidden_text" ? "patterns = [\"x\"]\n" : "");
    EXPECT_EQ(validators_.size(), 1U) << name;
  }
}

}  // namespace
}  // namespace galley
