#include <nlohmann/json.hpp>
#include <utility>

#include "base/content_id.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

JsonDocument text_on_record(std::string_view text, const std::string& path) {
  nlohmann::ordered_json input = {{"bytes", text.size()}, {"sha256", ContentId::of(text).hex()}};
  if (!path.empty()) input["path"] = path;
  return std::make_shared<const nlohmann::ordered_json>(std::move(input));
}

/// Ends a staging that no tool call did: what the caller may not change in somebody else's
/// transaction is not staged, and what is staged is on record.
Result<void> Transaction::settle(const Overlay::Entries& before, AuditEvent event) {
  const Principals who = state_->options.principals();
  if (state_->stage && !who.is_alone()) {
    const auto denied =
        denied_changes(state_->workspace->config, who, before, state_->overlay.entries());
    if (!denied.empty()) {
      state_->overlay.restore(before);
      return refused_by(denied.front());
    }
  }
  const auto recorded = record(std::move(event));
  if (!recorded) state_->overlay.restore(before);
  return recorded;
}

Result<void> Transaction::check_may_edit(const RelPath& path) {
  const Policy policy(state_->workspace->config);
  const Principals who = state_->options.principals();
  GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(path));
  const bool is_new = node.kind == FileKind::kAbsent;
  for (const Judgement& judgement :
       {policy.judge_path(path, is_new ? PathOperation::kCreate : PathOperation::kModify, who),
        policy.judge_read(path, who)}) {
    if (judgement.decision == Decision::kDeny) return refused_by(judgement);
  }
  if (is_new || node.kind == FileKind::kRegular) return {};
  return fail(ErrorKind::kInvalid, "edit.no_file",
              "'" + path.str() + "' is no file: an editor can only be given files", path.str());
}

Result<std::string> Transaction::text_to_edit(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  GALLEY_TRY(check_may_edit(target));
  GALLEY_ASSIGN(const Node node, state_->overlay.node_without_content(target));
  if (node.kind == FileKind::kAbsent) return std::string();
  GALLEY_ASSIGN(const Content content, state_->overlay.read(target));
  return *content;
}

Result<void> Transaction::stage_edited(std::string_view path, std::string text) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  GALLEY_TRY(check_may_edit(target));
  AuditEvent event = own_event("call", state_->options);
  event.tool = "edit";
  event.input = text_on_record(text, target.str());
  const Overlay::Entries before = state_->overlay.entries();
  GALLEY_TRY(state_->overlay.write(target, std::move(text)));
  return settle(before, std::move(event));
}

}  // namespace galley
