#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace galley {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every literal that looks like a reason, in the rooms that a call goes through.
std::set<std::string> reasons_in_sources() {
  static const std::regex kReason(R"re("([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)")re");
  static const std::regex kOther(
      R"(.*\.(toml|xml|json|properties|py|lock|mod|cfg|ini|lockb|git|txt|md|sh)|user\..*|lib.*|.*_)"
      R"(|system\.posix.*|branch\..*|sandbox\.max_.*|fs\.(read|write|delete|list|stat|mkdir|move)"
      R"(|copy|ch...|symlink|search|disk_usage)|sec\.(grant|revoke))");
  std::set<std::string> found;
  for (const char* room :
       {"tools", "tools/mcp", "engine/calls", "base", "staging/fs", "staging/overlay",
        "staging/placing", "staging/formats", "staging/text", "staging/sandbox"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(GALLEY_SOURCE_DIR) / room)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), kReason), end; at != end; ++at) {
        if (!std::regex_match((*at)[1].str(), kOther)) found.insert((*at)[1]);
      }
    }
  }
  return found;
}

TEST(ReasonTable, HasEveryReasonOfTheSources) {
  const std::string table = text_of(fs::path(GALLEY_SOURCE_DIR) / "cli/reasons.json");
  const auto reasons = reasons_in_sources();
  EXPECT_GT(reasons.size(), 100U);
  for (const std::string& reason : reasons) {
    EXPECT_NE(table.find("\n  \"" + reason + "\": ["), std::string::npos)
        << "cli/reasons.json should say what to do about " << reason;
  }
}

}  // namespace
}  // namespace galley
