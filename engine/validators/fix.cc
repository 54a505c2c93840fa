#include "engine/validators/fix.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/validator.h"
#include "engine/validators/command_validator.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

/// Returns why a change by a fixer is not staged; empty if it is, or if there is none to tell.
/// A mode next to a new content is not told: a file that was written anew and renamed has another.
std::string reason_to_leave(const Node& was, const Node& now, bool is_selected,
                            std::string_view path) {
  if (now == was) return {};
  if (!is_selected)
    return fmt::format("changed {} too, which is not its to change: left out", path);
  constexpr std::string_view kOnlyContents = "left out, because a fixer changes contents only";
  if (now.kind == FileKind::kAbsent) return fmt::format("removed {}: {}", path, kOnlyContents);
  if (now.kind != FileKind::kRegular) {
    return fmt::format("made a {} of {}: {}", kind_name(now.kind), path, kOnlyContents);
  }
  if (fixed_node(was, now) != was) return {};
  return fmt::format("changed the mode of {}: {}", path, kOnlyContents);
}

/// Takes over the changes from a fixer's own overlay that are allowed, and notes the others.
Result<void> take_over(const Overlay& fixed, const std::vector<RelPath>& selected, Overlay& overlay,
                       FixRun& run) {
  const Overlay::Entries before = overlay.entries();
  for (const auto& [path, entry] : fixed.entries()) {
    const auto known = before.find(path);
    const Node& was = known == before.end() ? entry.before : known->second.now;
    const bool is_selected = std::binary_search(selected.begin(), selected.end(), path);
    if (auto why = reason_to_leave(was, entry.now, is_selected, path.str()); !why.empty()) {
      run.left_out.push_back({path, std::move(why)});
      continue;
    }
    const Node now = fixed_node(was, entry.now);
    if (now == was) continue;
    GALLEY_TRY(overlay.put(path, now));
    run.changed.push_back(path);
  }
  return {};
}

Result<FixRun> run_fixer(const ValidatorConfig& config, Overlay& overlay,
                         const FixRequest& request) {
  FixRun run;
  run.validator = config.name;
  const Proposal proposal = Proposal::freeze(overlay);
  const auto selected = selected_files(config, proposal.changes());
  if (selected.empty()) return run;
  const Directory& workspace = overlay.workspace();
  const ProposedTree tree(proposal, workspace);
  const ValidatorContext context{tree, request.clock, request.deadline, request.stop};
  Overlay fixed = overlay_of(proposal, workspace, request.clock);
  for (Command& command : commands_of(config, selected, context)) {
    command.effects = EffectsRule::kStageAlways;
    GALLEY_ASSIGN(const CommandResult result, request.runner.run(command, fixed));
    // A formatter may report by its status that it changed something; one that failed is an Error.
    GALLEY_ASSIGN(const RunEnd end, end_of(config, result));
    if (end == RunEnd::kComplaint && fixed.entries() == overlay.entries()) {
      return fail(ErrorKind::kRefused, "validator.fix_failed",
                  fmt::format("`{}` could not fix anything: {}", config.name, output_tail(result)));
    }
  }
  GALLEY_TRY(take_over(fixed, selected, overlay, run));
  return run;
}

Result<std::vector<FixRun>> run_fixers(const Config& config, Overlay& overlay,
                                       const FixRequest& request) {
  std::vector<FixRun> runs;
  for (const ValidatorConfig& validator : config.validators) {
    if (!validator.fix || !names_one_of(validator.agents, request.who)) continue;
    if (!validator.is_trusted) return fail(not_trusted(validator));
    GALLEY_ASSIGN(FixRun run, run_fixer(validator, overlay, request));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

Result<FixReport> fix_staged(const Config& config, Overlay& overlay, const FixRequest& request) {
  const Overlay::Entries before = overlay.entries();
  auto runs = run_fixers(config, overlay, request);
  if (!runs) {
    overlay.restore(before);
    return fail(runs.error());
  }
  return FixReport{*std::move(runs), staged_since(before, overlay)};
}

}  // namespace galley
