#include "engine/calls/readable_changes.h"

#include <algorithm>

namespace galley {

bool may_show(const Policy& policy, const RelPath& path, std::string_view agent) {
  return !policy.limits_reading(agent) ||
         policy.judge_read(path, agent).decision != Decision::kDeny;
}

ReadablePart readable_part(const Proposal& proposal, const Policy& policy, std::string_view agent) {
  if (!policy.limits_reading(agent)) return {proposal, {}};
  ChangeSet shown;
  std::vector<RelPath> left_out;
  for (const Change& change : proposal.changes()) {
    const bool has_content =
        change.before.kind == FileKind::kRegular || change.before.kind == FileKind::kSymlink ||
        change.after.kind == FileKind::kRegular || change.after.kind == FileKind::kSymlink;
    const auto is_hidden = [&](const std::optional<RelPath>& path) {
      return path && !may_show(policy, *path, agent);
    };
    if (has_content && (is_hidden(change.path) || is_hidden(change.renamed_from) ||
                        is_hidden(change.copied_from))) {
      left_out.push_back(change.path);
    } else {
      shown.push_back(change);
    }
  }
  if (left_out.empty()) return {proposal, {}};
  return {Proposal::from(std::move(shown), proposal.store()), std::move(left_out)};
}

}  // namespace galley
