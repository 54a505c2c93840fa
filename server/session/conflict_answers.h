#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/history/rebase.h"

namespace galley {

/// The bytes of one text of a conflict in an answer: of base, disk or staged lines.
inline constexpr size_t kMaxSideText = 2'000;
/// The bytes of all these texts together. The rest is listed by a range.
inline constexpr size_t kMaxConflictTexts = 16'000;

/// The part of a list of conflicts that an answer shows.
struct ConflictRange {
  std::string path = {};  ///< only this one; empty: all
  size_t hunk = 1;        ///< the first one of `path`, counted from 1
  size_t offset = 0;      ///< where the texts of that hunk begin, in bytes
};

/// Conflicts with the three texts of each hunk, and with `next` if a range must be asked for.
[[nodiscard]] nlohmann::ordered_json conflicts_json(const std::vector<PathConflict>& conflicts,
                                                    const ConflictRange& range = {});
/// The same list for a model that reads text only.
[[nodiscard]] std::string conflicts_text(const nlohmann::ordered_json& listed);

/// Reads the decision of a call of `galley_resolve`: exactly one of `take`, `hunks` and `text`.
/// Errors: kUsage `resolve.choices`.
Result<Resolution> resolution_of_call(const nlohmann::json& arguments);

}  // namespace galley
