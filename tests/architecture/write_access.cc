#include "tests/architecture/write_access.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string>

#include "tests/architecture/source_text.h"

namespace galley::architecture {
namespace {

/// Rooms that propose or judge: a const Directory& is all they get of the workspace.
constexpr std::array<std::string_view, 11> kReadingRooms = {
    "base",         "staging/text",    "staging/formats", "staging/placing",   "staging/printing",
    "staging/git",  "staging/overlay", "tools",           "engine/validators", "engine/policy",
    "engine/review"};

void find_all(std::string_view path, const std::string& code, const std::regex& names,
              const std::string& why, Violations& found) {
  for (auto it = std::sregex_iterator(code.begin(), code.end(), names);
       it != std::sregex_iterator(); ++it) {
    const auto line = std::count(code.begin(), code.begin() + it->position(0), '\n') + 1;
    found.push_back(std::string(path) + ":" + std::to_string(line) + ": " + it->str() + ", " + why);
  }
}

}  // namespace

Violations write_access(std::string_view path, std::string_view source) {
  static const std::regex writers(
      R"(\b(WritableDirectory|WritableFile|open_writable_\w+|make_disk_directory|open_user_state)\b)");
  static const std::regex cast(R"(\b(dynamic|static|reinterpret)_cast<[^>]*\bWritable\w+)");
  static const std::regex whole(R"(\bWorkspace(State|Access)\b)");
  Violations found;
  // Most sources name none of them, and regular expressions are slow.
  const auto names = [&](std::string_view part) { return source.find(part) != source.npos; };
  if (!names("ritable") && !names("make_disk_directory") && !names("open_user_state") &&
      !names("WorkspaceState") && !names("WorkspaceAccess")) {
    return found;
  }
  const std::string room = room_of(path);
  const std::string code = without_comments_and_literals(source);
  if (std::find(kReadingRooms.begin(), kReadingRooms.end(), room) != kReadingRooms.end()) {
    find_all(path, code, writers, "but " + room + " only reads", found);
  }
  if (room != "staging/fs") {
    find_all(path, code, cast, "but a Directory never becomes a WritableDirectory", found);
  }
  if (room != "engine/pipeline" && !path.starts_with("include/")) {
    find_all(path, code, whole, "but other rooms see a workspace part by part", found);
  }
  return found;
}

}  // namespace galley::architecture
