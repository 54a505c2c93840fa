#include "engine/policy/security_mode.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace galley {
namespace {

/// The row of the document's table that begins with this mode, a word a cell.
std::vector<std::string> documented_row(std::string_view mode) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/docs/policy.md");
  const std::string start = "| `" + std::string(mode) + "` |";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(start)) continue;
    std::istringstream words(line.substr(start.size()));
    std::vector<std::string> cells;
    for (std::string word; words >> word;) {
      if (word != "|") cells.push_back(word);
    }
    return cells;
  }
  return {};
}

std::string word_for(Decision decision) {
  if (decision == Decision::kAllow) return "runs";
  return decision == Decision::kAsk ? "asks" : "refused";
}

TEST(SecurityModes, TheDocumentedTableEqualsTheTableInTheCode) {
  for (const ModeRow& row : kModeTable) {
    std::vector<std::string> words;
    for (const Decision decision : row.by_tier) words.push_back(word_for(decision));
    EXPECT_EQ(documented_row(row.name), words) << row.name;
  }
}

TEST(SecurityModes, ARowIsFoundByItsModeAndAnUnknownTierIsRefused) {
  for (const ModeRow& row : kModeTable) {
    EXPECT_EQ(mode_row(row.mode).name, row.name);
    EXPECT_EQ(decision_of(row.mode, 5), Decision::kDeny);
  }
  EXPECT_EQ(decision_of(SecurityMode::kStandard, 3), Decision::kAsk);
}

}  // namespace
}  // namespace galley
