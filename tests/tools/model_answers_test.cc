// Edits as small models write them: each makes the change that it states, or is refused.
//
// The answers about small programs are in fixtures/model-answers. Those about real commits are made
// by its script, of the project's own history.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "tools/edit_formats.h"

namespace galley {
namespace {

using Json = nlohmann::json;

struct AnswerTally {
  size_t right = 0;
  size_t refused = 0;
  size_t wrong = 0;
  size_t plausible = 0;  ///< refused, and the refusal names a place for each misfit
  size_t offered = 0;   ///< of these: for each misfit there is one place to choose, or a correction
  size_t repaired = 0;  ///< of these: what is offered, sent back as it is, makes the change
};

/// The offers of a refusal: ids to choose, or hunks that replace those that do not fit.
struct Offers {
  bool is_plausible = false;  ///< each misfit has a place
  bool is_whole = false;      ///< each misfit has one place to choose, or a correction
  std::vector<std::string> choices;
  std::map<std::pair<size_t, size_t>, std::string> hunks;  ///< by file and hunk
};

/// The result of one answer about one program.
struct Made {
  bool is_staged = false;
  std::string content;
  size_t paths = 0;
  Offers offers;
  std::string correction = {};  ///< the whole answer as it fits; may be empty
};

Offers offers_of(const EditOutcome& outcome) {
  Offers out{true, true, {}, {}};
  for (size_t i = 0; i < outcome.files.size(); ++i) {
    for (const EditFailure& failure : outcome.files[i].failures) {
      if (!failure.rebased.empty()) {
        out.hunks[{i, failure.edit}] = failure.rebased;
      } else if (failure.candidates.size() == 1 && failure.reason != "patch.out_of_order") {
        out.choices.push_back(failure.candidates.front().id);
      } else {
        out.is_whole = false;
        if (failure.nearest_line == 0 && failure.candidates.empty()) out.is_plausible = false;
      }
    }
  }
  const bool is_any = !out.choices.empty() || !out.hunks.empty() || !out.is_whole;
  return is_any ? out : Offers();
}

/// Puts the corrections in the place of the hunks that did not fit, as an agent does.
bool put_in(const Offers& offers, EditSet& edits, std::deque<EditSet>& kept) {
  for (const auto& [place, text] : offers.hunks) {
    auto set = read_unified("--- a/f\n+++ b/f\n" + text, {});
    if (!set || edits.files[place.first].hunks.size() <= place.second) return false;
    edits.files[place.first].hunks[place.second] = set->files[0].hunks[0];
    kept.push_back(*std::move(set));  // has the lines
  }
  return true;
}

Made made_of(const std::string& answer, const std::string& path, const std::string& before,
             const Offers& offers = {}) {
  auto workspace = make_memory_directory();
  const RelPath file = *RelPath::parse(path);
  if (!file.parent().is_root()) {
    EXPECT_TRUE(make_directories(*workspace, file.parent(), 0755));
  }
  auto opened = workspace->open_writable_file(file, OpenMode::kOpenOrCreate, 0644);
  EXPECT_TRUE(opened && (*opened)->write_at(0, before));
  auto edits = read_edits(answer, EditFormat::kAuto, {}, parse_edits_json);
  std::deque<EditSet> kept;
  if (!edits || !put_in(offers, *edits, kept)) return {};
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  StageOptions options;
  options.match.choices = offers.choices;
  const auto outcome = stage_edits(overlay, *edits, options);
  if (outcome && !outcome->is_staged) {
    const bool is_json = outcome->correction && outcome->correction->document.empty();
    return {false,
            {},
            0,
            offers_of(*outcome),
            is_json               ? corrected_edits_json(*outcome).dump()
            : outcome->correction ? outcome->correction->document
                                  : ""};
  }
  if (!outcome) return {};
  Made out{true, before, overlay.changes().size(), {}};
  const auto entry = overlay.entries().find(file);
  if (entry == overlay.entries().end()) return out;
  const auto content = overlay.store()->get(entry->second.now.content);
  out.content = content ? **content : std::string();
  return out;
}

/// Judges each line of a document of the form that fixtures/model-answers has.
class Judge {
 public:
  void take(const std::string& line) {
    Json one = Json::parse(line);
    if (one.contains("before")) {
      program_ = std::move(one);
      return;
    }
    const auto before = program_["before"].get<std::string>();
    const Made made = made_of(one["answer"], program_["path"], before);
    AnswerTally& tally = tallies_[one["class"]];
    const bool must_refuse = one.value("is_refused", false);
    if (!made.is_staged || made.content == before) {
      EXPECT_LE(made.paths, made.content == before ? 0U : 1U);
      ++tally.refused;
      if (!made.correction.empty()) take_correction(one, made.correction);
      // Where the answer does not say which place it means, the caller alone can choose.
      if (made.offers.is_plausible && !must_refuse) take_offers(one, made.offers, tally);
      return;
    }
    if (!must_refuse && made.paths == 1 && made.content == program_["after"]) {
      ++tally.right;
      return;
    }
    if (++tally.wrong > 3) return;
    ADD_FAILURE() << program_["path"] << " " << one["name"] << "\n--- answer\n"
                  << one["answer"].get<std::string>() << "--- made\n"
                  << made.content;
  }

  void take_correction(const Json& one, const std::string& correction) {
    const auto before = program_["before"].get<std::string>();
    const Made made = made_of(correction, program_["path"], before);
    const bool is_right = made.is_staged && made.content == program_["after"];
    EXPECT_TRUE(is_right && !one.value("is_refused", false))
        << program_["path"] << " " << one["name"] << "\n--- answer\n"
        << one["answer"].get<std::string>() << "--- correction\n"
        << correction << "--- made\n"
        << made.content;
    ++corrected_;
  }

  void take_offers(const Json& one, const Offers& offers, AnswerTally& tally) {
    ++tally.plausible;
    if (!offers.is_whole) return;
    ++tally.offered;
    const auto before = program_["before"].get<std::string>();
    const Made made = made_of(one["answer"], program_["path"], before, offers);
    if (!made.is_staged) return;
    if (made.content == program_["after"]) {
      ++tally.repaired;
      return;
    }
    ADD_FAILURE() << program_["path"] << " " << one["name"] << "\n--- second try\n"
                  << one["answer"].get<std::string>() << "--- made\n"
                  << made.content;
  }

  [[nodiscard]] AnswerTally all() const {
    AnswerTally sum;
    for (const auto& [name, tally] : tallies_) {
      sum.right += tally.right;
      sum.refused += tally.refused;
      sum.wrong += tally.wrong;
      sum.plausible += tally.plausible;
      sum.offered += tally.offered;
      sum.repaired += tally.repaired;
    }
    return sum;
  }

  [[nodiscard]] const std::map<std::string, AnswerTally>& tallies() const { return tallies_; }

  void print() const {
    for (const auto& [name, tally] : tallies_) {
      std::printf("  %-20s %zu right, %zu refused, %zu wrong; %zu of %zu on the second try\n",
                  name.c_str(), tally.right, tally.refused, tally.wrong, tally.repaired,
                  tally.plausible);
    }
    std::printf("  %zu whole answers corrected\n", corrected_);
  }

  /// The number of answers that were refused with a correction of the whole answer.
  [[nodiscard]] size_t corrected() const { return corrected_; }

 private:
  size_t corrected_ = 0;
  Json program_;
  std::map<std::string, AnswerTally> tallies_;
};

TEST(ModelAnswers, AnswersMakeTheChangeOrAreRefused) {
  Judge judge;
  for (const char* language : {"c", "cpp", "go", "java", "javascript", "python", "rust", "shell"}) {
    std::ifstream file(std::string(GALLEY_SOURCE_DIR "/fixtures/model-answers/") + language +
                       ".jsonl");
    ASSERT_TRUE(file) << language;
    for (std::string line; std::getline(file, line);) judge.take(line);
  }
  judge.print();
  const auto tallies = judge.tallies();
  EXPECT_EQ(judge.all().wrong, 0U);
  EXPECT_EQ(tallies.at("must be refused").right, 0U);
  EXPECT_EQ(judge.all().repaired, judge.all().plausible);
  // So few of each class are refused at most: a change that refuses more must say why.
  const std::map<std::string, size_t> most_refused = {
      {"well-formed", 0}, {"ends", 0},        {"counts", 5},   {"hunk headers", 0},
      {"prose", 0},       {"file names", 14}, {"context", 14}, {"characters", 8},
      {"JSON", 23},       {"white space", 4}, {"blocks", 0},   {"whole file", 86}};
  for (const auto& [name, most] : most_refused) EXPECT_LE(tallies.at(name).refused, most) << name;
}

TEST(ModelAnswers, AnswersAboutRealCommitsMakeTheirTreeOrAreRefused) {
  const char* asked = std::getenv("GALLEY_ANSWER_CASES");
  const std::string command = "python3 -B " GALLEY_SOURCE_DIR
                              "/fixtures/model-answers/generate --commits " +
                              std::string(asked == nullptr ? "2000" : asked);
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  Judge judge;
  std::string line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    judge.take(line);
    line.clear();
  }
  ASSERT_EQ(pclose(pipe), 0);
  if (judge.tallies().empty()) GTEST_SKIP() << "no history of git here";
  judge.print();
  EXPECT_EQ(judge.all().wrong, 0U);
  EXPECT_GT(judge.all().right, judge.all().refused);
  // Most of these answers have several mistakes at once.
  EXPECT_GE(10 * judge.all().repaired, 9 * judge.all().offered);
}

}  // namespace
}  // namespace galley
