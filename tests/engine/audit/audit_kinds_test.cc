#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "engine/audit/audit.h"

namespace galley {
namespace {

TEST(AuditKinds, TheDocumentListsExactlyTheExistingKinds) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/docs/operations.md");
  std::set<std::string> documented;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) is_inside = line == "## Kinds";
    if (!is_inside || !line.starts_with("| `")) continue;
    documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  const std::set<std::string> known(kAuditKindNames.begin(), kAuditKindNames.end());
  EXPECT_EQ(documented, known);
  EXPECT_EQ(known.size(), kAuditKindNames.size()) << "no name stands twice";
  EXPECT_EQ(to_string(AuditKind::kCall), "call");
  EXPECT_EQ(to_string(AuditKind::kGap), "audit.gap");
}

}  // namespace
}  // namespace galley
