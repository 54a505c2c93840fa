// Documents that edit, move and delete one file: no edit and no file is lost.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

using FileTexts = std::map<std::string, std::string>;

constexpr const char* kNineLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// The files f, g, h and z after the document; the reason of the refusal as the only key.
FileTexts files_after(const FileTexts& files, const std::string& document,
                      bool is_reversed = false) {
  auto workspace = make_memory_directory();
  for (const auto& [name, text] : files) {
    auto opened =
        workspace->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  }
  ReadOptions options;
  options.reverse = is_reversed;
  const auto edits = read_edits(document, EditFormat::kAuto, options);
  if (!edits) return {{edits.error().reason, ""}};
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  const auto outcome = stage_edits(overlay, *edits, {});
  if (!outcome) return {{outcome.error().reason, ""}};
  if (!outcome->is_staged) {
    for (const FileOutcome& file : outcome->files) {
      if (file.refusal) return {{file.refusal->reason, ""}};
    }
    return {{describe(*outcome), ""}};
  }
  FileTexts out;
  for (const char* name : {"f", "g", "h", "z"}) {
    const auto text = overlay.read(*RelPath::parse(name));
    if (text) out[name] = **text;
  }
  return out;
}

std::string v4a_patch(const std::string& body) {
  return "*** Begin Patch\n" + body + "*** End Patch\n";
}

TEST(DocumentOrder, AMoveTakesTheEditsBeforeIt) {
  const std::string edit = "*** Update File: f\n@@\n-2\n+two\n";
  const std::string move = "*** Update File: f\n*** Move to: z\n@@\n-8\n+eight\n";
  const std::string both = "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n";
  EXPECT_EQ(files_after({{"f", kNineLines}}, v4a_patch(edit + move)), (FileTexts{{"z", both}}));
  EXPECT_EQ(files_after({{"z", both}}, v4a_patch(edit + move), true),
            (FileTexts{{"f", kNineLines}}));
  EXPECT_EQ(files_after({{"f", kNineLines}},
                        v4a_patch(edit + "*** Update File: f\n@@\n-5\n+five\n" + move)),
            (FileTexts{{"z", "1\ntwo\n3\n4\nfive\n6\n7\neight\n9\n"}}));
}

TEST(DocumentOrder, AFileThatWasMovedIsNotDeleted) {
  const std::string move = "*** Update File: f\n*** Move to: g\n@@\n-2\n+two\n";
  const std::string remove = "*** Delete File: g\n";
  const FileTexts refused = {{"patch.target_twice", ""}};
  EXPECT_EQ(files_after({{"f", kNineLines}, {"g", "g\n"}}, v4a_patch(move + remove)), refused);
  EXPECT_EQ(files_after({{"f", kNineLines}}, v4a_patch(move + remove)), refused);
  EXPECT_EQ(files_after({{"f", kNineLines}, {"g", "g\n"}}, v4a_patch(remove + move)),
            (FileTexts{{"g", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n"}}));
  EXPECT_EQ(files_after({}, v4a_patch("*** Add File: g\n+x\n" + remove)), FileTexts{});
}

TEST(DocumentOrder, MailsOfASeriesAreAppliedOneAfterTheOther) {
  const std::string edit =
      "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
      "From: A <a@b>\nSubject: [PATCH 1/2] edit\n\n---\n"
      "diff --git a/f b/f\nindex 01e79c3..9999999 100644\n--- a/f\n+++ b/f\n"
      "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n-- \n2.39.5\n\n";
  const std::string move =
      "From 1123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
      "From: A <a@b>\nSubject: [PATCH 2/2] move\n\n---\n"
      "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n-- \n2.39.5\n\n";
  EXPECT_EQ(files_after({{"f", "1\n2\n3\n"}}, edit + move), (FileTexts{{"g", "1\ntwo\n3\n"}}));
  EXPECT_EQ(files_after({{"g", "1\ntwo\n3\n"}}, edit + move, true),
            (FileTexts{{"f", "1\n2\n3\n"}}));
}

/// A section for f with `count` hunks from line `first` on. Each replaces one line by `lines`.
std::string section_of(size_t count, size_t first, size_t lines, size_t new_first) {
  std::string out = "--- a/f\n+++ b/f\n";
  for (size_t i = 0; i < count; ++i) {
    out += "@@ -" + std::to_string(first + 2 * i) + " +" + std::to_string(new_first + 2 * i);
    out += (lines == 1 ? "" : "," + std::to_string(lines)) + " @@\n-x\n";
    for (size_t k = 0; k < lines; ++k) out += "+y\n";
  }
  return out;
}

/// The line in which the last hunk of a document is searched.
uint32_t last_start(const std::string& document) {
  const auto edits = read_edits(document, EditFormat::kAuto, {});
  EXPECT_TRUE(edits);
  return edits ? edits->files.back().hunks.back().old_start : 0;
}

TEST(DocumentOrder, SectionsWithTooManyHunksKeepTheirNumbers) {
  constexpr size_t kMostHunks = 1000;
  // Line 5000 of the file before all sections is line 5001 after the first one.
  const std::string first = section_of(1, 1, 2, 1);
  const std::string last = section_of(1, 5000, 1, 5001);
  EXPECT_EQ(last_start(first + last), 5001U);
  EXPECT_EQ(last_start(first + section_of(kMostHunks - 2, 10, 1, 11) + last), 5001U);
  EXPECT_EQ(last_start(first + section_of(kMostHunks - 1, 10, 1, 11) + last), 5000U);
  // The numbers differ by the line of the first section, and the second one adds lines, too.
  EXPECT_EQ(last_start(first + section_of(kMostHunks, 10, 2, 11) + last), 5000U);
}

}  // namespace
}  // namespace galley
