// Every folder of fixtures/golden/edits: before/, edit.*, options, and after/ or error.json. A new
// case is a new folder and no code; scripts/make-golden-edits writes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "staging/formats/read_edits.h"
#include "staging/overlay/stage_edits.h"
#include "support/temp_directory.h"
#include "support/tree_state.h"
#include "tools/edit_formats.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<fs::path> cases() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(GALLEY_SOURCE_DIR "/fixtures/golden/edits")) {
    if (entry.is_directory()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

struct CaseOptions {
  ReadOptions read;
  StageOptions stage;
};

void take_option(const std::string& option, CaseOptions& out) {
  const size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (name == "-p") out.read.strip = static_cast<uint32_t>(std::stoul(value));
  if (name == "-R") out.read.reverse = true;
  if (name == "-C") out.stage.match.min_context = static_cast<uint32_t>(std::stoul(value));
  if (name == "--recount") out.read.recount = true;
  if (name == "--unidiff-zero") out.read.unidiff_zero = true;
  if (name == "--allow-empty") out.read.allow_empty = true;
  if (name == "--directory") out.read.directory = value;
  if (name == "--include") out.read.filters.push_back({true, value});
  if (name == "--exclude") out.read.filters.push_back({false, value});
  if (name == "--strict") out.stage.match.last_step = MatchStep::kExact;
  if (name == "--ignore-whitespace") out.stage.match.ignore_white_space = true;
  if (name == "--reject") out.stage.reject = true;
  if (name == "--only") out.stage.only.push_back(value);
  if (name == "--except") out.stage.except.push_back(value);
  if (name == "--root") out.stage.root = value;
  if (name == "--whitespace") {
    out.stage.match.white_space = value == "fix"     ? WhiteSpaceFix::kFix
                                  : value == "error" ? WhiteSpaceFix::kError
                                                     : WhiteSpaceFix::kWarn;
  }
}

CaseOptions options_of(const fs::path& folder) {
  CaseOptions out;
  std::istringstream lines(fs::exists(folder / "options") ? slurp(folder / "options") : "");
  for (std::string line; std::getline(lines, line);) take_option(line, out);
  return out;
}

Result<EditSet> read_case(const fs::path& folder, const ReadOptions& options) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().stem() != "edit") continue;
    const std::string text = slurp(entry.path());
    const bool is_json = entry.path().extension() == ".json";
    return read_edits(text, is_json ? EditFormat::kEdits : EditFormat::kAuto, options,
                      parse_edits_json);
  }
  return fail(ErrorKind::kInternal, "test.no_edit", "no edit in " + folder.string());
}

/// Returns the result of a case, in the shape of error.json and expect.json.
Json edit_story(const EditOutcome& outcome) {
  Json story = {{"reasons", Json::array()},
                {"steps", Json::array()},
                {"leniencies", Json::array()},
                {"candidates", Json::array()},
                {"rebased", Json::array()}};
  for (const FileOutcome& file : outcome.files) {
    if (file.refusal) story["reasons"].push_back(file.refusal->reason);
    for (const EditFailure& failure : file.failures) {
      story["reasons"].push_back(failure.reason);
      for (const Candidate& candidate : failure.candidates) {
        story["candidates"].push_back(candidate.line);
      }
      story["rebased"].push_back(failure.rebased);
    }
    for (const Placement& placement : file.placements) {
      story["steps"].push_back(match_step_name(placement.step));
    }
  }
  for (const Leniency& leniency : outcome.leniencies) {
    story["leniencies"].push_back(leniency.rule);
  }
  return story;
}

void expect_story(const Json& expected, const Json& story, const EditOutcome& outcome) {
  for (const auto& [key, value] : expected.items()) {
    EXPECT_EQ(value, story[key]) << key << "\n" << describe(outcome);
  }
}

class GoldenEdit : public ::testing::TestWithParam<fs::path> {};

TEST_P(GoldenEdit, GivesTheResultThatTheFolderExpects) {
  const fs::path& folder = GetParam();
  const CaseOptions options = options_of(folder);
  TempDirectory tree;
  if (fs::exists(folder / "before")) {
    fs::copy(folder / "before", tree.path(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  const TreeState before = tree_state(tree.path());
  const bool should_fail = fs::exists(folder / "error.json");
  const auto edits = read_case(folder, options.read);
  if (!edits) {
    ASSERT_TRUE(should_fail) << edits.error().message;
    const Json expected = Json::parse(slurp(folder / "error.json"));
    EXPECT_EQ(expected["reasons"], Json::array({edits.error().reason})) << edits.error().message;
    return;
  }
  SystemClock clock;
  Overlay overlay(tree.directory(), make_memory_store(), clock);
  const auto outcome = stage_edits(overlay, *edits, options.stage);
  if (!outcome) {
    ASSERT_TRUE(should_fail) << outcome.error().message;
    const Json expected = Json::parse(slurp(folder / "error.json"));
    EXPECT_EQ(expected["reasons"], Json::array({outcome.error().reason}));
    EXPECT_TRUE(overlay.changes().empty());
    return;
  }
  const Json story = edit_story(*outcome);
  if (should_fail) {
    EXPECT_FALSE(outcome->is_staged) << edit_report_json(*outcome).dump(1);
    EXPECT_EQ(tree_state(overlay), before);
    EXPECT_TRUE(overlay.changes().empty());
    expect_story(Json::parse(slurp(folder / "error.json")), story, *outcome);
    return;
  }
  ASSERT_TRUE(outcome->is_staged) << describe(*outcome);
  EXPECT_EQ(tree_state(overlay),
            fs::exists(folder / "after") ? tree_state(folder / "after") : TreeState());
  if (fs::exists(folder / "expect.json")) {
    expect_story(Json::parse(slurp(folder / "expect.json")), story, *outcome);
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenEdit, ::testing::ValuesIn(cases()), test_name);

}  // namespace
}  // namespace galley
