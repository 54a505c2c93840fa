#include "server/session/conflict_answers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "server/session/call_results.h"
#include "staging/printing/git_diff.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxConflictPaths = 50;  // of one answer
/// The three sides of a hunk, by their names in answers and choices.
constexpr std::array<const char*, 3> kSides = {"base", "disk", "staged"};

Resolution::Side side_named(std::string_view name) {
  return name == "staged" ? Resolution::Side::kWanted
         : name == "base" ? Resolution::Side::kBase
                          : Resolution::Side::kFound;
}

/// Fills one answer with hunks until its texts are as long as they may be.
class ConflictList {
 public:
  explicit ConflictList(const ConflictRange& range) : range_(range) {}

  ordered_json list(const std::vector<PathConflict>& conflicts) {
    ordered_json out = {{"conflicts", ordered_json::array()}};
    for (const PathConflict& conflict : conflicts) {
      if (!range_.path.empty() && conflict.path.str() != range_.path) continue;
      if (out["conflicts"].size() == kMaxConflictPaths) {
        out["morePaths"] = conflicts.size() - kMaxConflictPaths;
        break;
      }
      out["conflicts"].push_back(one(conflict));
    }
    if (!next_.is_null()) out["next"] = std::move(next_);
    return out;
  }

 private:
  ordered_json one(const PathConflict& conflict) {
    ordered_json out = {{"path", conflict.path.str()},
                        {"version", conflict.version()},
                        {"reason", conflict.reason},
                        {"message", conflict.message}};
    const size_t first = range_.path.empty() ? 1 : std::max<size_t>(range_.hunk, 1);
    if (conflict.hunks.empty() && !conflict.diff.empty()) out["diff"] = text(conflict.diff);
    if (!conflict.hunks.empty()) out["hunkCount"] = conflict.hunks.size();
    for (size_t number = first; number <= conflict.hunks.size(); ++number) {
      if (left_ == 0) {
        if (next_.is_null()) next_ = {{"path", conflict.path.str()}, {"hunk", number}};
        break;
      }
      out["hunks"].push_back(hunk(conflict.hunks[number - 1], number, number == first));
    }
    return out;
  }

  ordered_json hunk(const ConflictHunk& hunk, size_t number, bool is_first) {
    ordered_json out = {{"hunk", number}, {"line", hunk.line}};
    const std::array<const std::string*, 3> texts = {&hunk.base, &hunk.found, &hunk.wanted};
    const size_t offset = is_first && !range_.path.empty() ? range_.offset : 0;
    for (size_t i = 0; i < kSides.size(); ++i) {
      size_t next = 0;
      std::string shown = page_of(*texts[i], offset, next, kMaxSideText);
      left_ -= std::min(left_, shown.size());
      out[kSides[i]] = std::move(shown);
      if (next == 0) continue;
      out["more"][kSides[i]] = {{"offset", next}, {"bytes", texts[i]->size()}};
    }
    return out;
  }

  std::string text(const std::string& whole) {
    size_t next = 0;
    std::string shown = page_of(whole, 0, next, kMaxSideText);
    left_ -= std::min(left_, shown.size());
    if (next > 0) shown += "[" + std::to_string(whole.size() - next) + " more bytes]\n";
    return shown;
  }

  const ConflictRange& range_;
  size_t left_ = kMaxConflictTexts;
  ordered_json next_;
};

std::string hunk_text(const ordered_json& hunk) {
  std::string text = "hunk " + std::to_string(hunk["hunk"].get<size_t>()) + ", line " +
                     std::to_string(hunk["line"].get<size_t>()) + "\n";
  for (const char* side : kSides) {
    const auto& lines = hunk[side].get_ref<const std::string&>();
    text += std::string(side) + (lines.empty() ? ": nothing\n" : ":\n") + lines;
    if (!lines.empty() && lines.back() != '\n') text += "\n[no newline at the end]\n";
    const bool is_cut = hunk.contains("more") && hunk["more"].contains(side);
    if (!is_cut) continue;
    text += "[the rest of " + std::to_string(hunk["more"][side]["bytes"].get<size_t>()) +
            " bytes: galley_rebase with this path, hunk and offset " +
            std::to_string(hunk["more"][side]["offset"].get<size_t>()) + "]\n";
  }
  return text;
}

Resolution::Choice choice_of(const json& given) {
  if (given.is_string()) {
    return Resolution::Choice{side_named(given.get_ref<const std::string&>()), {}};
  }
  return Resolution::Choice{Resolution::Side::kText, text_member(given, "text")};
}

}  // namespace

ordered_json conflicts_json(const std::vector<PathConflict>& conflicts,
                            const ConflictRange& range) {
  return ConflictList(range).list(conflicts);
}

std::string conflicts_text(const ordered_json& listed) {
  std::string text;
  for (const ordered_json& conflict : listed["conflicts"]) {
    text += name_in_line(text_member(conflict, "path")) + " (version " +
            text_member(conflict, "version") +
            "): " + printable_line(text_member(conflict, "message")) + "\n" +
            text_member(conflict, "diff");
    if (!conflict.contains("hunks")) continue;
    for (const ordered_json& hunk : conflict["hunks"]) text += hunk_text(hunk);
  }
  if (listed.contains("next")) {
    const ordered_json& next = listed["next"];
    text += "[more hunks: galley_rebase with path " + name_in_line(text_member(next, "path")) +
            " and hunk " + std::to_string(next["hunk"].get<size_t>()) + "]\n";
  }
  if (listed.contains("morePaths")) {
    text += "[and " + std::to_string(listed["morePaths"].get<size_t>()) +
            " more paths: galley_rebase when these are resolved]\n";
  }
  return text;
}

Result<Resolution> resolution_of_call(const json& arguments) {
  const auto take = arguments.find("take");
  const auto hunks = arguments.find("hunks");
  const auto text = arguments.find("text");
  const auto none = arguments.end();
  const int given = (take != none ? 1 : 0) + (hunks != none ? 1 : 0) + (text != none ? 1 : 0);
  if (given != 1) {
    return fail(ErrorKind::kUsage, "resolve.choices",
                "give exactly one of 'take' (one side for the whole path), 'hunks' (a choice for "
                "each hunk) and 'text' (the whole new file)");
  }
  Resolution resolution;
  resolution.version = text_member(arguments, "version");
  resolution.is_whole = hunks == none;
  if (hunks != none) {
    for (const json& each : *hunks) resolution.choices.push_back(choice_of(each));
    return resolution;
  }
  resolution.choices.push_back(choice_of(take != none ? *take : json{{"text", *text}}));
  return resolution;
}

}  // namespace galley
