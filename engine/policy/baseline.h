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

/// The text in Finding::suppression of a finding that is in the baseline.
inline constexpr std::string_view kBaselineSuppression = "known in the baseline";

/// A list of older findings, which become notes and block nothing. It is a JSON file
/// (docs/validators.md). Galley reads it from the unchanged tree, so a proposed change of the file
/// applies only after its commit.
class Baseline {
 public:
  /// Loads the baseline at a path of the workspace; a missing file is an empty baseline.
  /// Errors: kInvalid `baseline.syntax`.
  [[nodiscard]] static Result<Baseline> load(const Directory& workspace, const std::string& path);
  [[nodiscard]] static Result<Baseline> parse(std::string_view text, std::string_view file);

  /// Turns findings whose fingerprints are in the baseline into notes.
  void apply(const std::vector<Finding*>& findings) const;

  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  std::set<std::string, std::less<>> known_;
};

}  // namespace galley
