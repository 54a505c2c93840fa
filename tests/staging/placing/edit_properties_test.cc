// Properties of every text: apply(diff(a, b), a) = b, reverse undoes, splices compose and invert.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"
#include "staging/printing/git_diff.h"
#include "staging/text/splice.h"

namespace galley {
namespace {

/// Texts of few distinct lines: adversarial for matching, since everything repeats.
rc::Gen<std::string> repeating_text() {
  const auto line =
      rc::gen::element<std::string>("a\n", "b\n", "\n", "}\n", "  x\n", "a\r\n", "-- \n",
                                    "--- a/f\n", "+++ b/f\n", "@@ -1 +1 @@\n", "\xff\n");
  return rc::gen::map(
      rc::gen::pair(rc::gen::container<std::vector<std::string>>(line), rc::gen::arbitrary<bool>()),
      [](const std::pair<std::vector<std::string>, bool>& parts) {
        std::string out;
        for (const std::string& text : parts.first) out += text;
        if (parts.second && !out.empty() && out.back() == '\n') out.pop_back();
        return out;
      });
}

std::string diff_of(const std::string& before, const std::string& after, uint32_t context) {
  FilePair pair;
  pair.old_path = pair.new_path = "f";
  pair.old_mode = pair.new_mode = git_mode::kRegular;
  pair.old_content = before;
  pair.new_content = after;
  DiffOptions options;
  options.context = context;
  return git_diff(pair, options);
}

std::string apply(const std::string& patch, const std::string& base, bool reverse) {
  ReadOptions read;
  read.reverse = reverse;
  read.unidiff_zero = true;
  const auto set = read_unified(patch, read);
  RC_ASSERT(set.has_value());
  RC_ASSERT(set->leniencies.empty());
  RC_ASSERT(set->files.size() == 1U);
  const PlacedEdits placed = place_edits(base, set->files[0], {});
  RC_ASSERT(placed.failures.empty());
  for (const Placement& placement : placed.placements) {
    RC_ASSERT(placement.step == MatchStep::kExact);
  }
  return placed.splices.apply(base);
}

RC_GTEST_PROP(Edits, ADiffAppliesExactlyAndItsReverseTakesItBack, ()) {
  const std::string before = *repeating_text();
  const std::string after = *repeating_text();
  RC_PRE(before != after);
  const uint32_t context = *rc::gen::element<uint32_t>(0, 1, 3);
  const std::string patch = diff_of(before, after, context);
  RC_ASSERT(apply(patch, before, false) == after);
  RC_ASSERT(apply(patch, after, true) == before);
}

/// Hunks printed again as the reader took them.
std::string printed(const FileEdit& edit) {
  const auto range = [](uint32_t start, size_t count) {
    return std::to_string(start) + (count == 1 ? "" : "," + std::to_string(count));
  };
  std::string out;
  for (const Hunk& hunk : edit.hunks) {
    std::string body;
    size_t old_count = 0;
    size_t new_count = 0;
    for (const HunkLine& line : hunk.lines) {
      old_count += line.role == LineRole::kAdded ? 0 : 1;
      new_count += line.role == LineRole::kRemoved ? 0 : 1;
      body += line.role == LineRole::kContext ? ' ' : line.role == LineRole::kAdded ? '+' : '-';
      body += line.text;
      if (!line.text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
    }
    out += "@@ -" + range(hunk.old_start, old_count) + " +" + range(hunk.new_start, new_count) +
           " @@" + (hunk.section.empty() ? "" : " " + std::string(hunk.section)) + "\n" + body;
  }
  return out;
}

RC_GTEST_PROP(Edits, ReadingWhatWasPrintedIsTheIdentity, ()) {
  const std::string before = *repeating_text();
  const std::string after = *repeating_text();
  RC_PRE(before != after);
  const std::string patch = diff_of(before, after, *rc::gen::element<uint32_t>(0, 1, 3));
  const auto set = read_unified(patch, {});
  RC_ASSERT(set.has_value());
  RC_ASSERT(set->files.size() == 1U);
  RC_ASSERT(patch.substr(patch.find("\n@@ ") + 1) == printed(set->files[0]));
}

TEST(Edits, ATrailingBlankOfANameIsKeptOnlyBeforeATab) {
  const auto set = read_unified("--- a/d/x \t\n+++ b/d/x \t\n@@ -1 +1 @@\n-a\n+b\n", {});
  ASSERT_TRUE(set.has_value());
  ASSERT_EQ(set->files.size(), 1U);
  EXPECT_EQ(set->files[0].path, "d/x ");
  // Without one, it comes from an editor or a mailer.
  const auto sloppy = read_unified("--- a/d/x \n+++ b/d/x \n@@ -1 +1 @@\n-a\n+b\n", {});
  ASSERT_TRUE(sloppy.has_value());
  EXPECT_EQ(sloppy->files[0].path, "d/x");
}

RC_GTEST_PROP(Edits, APrintedNameIsReadBack, ()) {
  const auto byte =
      rc::gen::map(rc::gen::inRange(1, 256), [](int c) { return static_cast<char>(c); });
  std::string name = *rc::gen::nonEmpty(rc::gen::container<std::string>(byte));
  std::replace(name.begin(), name.end(), '/', '_');
  RC_PRE(name != "." && name != "..");
  FilePair pair;
  pair.old_path = pair.new_path = "d/" + name;
  pair.old_mode = pair.new_mode = git_mode::kRegular;
  pair.old_content = "a\n";
  pair.new_content = "b\n";
  const auto set = read_unified(git_diff(pair, {}), {});
  RC_ASSERT(set.has_value());
  RC_ASSERT(set->files.size() == 1U);
  RC_ASSERT(set->files[0].path == "d/" + name);
}

/// Random splices of `base`, disjoint by construction.
Splices splices_of(const std::string& base) {
  const auto cuts =
      *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, base.size() + 1));
  std::vector<size_t> sorted = cuts;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Splice> splices;
  for (size_t i = 0; i + 1 < sorted.size(); i += 2) {
    splices.push_back({sorted[i], sorted[i + 1] - sorted[i],
                       *rc::gen::container<std::string>(rc::gen::element('x', 'y', '\n'))});
  }
  auto out = Splices::from(base.size(), std::move(splices));
  RC_ASSERT(out.has_value());
  return std::move(*out);
}

RC_GTEST_PROP(Splices, TheInverseTakesBack, ()) {
  const auto base = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n'));
  const Splices splices = splices_of(base);
  const std::string result = splices.apply(base);
  RC_ASSERT(result.size() == splices.result_size());
  RC_ASSERT(splices.inverse(base).apply(result) == base);
}

RC_GTEST_PROP(Splices, CompositionIsOneAfterTheOther, ()) {
  const auto base = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n'));
  const Splices first = splices_of(base);
  const std::string middle = first.apply(base);
  const Splices second = splices_of(middle);
  RC_ASSERT(first.then(second).apply(base) == second.apply(middle));
}

/// Any bytes: every reader answers, and what it accepts can be placed without a crash.
RC_GTEST_PROP(Readers, TakeAnyText, ()) {
  const auto line = rc::gen::element<std::string>(
      "diff --git a/f b/f\n", "--- a/f\n", "+++ b/f\n", "@@ -1,2 +1,2 @@\n", "@@ ... @@\n", " a\n",
      "-b\n", "+c\n", "\\ No newline at end of file\n", "GIT binary patch\n", "literal 4\n",
      "LcmZ\n", "\n", "*** Begin Patch\n", "*** Update File: f\n", "*** End Patch\n", "f\n",
      "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "rename from f\n", "rename to g\n",
      "index 1..2 100644\n", "new file mode 100644\n", "...\n", "a", "\r\n");
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(line)) text += part;
  for (const EditFormat format :
       {EditFormat::kUnified, EditFormat::kApplyPatch, EditFormat::kSearchReplace}) {
    const auto set = read_edits(text, format, {});
    if (!set) {
      RC_ASSERT(!set.error().message.empty());
      continue;
    }
    for (const FileEdit& edit : set->files) {
      const PlacedEdits placed = place_edits("a\nb\na\nb\n\n", edit, {});
      RC_ASSERT(placed.splices.base_size() == 9U);
    }
  }
}

}  // namespace
}  // namespace galley
