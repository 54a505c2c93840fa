#include "staging/overlay/corrected_edits.h"

#include <algorithm>

#include "staging/formats/dialect_marks.h"
#include "staging/placing/hunk_text.h"
#include "staging/printing/git_diff.h"

namespace galley {
namespace {

std::string text_of(const std::vector<std::string_view>& lines) {
  std::string out;
  for (const std::string_view line : lines) out += line;
  return out;
}

TextPairs pairs_of(const std::vector<PlacedHunk>& hunks) {
  TextPairs out;
  for (const PlacedHunk& placed : hunks) {
    out.emplace_back(text_of(pre_image(placed.hunk)), text_of(post_image(placed.hunk)));
  }
  return out;
}

std::string unified_of(const CorrectedText& text, const std::vector<PlacedHunk>& hunks) {
  std::string out = "--- " + (text.is_new ? "/dev/null" : quote_path("a/" + text.path)) + "\n+++ " +
                    quote_path("b/" + text.path) + "\n";
  for (const PlacedHunk& placed : hunks) out += placed.text();
  return out;
}

std::string v4a_of(const CorrectedText& text, const std::vector<PlacedHunk>& hunks) {
  std::string out = (text.is_new ? "*** Add File: " : "*** Update File: ") + text.path + "\n";
  for (const PlacedHunk& placed : hunks) {
    if (!text.is_new) out += "@@\n";
    for (const HunkLine& line : placed.hunk.lines) {
      const bool is_context = line.role == LineRole::kContext;
      out.push_back(is_context ? ' ' : line.role == LineRole::kAdded ? '+' : '-');
      out += line.text;
      if (!line.text.ends_with('\n')) out.push_back('\n');
    }
  }
  return out;
}

std::string blocks_of(const std::string& path, const TextPairs& pairs) {
  std::string out;
  const auto put = [&](const std::string& text) {
    out += text;
    if (!text.empty() && !text.ends_with('\n')) out.push_back('\n');
  };
  for (const auto& [old_text, new_text] : pairs) {
    out += block_name_line(path) + "\n<<<<<<< SEARCH\n";
    put(old_text);
    out += "=======\n";
    put(new_text);
    out += ">>>>>>> REPLACE\n";
  }
  return out;
}

}  // namespace

std::optional<CorrectedEdits> corrected_edits(const std::vector<CorrectedText>& texts,
                                              EditFormat format) {
  CorrectedEdits out;
  if (format == EditFormat::kApplyPatch) out.document = "*** Begin Patch\n";
  for (const CorrectedText& text : texts) {
    const Lines after(text.after);
    const auto hunks =
        text.is_new ? whole_file_hunk(after) : unique_hunks(text.before, text.after, false);
    if (hunks.empty()) return std::nullopt;
    CorrectedEdits::File file{text.path, text.is_new, text.is_new ? text.after : "", {}, {}};
    if (!text.is_new) {
      file.pairs = pairs_of(hunks);
      file.as_one =
          hunks.size() == 1 ? file.pairs : pairs_of(unique_hunks(text.before, text.after, true));
    }
    if (format == EditFormat::kUnified) out.document += unified_of(text, hunks);
    if (format == EditFormat::kApplyPatch) out.document += v4a_of(text, hunks);
    if (format == EditFormat::kSearchReplace) {
      out.document += blocks_of(text.path, text.is_new ? TextPairs{{"", text.after}} : file.pairs);
    }
    out.files.push_back(std::move(file));
  }
  if (format == EditFormat::kApplyPatch) out.document += "*** End Patch\n";
  return out;
}

}  // namespace galley
