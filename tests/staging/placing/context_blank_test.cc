// Hunks whose context lines alone have a blank too many: their new lines keep their indentation.
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr std::string_view kTable =
    "class Table {\n"
    " public:\n"
    "  /// Runs statements.\n"
    "  void run(const char* sql);\n"
    "  /// Asks once.\n"
    "  Answer ask(const char* sql);\n"
    "\n"
    "  /// One prepared statement.\n"
    "  ///\n"
    "  /// Its errors come out of the next step.\n"
    "  class Statement {\n"
    "   public:\n"
    "    Statement& bind(int value);\n"
    "    Statement& bind_null();\n"
    "    bool step();\n"
    "  };\n"
    "};\n";

/// The file after the hunks, or the reason of the first refusal.
std::string placed_in_table(const std::string& hunks, const MatchOptions& options = {}) {
  const auto set = read_unified("--- a/f\n+++ b/f\n" + hunks, {});
  EXPECT_TRUE(set.has_value());
  if (!set) return {};
  const PlacedEdits made = place_edits(kTable, set->files.front(), options);
  return made.failures.empty() ? made.splices.apply(kTable) : made.failures.front().reason;
}

std::string exchanged(std::string text, std::string_view old_text, std::string_view new_text) {
  return text.replace(text.find(old_text), old_text.size(), new_text);
}

const std::string kWithBoth = exchanged(
    exchanged(std::string(kTable), "ask(const char* sql)", "ask(const char* sql, int most)"),
    "    Statement& bind_null();\n", "    Statement& bind_text();\n    Statement& bind_null();\n");

const std::string kAsks =
    "   /// Runs statements.\n"
    "   void run(const char* sql);\n"
    "   /// Asks once.\n"
    "-  Answer ask(const char* sql);\n"
    "+  Answer ask(const char* sql, int most);\n";

const std::string kBinds =
    "    public:\n"
    "     Statement& bind(int value);\n"
    "+    Statement& bind_text();\n"
    "     Statement& bind_null();\n"
    "     bool step();\n";

/// The lines with one more blank before each context line.
std::string with_context_blanks(const std::string& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == ' ' && (i == 0 || lines[i - 1] == '\n')) out += ' ';
    out += lines[i];
  }
  return out;
}

TEST(ContextBlank, JoinedHunksKeepTheIndentationOfNewLines) {
  const std::string lines = kAsks + " \n   /// One prepared statement.\n" + kBinds;
  EXPECT_EQ(placed_in_table("@@ ... @@\n" + lines), kWithBoth) << "without the mistake";
  EXPECT_EQ(placed_in_table("@@ ... @@\n" + with_context_blanks(lines)), kWithBoth);
}

TEST(ContextBlank, HunksWithElisionsKeepTheIndentationOfNewLines) {
  const std::string lines = kAsks + " ...\n" + kBinds;
  EXPECT_EQ(placed_in_table("@@ ... @@\n" + lines), kWithBoth) << "without the mistake";
  EXPECT_EQ(placed_in_table("@@ ... @@\n" + with_context_blanks(lines)), kWithBoth);
}

TEST(ContextBlank, WithoutTheRepairItIsNotCertainHowNewLinesAreShifted) {
  MatchOptions options;
  options.strict = {"sign_blank"};
  const std::string lines = kAsks + " \n   /// One prepared statement.\n" + kBinds;
  EXPECT_EQ(placed_in_table("@@ ... @@\n" + with_context_blanks(lines), options),
            "patch.context_not_found");
}

}  // namespace
}  // namespace galley
