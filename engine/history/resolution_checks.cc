#include "engine/history/resolution_checks.h"

#include <string>

namespace galley {

Result<void> check_version(const Resolution& resolution, const PathConflict& conflict) {
  if (resolution.version == conflict.version()) return {};
  return fail(ErrorKind::kConflict, "resolve.changed",
              "'" + conflict.path.str() +
                  "' has changed since that conflict was listed: its "
                  "version is " +
                  conflict.version() + " now; look at it again, then choose",
              conflict.path.str());
}

tl::unexpected<Error> unsuited(const RelPath& path, size_t hunks) {
  const std::string why = hunks == 0 ? "has no hunks to choose from: take one side, or give a text"
                                     : "needs " + std::to_string(hunks) +
                                           (hunks == 1 ? " choice" : " choices, one for each hunk");
  return fail(ErrorKind::kUsage, "resolve.choices", "'" + path.str() + "' " + why, path.str());
}

bool joins_lines(const Resolution::Choice& choice, const ConflictHunk& hunk) {
  const auto is_open = [](const std::string& text) { return !text.empty() && text.back() != '\n'; };
  return choice.side == Resolution::Side::kText && is_open(choice.text) && !is_open(hunk.base) &&
         !is_open(hunk.found) && !is_open(hunk.wanted);
}

}  // namespace galley
