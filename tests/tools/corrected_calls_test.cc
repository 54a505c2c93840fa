// A refusal of an edit comes with the same edit as it fits, in the form of the call.
//
// The programs of fixtures/model-answers are changed by edits whose context is not the file's, in
// every form that the tools take. A correction that is sent back must make the intended change.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "staging/formats/edit_set.h"
#include "staging/placing/correction.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/diff.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kContext = 3;

struct Program {
  std::string path;
  std::string before;
  std::string after;
};

std::vector<Program> programs() {
  std::vector<Program> out;
  for (const char* language : {"c", "cpp", "go", "java", "javascript", "python", "rust", "shell"}) {
    std::ifstream file(std::string(GALLEY_SOURCE_DIR "/fixtures/model-answers/") + language +
                       ".jsonl");
    for (std::string line; std::getline(file, line);) {
      const json one = json::parse(line);
      if (one.contains("before")) out.push_back({one["path"], one["before"], one["after"]});
    }
  }
  return out;
}

struct Line {
  LineRole role = LineRole::kContext;
  std::string text;
};
using HunkLines = std::vector<Line>;

/// The changes of a program as hunks with three lines of context.
std::vector<HunkLines> hunks_of(const Program& program) {
  const Lines before(program.before);
  const Lines after(program.after);
  const EditScript script = diff_lines(before, after);
  std::vector<HunkLines> out;
  for (size_t first = 0; first < script.size();) {
    size_t last = first;
    while (last + 1 < script.size() &&
           script[last + 1].old_begin - script[last].old_end <= 2 * kContext) {
      ++last;
    }
    HunkLines lines;
    size_t at = script[first].old_begin - std::min<size_t>(script[first].old_begin, kContext);
    for (size_t i = first; i <= last; ++i) {
      for (; at < script[i].old_begin; ++at)
        lines.push_back({LineRole::kContext, std::string(before[at])});
      for (; at < script[i].old_end; ++at)
        lines.push_back({LineRole::kRemoved, std::string(before[at])});
      for (size_t k = script[i].new_begin; k < script[i].new_end; ++k) {
        lines.push_back({LineRole::kAdded, std::string(after[k])});
      }
    }
    for (size_t end = std::min(at + kContext, before.size()); at < end; ++at) {
      lines.push_back({LineRole::kContext, std::string(before[at])});
    }
    out.push_back(std::move(lines));
    first = last + 1;
  }
  return out;
}

/// Changes the context of a hunk as a model that remembers the file badly.
bool drift(HunkLines& lines, std::mt19937& random) {
  std::vector<size_t> context;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].role == LineRole::kContext && is_telling_line(lines[i].text)) context.push_back(i);
  }
  if (context.size() < 2) return false;
  const size_t at = context[random() % context.size()];
  std::string& text = lines[at].text;
  switch (random() % 4) {
    case 0:
      text.insert(text.find_last_not_of(" \r\n") + 1, " // checked");
      break;
    case 1:
      lines.erase(lines.begin() + static_cast<int64_t>(at));
      break;
    case 2:
      lines.insert(lines.begin() + static_cast<int64_t>(at),
                   {LineRole::kContext, "remembered(wrongly);\n"});
      break;
    default:
      text.replace(text.find_first_not_of(" \t"), 1, "zz");
      break;
  }
  return true;
}

std::string image(const HunkLines& lines, LineRole left_out) {
  std::string out;
  for (const Line& line : lines) {
    if (line.role != left_out) out += line.text;
  }
  return out;
}

std::string marked(const HunkLines& lines) {
  std::string out;
  for (const Line& line : lines) {
    out += line.role == LineRole::kContext ? ' ' : line.role == LineRole::kAdded ? '+' : '-';
    out += line.text;
  }
  return out;
}

struct Call {
  std::string form;
  std::string tool;
  json args;
};

std::vector<Call> calls_of(const std::string& path, const std::vector<HunkLines>& hunks) {
  std::vector<Call> out;
  std::string unified = "--- a/" + path + "\n+++ b/" + path + "\n";
  std::string v4a = "*** Begin Patch\n*** Update File: " + path + "\n";
  std::string blocks;
  json pairs = json::array();
  json texts = json::array();
  for (const HunkLines& hunk : hunks) {
    const std::string before = image(hunk, LineRole::kAdded);
    const std::string after = image(hunk, LineRole::kRemoved);
    unified += "@@ ... @@\n" + marked(hunk);
    v4a += "@@\n" + marked(hunk);
    blocks += path + "\n<<<<<<< SEARCH\n" + before + "=======\n" + after + ">>>>>>> REPLACE\n";
    pairs.push_back({{"old_string", before}, {"new_string", after}});
    texts.push_back({{"oldText", before}, {"newText", after}});
  }
  out.push_back({"unified", "apply_patch", {{"input", unified}}});
  out.push_back({"V4A", "apply_patch", {{"input", v4a + "*** End Patch\n"}}});
  out.push_back({"SEARCH/REPLACE", "apply_patch", {{"input", blocks}}});
  out.push_back({"Edit with a patch", "Edit", {{"file_path", path}, {"patch", unified}}});
  out.push_back({"MultiEdit", "MultiEdit", {{"file_path", path}, {"edits", pairs}}});
  out.push_back({"edit_file", "edit_file", {{"path", path}, {"edits", texts}}});
  if (hunks.size() != 1) return out;
  const std::string before = image(hunks[0], LineRole::kAdded);
  const std::string after = image(hunks[0], LineRole::kRemoved);
  out.push_back(
      {"Edit", "Edit", {{"file_path", path}, {"old_string", before}, {"new_string", after}}});
  out.push_back(
      {"str_replace",
       "str_replace_based_edit_tool",
       {{"command", "str_replace"}, {"path", path}, {"old_str", before}, {"new_str", after}}});
  return out;
}

class CorrectedCalls : public ToolFixture {
 protected:
  struct Tally {
    size_t taken = 0;
    size_t refused = 0;
    size_t plausible = 0;
    size_t repaired = 0;
  };

  static bool names_place(const nlohmann::ordered_json& details) {
    for (const auto& file : details["files"]) {
      for (const auto& failure : file["failed"]) {
        if (!failure.contains("nearest") && !failure.contains("candidates")) return false;
      }
    }
    return true;
  }

  /// What an agent sends again without reading: the correction, or the only candidate of each edit.
  json second_try(const Call& one, const nlohmann::ordered_json& details) {
    if (details.contains("correction")) {
      EXPECT_TRUE(details["correction"].is_object()) << one.form;
      return details["correction"];
    }
    json again = one.args;
    for (const auto& file : details["files"]) {
      for (const auto& failure : file["failed"]) {
        if (!failure.contains("candidates") || failure["candidates"].size() != 1) return nullptr;
        again["choices"].push_back(failure["candidates"][0]["id"].get<std::string>());
      }
    }
    return (*registry_.get(one.tool))->input.check(again).empty() ? again : json();
  }

  void take(const Program& program, const Call& one) {
    const RelPath path = rel(program.path);
    Tally& tally = tallies_[one.form];
    const Overlay::Entries before = overlay_.entries();
    const ToolResult first = call(one.tool, one.args);
    if (first.ok) {
      ++tally.taken;
      EXPECT_EQ(staged(program.path), program.after) << one.form << "\n" << one.args.dump(1);
      overlay_.restore(before);
      return;
    }
    ++tally.refused;
    EXPECT_TRUE(overlay_.entries() == before || staged(program.path) == program.before);
    const auto details = first.error->details;
    if (details == nullptr || !details->contains("files")) return;
    if (names_place(*details)) ++tally.plausible;
    const json again = second_try(one, *details);
    if (again.is_null()) {
      if (std::getenv("GALLEY_SHOW_REFUSED") != nullptr) {
        std::printf("%s: %s\n%s\n", one.form.c_str(), first.error->message.c_str(),
                    one.args.dump(1).c_str());
      }
      return;
    }
    const ToolResult second = call(one.tool, again);
    EXPECT_TRUE(second.ok) << one.form << "\n"
                           << again.dump(1) << (second.error ? second.error->message : "");
    EXPECT_EQ(staged(program.path), program.after) << one.form << "\n"
                                                   << one.args.dump(1) << again.dump(1);
    if (second.ok && names_place(*details)) ++tally.repaired;
    overlay_.restore(before);
  }

  std::map<std::string, Tally> tallies_;
};

TEST_F(CorrectedCalls, AreInTheFormOfTheCallAndMakeTheIntendedChange) {
  std::mt19937 random(28);
  for (const Program& program : programs()) {
    put(program.path, program.before);
    const std::vector<HunkLines> hunks = hunks_of(program);
    for (int round = 0; round < 12; ++round) {
      std::vector<HunkLines> wrong = hunks;
      if (!drift(wrong[random() % wrong.size()], random)) continue;
      for (const Call& one : calls_of(program.path, wrong)) take(program, one);
    }
  }
  size_t plausible = 0;
  size_t repaired = 0;
  for (const auto& [form, tally] : tallies_) {
    std::printf("  %-18s %zu taken, %zu refused, %zu with a place, %zu on the second try\n",
                form.c_str(), tally.taken, tally.refused, tally.plausible, tally.repaired);
    // Of the few diffs that are refused, one place is doubted twice.
    EXPECT_LE(tally.plausible - tally.repaired, std::max<size_t>(tally.plausible / 10, 2)) << form;
    plausible += tally.plausible;
    repaired += tally.repaired;
  }
  EXPECT_GE(10 * repaired, 9 * plausible);
  EXPECT_EQ(tallies_.size(), 8U);
}

TEST_F(CorrectedCalls, NameTheFileThatWasMeant) {
  put("src/app/main.py", "x = 1\ny = 2\n");
  for (const char* name :
       {"app/main.py", "src/app/Main.py", "src/app/mian.py", "main.py", "source/app/main.py"}) {
    const json args = {{"file_path", name}, {"old_string", "x = 1"}, {"new_string", "x = 3"}};
    const ToolResult result = call("Edit", args);
    ASSERT_FALSE(result.ok) << name;
    EXPECT_EQ(result.error->reason, "patch.file_not_found");
    EXPECT_NE(result.error->message.find("'src/app/main.py'"), std::string::npos) << name;
    ASSERT_TRUE(result.error->details->contains("correction")) << name;
    const json again = (*result.error->details)["correction"];
    EXPECT_EQ(again["file_path"], "src/app/main.py");
  }
}

TEST_F(CorrectedCalls, OfAPatchNameTheFileThatWasMeant) {
  put("src/app/main.py", "x = 1\ny = 2\n");
  for (const char* key : {"file_path", "file"}) {
    const ToolResult first =
        call("Edit", {{key, "app/main.py"},
                      {"patch", "<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE\n"}});
    ASSERT_FALSE(first.ok);
    ASSERT_TRUE(first.error->details->contains("correction"));
    const json again = (*first.error->details)["correction"];
    EXPECT_EQ(again[key], "src/app/main.py");
    const Overlay::Entries before = overlay_.entries();
    const ToolResult second = call("Edit", again);
    EXPECT_TRUE(second.ok) << again.dump(1);
    EXPECT_EQ(staged("src/app/main.py"), "x = 3\ny = 2\n");
    overlay_.restore(before);
  }
}

TEST_F(CorrectedCalls, AreMadeForATableOfNumbers) {
  put("s.php", "$x = [\n  413 => \"A\",\n  414 => \"B\",\n  415 => \"C\",\n];\n");
  const auto args = [](const std::string& name) {
    const std::string begin = "  413 => \"A\",\n  414 => \"";
    const std::string end = "\",\n  415 => \"C\",\n";
    return json{{"file_path", "s.php"},
                {"old_string", begin + "Q" + end},
                {"new_string", begin + name + end}};
  };
  const ToolResult result = call("Edit", args("Bs"));
  ASSERT_FALSE(result.ok);
  EXPECT_EQ(result.error->message.find("line numbers"), std::string::npos) << result.error->message;
}

TEST_F(CorrectedCalls, AreNotNeededForADotBeforeBothNames) {
  put("src/m.py", "x = 1\ny = 2\n");
  const ToolResult result =
      call("apply_patch", {{"patch",
                            "--- ./src/m.py\n+++ ./src/m.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n"
                            " y = 2\n"}});
  EXPECT_TRUE(result.ok) << result.error->message;
  EXPECT_EQ(staged("src/m.py"), "x = 3\ny = 2\n");
}

TEST_F(CorrectedCalls, AreAbsentWhereTheEditDoesNotSayThePlace) {
  put("a.txt", "same\nother\nsame\n");
  const ToolResult two =
      call("Edit", {{"file_path", "a.txt"}, {"old_string", "same"}, {"new_string", "new"}});
  ASSERT_FALSE(two.ok);
  EXPECT_FALSE(two.error->details->contains("correction"));
  const ToolResult none = call(
      "Edit", {{"file_path", "a.txt"}, {"old_string", "nothing like it"}, {"new_string", "new"}});
  ASSERT_FALSE(none.ok);
  EXPECT_FALSE(none.error->details->contains("correction"));
}

}  // namespace
}  // namespace galley
