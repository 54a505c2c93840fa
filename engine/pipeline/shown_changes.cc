#include "engine/pipeline/shown_changes.h"

#include "base/printable.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"

namespace galley {

Result<std::string> diff_shown_to(std::string_view agent, const Workspace& workspace,
                                  const Proposal& proposal) {
  const ReadablePart part = readable_part(proposal, Policy(rules_of(workspace).config), agent);
  GALLEY_ASSIGN(std::string text, render_diff(part.proposal));
  for (const RelPath& path : part.left_out) {
    text += "left out: " + printable_line(path.str()) + ", which " + printable_line(agent) +
            " may not read\n";
  }
  return text;
}

void hide_unread_texts(std::string_view agent, const Config& config, Conflict::Path& path) {
  if (may_show(Policy(config), path.path, agent)) return;
  path.diff.clear();
  path.hunks.clear();
}

}  // namespace galley
