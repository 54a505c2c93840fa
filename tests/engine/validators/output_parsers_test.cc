// Every recording of fixtures/validators: what a program said (`.out`) and what is read from it
// (`.findings`). scripts/record-outputs makes the recordings; GALLEY_WRITE_FINDINGS=1 writes what
// is read, for a person to compare with the recording.
#include "engine/validators/output_parsers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace galley {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> recordings() {
  std::vector<fs::path> out;
  for (const auto& one :
       fs::recursive_directory_iterator(GALLEY_SOURCE_DIR "/fixtures/validators")) {
    if (one.path().extension() == ".out") out.push_back(one.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

OutputReader reader_of(std::string_view parser, const std::string& more = "") {
  const auto config = parse_config(
      "[[validator]]\ncommand = [\"x\"]\nparser = \"" + std::string(parser) + "\"\n" + more,
      "galley.toml");
  EXPECT_TRUE(config) << config.error().message;
  auto reader = OutputReader::make(config->validators.front());
  EXPECT_TRUE(reader);
  return std::move(*reader);
}

/// Finds a file of `input` by the longest tail of what a program calls it, as a validator does.
SourceText files_of(const fs::path& input) {
  return [input](const std::string& shown) -> std::shared_ptr<const std::string> {
    for (std::string_view tail = shown;;) {
      const fs::path path = input / fs::path(tail).relative_path();
      if (!tail.empty() && fs::is_regular_file(path)) {
        return std::make_shared<const std::string>(text_of_file(path));
      }
      const size_t slash = tail.find('/');
      if (slash == tail.npos) return nullptr;
      tail.remove_prefix(slash + 1);
    }
  };
}

std::string shown(const Finding& one, const SourceText& files) {
  static constexpr std::string_view kSeverities[] = {"note", "warning", "error"};
  std::string text = one.path + ":" + std::to_string(one.line) + ":" + std::to_string(one.column);
  if (one.end_line != 0) {
    text += "-" + std::to_string(one.end_line) + ":" + std::to_string(one.end_column);
  }
  text += " " + std::string(kSeverities[static_cast<size_t>(one.severity)]) + " " + one.rule +
          "\n  " + one.message + "\n";
  const auto source = one.end_line == 0 ? nullptr : files(one.path);
  if (source == nullptr) return text;
  const SourceFile file(source);
  const auto begin = file.offset({one.line, one.column}, ColumnUnit::kBytes);
  const auto end = file.offset({one.end_line, one.end_column}, ColumnUnit::kBytes);
  EXPECT_TRUE(begin && end && *begin <= *end) << text;
  if (!begin || !end) return text;
  text += "  {" + source->substr(*begin, *end - *begin) + "}";
  if (one.replacement) text += " -> {" + *one.replacement + "}";
  return text + "\n";
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name =
      info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class RecordedOutput : public ::testing::TestWithParam<fs::path> {};

TEST_P(RecordedOutput, RecordedOutputGivesTheExpectedFindings) {
  const fs::path folder = GetParam().parent_path();
  const SourceText files = files_of(folder / "input");
  const auto read = reader_of(folder.filename().string()).read(text_of_file(GetParam()), files);
  ASSERT_TRUE(read) << read.error().message;
  std::string text;
  for (const Finding& one : *read) text += shown(one, files);
  fs::path expected = GetParam();
  expected.replace_extension(".findings");
  if (std::getenv("GALLEY_WRITE_FINDINGS") != nullptr) std::ofstream(expected) << text;
  EXPECT_EQ(text, text_of_file(expected));
}

TEST_P(RecordedOutput, CutOffOutputDoesNotCrashOrGivePlacesOutsideTheFile) {
  const fs::path folder = GetParam().parent_path();
  const SourceText files = files_of(folder / "input");
  const OutputReader reader = reader_of(folder.filename().string());
  const std::string whole = text_of_file(GetParam());
  const size_t step = std::max<size_t>(1, whole.size() / 200);
  for (size_t size = 0; size < whole.size(); size += step) {
    const auto read = reader.read(whole.substr(0, size), files);
    if (!read) continue;  // a document that is not whole
    for (const Finding& one : *read) shown(one, files);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedOutput, ::testing::ValuesIn(recordings()), test_name);

TEST(OutputParsers, EachNamedParserHasARecording) {
  for (const char* name : {"gcc", "clang", "python", "pytest", "ruff", "mypy", "eslint", "tsc",
                           "go", "cargo", "rustc", "javac", "shellcheck"}) {
    const auto all = recordings();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const fs::path& one) {
      return one.parent_path().filename() == name;
    })) << name;
  }
}

TEST(OutputParsers, GarbageIsAnErrorNotACrash) {
  EXPECT_FALSE(read_sarif("not json"));
  EXPECT_FALSE(read_sarif("[]"));
  EXPECT_FALSE(read_sarif(std::string(100'000, '[')));
  EXPECT_FALSE(read_junit("<html/>"));
  EXPECT_FALSE(read_junit("x"));
  EXPECT_TRUE(read_sarif("{\"runs\":[{\"results\":[1,null,{\"locations\":[]}]}]}"));
  for (const char* name : {"eslint", "ruff", "shellcheck"}) {
    EXPECT_FALSE(reader_of(name).read("[")) << name;
    EXPECT_TRUE(reader_of(name).read(R"([1, null, {"fix": 7, "messages": [[]], "line": -1}])"))
        << name;
  }
  EXPECT_FALSE(reader_of("eslint").read("Oops! Something went wrong!"));
  EXPECT_THAT(*reader_of("cargo").read("{\"reason\":\"compiler-message\",\"message\":7}\n{[\n"),
              IsEmpty());
}

TEST(OutputParsers, RepeatedMessagesAreOneFinding) {
  const std::string once =
      R"({"reason":"compiler-message","message":{"level":"error","message":"no","spans":[)"
      R"({"file_name":"src/lib.rs","is_primary":true,"line_start":1,"column_start":2}]}})"
      "\n";
  EXPECT_THAT(*reader_of("cargo").read(once + once), SizeIs(1));
  EXPECT_THAT(
      *reader_of("gcc").read("a.h:1:2: error: no\na.h:1:2: error: no\na.h:2:2: error: no\n"),
      SizeIs(2));
}

TEST(OutputParsers, ControlCharactersOfAProgramAreEscaped) {
  const auto read = reader_of("eslint").read(
      R"([{"filePath":"a.js","messages":[{"ruleId":"x\n::error::y","message":"one\ntwo\u001b[31m"}]}])");
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_EQ(read->front().rule, "x\\n::error::y");
  EXPECT_EQ(read->front().message, "one\\ntwo\\x1b[31m");
}

TEST(OutputParsers, AnEndBeforeTheBeginningIsIgnored) {
  const auto read = reader_of("sarif").read(R"({"runs":[{"results":[{"message":{"text":"m"},
      "locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"},
      "region":{"startLine":3,"startColumn":4,"endLine":2,"endColumn":1}}}]}]}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().line, 3U);
  EXPECT_EQ(read->front().end_line, 0U);
  EXPECT_FALSE(read->front().replacement);
}

TEST(OutputParsers, AReportThatFailedWithoutAFindingIsAnError) {
  EXPECT_FALSE(read_sarif(R"({"runs": [{"invocations": [{"executionSuccessful": false}]}]})"));
  EXPECT_TRUE(read_sarif(R"({"runs": [{"invocations": [{"executionSuccessful": true}]}]})"));
  EXPECT_FALSE(read_junit(R"(<testsuites failures="2"/>)"));
  EXPECT_FALSE(read_junit(R"(<testsuites><testsuite errors="1"/></testsuites>)"));
  EXPECT_TRUE(read_junit(R"(<testsuites failures="0"><testsuite errors="0"/></testsuites>)"));
}

TEST(OutputParsers, SarifKeepsEndAndFix) {
  const auto read = reader_of("sarif").read(R"({"runs":[{"results":[{"message":{"text":"m"},
      "locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"},
      "region":{"startLine":3,"startColumn":4,"endColumn":6}}}],
      "fixes":[{"artifactChanges":[{"artifactLocation":{"uri":"a"},"replacements":[
        {"deletedRegion":{"startLine":3,"startColumn":4,"endColumn":5},
         "insertedContent":{"text":"x"}}]}]}]}]}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().end_line, 3U);
  EXPECT_EQ(read->front().end_column, 5U);
  EXPECT_EQ(read->front().replacement, "x");
}

TEST(OutputParsers, SarifFindsPlaceAndMessageByTheirReferences) {
  const auto read = reader_of("sarif").read(R"({"runs":[{
      "tool":{"driver":{"rules":[{"id":"R","messageStrings":{"m":{"text":"{0} is bad"}}}]}},
      "originalUriBaseIds":{"SRC":{"uri":"src/","uriBaseId":"TOP"},"TOP":{"uri":"file:///w/"}},
      "artifacts":[{"location":{"uri":"a.js","uriBaseId":"SRC"}}],
      "results":[
        {"ruleId":"R","message":{"id":"m","arguments":["f"]},"locations":[{"physicalLocation":
          {"artifactLocation":{"index":0}}}]},
        {"ruleId":"R","message":{"text":"x"},"kind":"informational","locations":[{"physicalLocation":
          {"artifactLocation":{"uri":"b.js","uriBaseId":"NONE"}}}]},
        {"message":{"text":"y"},"locations":[{"physicalLocation":
          {"artifactLocation":{"index":7}}}]}]}]})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[0].path, "/w/src/a.js");
  EXPECT_EQ((*read)[0].message, "f is bad");
  EXPECT_EQ((*read)[1].path, "b.js");
  EXPECT_EQ((*read)[1].severity, Severity::kNote);
  EXPECT_EQ((*read)[2].path, "");
}

TEST(OutputParsers, SarifTakesTheLevelOfTheRuleAndOnlyAcceptedSuppressions) {
  const auto read = reader_of("sarif").read(R"({"runs":[{"tool":{
      "driver":{"rules":[{"id":"a"},{"id":"sqli","defaultConfiguration":{"level":"error"}}]},
      "extensions":[{"rules":[{"id":"more","defaultConfiguration":{"level":"note"}}]}]},
    "results":[
      {"ruleId":"sqli","message":{"text":"by id"}},
      {"ruleIndex":1,"message":{"text":"by index"}},
      {"rule":{"index":0,"toolComponent":{"index":0}},"message":{"text":"of an extension"}},
      {"ruleId":"sqli","level":"note","message":{"text":"own level"}},
      {"ruleIndex":9,"message":{"text":"unknown"}},
      {"ruleId":"b","level":"error","suppressions":[{"status":"rejected"}],
       "message":{"text":"rejected"}},
      {"ruleId":"b","level":"error","suppressions":[{"status":"accepted"}],
       "message":{"text":"accepted"}}]}]})");
  ASSERT_TRUE(read);
  std::vector<std::pair<std::string, Severity>> seen;
  for (const Finding& one : *read) seen.emplace_back(one.rule + ": " + one.message, one.severity);
  EXPECT_THAT(seen, UnorderedElementsAre(Pair("sqli: by id", Severity::kError),
                                         Pair("sqli: by index", Severity::kError),
                                         Pair("more: of an extension", Severity::kNote),
                                         Pair("sqli: own level", Severity::kNote),
                                         Pair(": unknown", Severity::kWarning),
                                         Pair("b: rejected", Severity::kError)));
}

TEST(OutputParsers, UnknownWordsForASeverityAreErrors) {
  for (const char* word : {"HIGH", "severe", "major", "critical", "E", "", "fatal"}) {
    EXPECT_EQ(severity_of(word), Severity::kError) << word;
  }
  for (const char* word : {"W", "warn", "Warning", "medium", "moderate"}) {
    EXPECT_EQ(severity_of(word), Severity::kWarning) << word;
  }
  for (const char* word : {"note", "Info", "information", "hint", "R", "help", "low"}) {
    EXPECT_EQ(severity_of(word), Severity::kNote) << word;
  }
}

TEST(OutputParsers, SeveralFixItsOrOneOfAnotherFileAreNotAReplacement) {
  const auto read = reader_of("clang").read(
      "a.c:1:2: error: m\nfix-it:\"a.c\":{1:2-1:3}:\"x\"\nfix-it:\"a.c\":{1:5-1:6}:\"y\"\n"
      "a.c:2:2: error: n\nfix-it:\"b.c\":{2:2-2:3}:\"x\"\n");
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_FALSE(read->front().replacement);
  EXPECT_FALSE(read->back().replacement);
}

TEST(OutputParsers, AColumnThatCannotBeConvertedToBytesIsOmitted) {
  const auto read = reader_of("tsc").read("a.ts(3,9): error TS1: m\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().line, 3U);
  EXPECT_EQ(read->front().column, 0U);
}

}  // namespace
}  // namespace galley
