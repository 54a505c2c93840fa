#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/finding.h"
#include "staging/fs/directory.h"

namespace galley {

/// A baseline with more bytes is refused.
inline constexpr size_t kMaxBaselineBytes = size_t{64} << 20U;

/// What stands as the suppression of a finding that the baseline has.
inline constexpr std::string_view kBaselineSuppression = "known in the baseline";

/// The findings that were there when a team began to look: they are shown as known and block
/// nothing. A file of JSON (docs/validators.md), read from the unchanged tree: what a proposal
/// writes there counts when it was committed.
class Baseline {
 public:
  /// The baseline at a path of the workspace; one that is missing knows nothing.
  /// Errors: kInvalid `baseline.syntax`.
  [[nodiscard]] static Result<Baseline> load(const Directory& workspace, const std::string& path);
  [[nodiscard]] static Result<Baseline> parse(std::string_view text, std::string_view file);

  /// Makes notes of those that it knows, by their fingerprints.
  void apply(const std::vector<Finding*>& findings) const;

  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  std::set<std::string, std::less<>> known_;
};

}  // namespace galley
