// What people say beside galley.toml: grants, revocations, and a yes to one call.
#include <galley/workspace.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/granting.h"
#include "engine/pipeline/kept_grants.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

/// A change made in the same tick of the file system's clock as the look before it does not show in
/// the folder's times: what changed just now is read again (as git does with its index).
constexpr int64_t kSettledAfterNs = 2'000'000'000;

}  // namespace

Result<void> WorkspaceState::refresh_grants() {
  if (!state_directory) return {};
  const KeptGrants kept(*state_directory);
  const std::lock_guard guard(grants_mutex);
  GALLEY_ASSIGN(const FileStat now, kept.stat());
  if (grants_seen && *grants_seen == now) return {};
  const bool is_settled =
      now.kind == FileKind::kAbsent || system_clock.wall_ns() - now.ctime_ns > kSettledAfterNs;
  grants_seen = is_settled ? std::optional(now) : std::nullopt;
  const auto all = kept.list();
  auto pages = all ? pages_of(*all) : Result<GrantBook::Pages>(all.error());
  if (pages) {
    grant_book->replace(*std::move(pages));
    return {};
  }
  grants_seen.reset();
  grant_book->revoke_everything();
  return fail(pages.error());
}

Result<void> Workspace::grant(const std::string& agent, const std::string& capability,
                              const std::string& by, const TransactionOptions& who) {
  return say_grant(*state_, who, {agent, capability, false, by, 0});
}

Result<void> Workspace::revoke(const std::string& agent, const std::string& capability,
                               const std::string& by, const TransactionOptions& who) {
  return say_grant(*state_, who, {agent, capability, true, by, 0});
}

Result<std::vector<Workspace::Grant>> Workspace::grants() const {
  if (!state_->state_directory) return std::vector<Grant>();
  return KeptGrants(*state_->state_directory).list();
}

Result<void> Workspace::confirm(const std::string& id, const std::string& by,
                                const TransactionOptions& who) {
  GALLEY_TRY(state_->need_state());
  const AskedCalls asked(*state_->state_directory);
  const int64_t now = state_->clock().wall_ns();
  GALLEY_ASSIGN(const AskedCall call, asked.find(id, now));
  AuditEvent event;
  event.kind = AuditKind::kConfirmation;
  event.tool = call.question.tool;
  event.reason = "given beforehand by " + by;
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"call", call.id.hex()}, {"agent", call.question.agent}});
  const Error no_agent{ErrorKind::kRefused, "approval.by_agent",
                       "an agent does not approve; have a person say it, without --agent", "", 0};
  GALLEY_TRY(
      say_as_person(*state_, who, std::move(event), no_agent, [] { return Result<void>(); }));
  return asked.give(call, by, now);
}

Result<std::vector<CallOptions::Question>> Workspace::asked_calls() const {
  std::vector<CallOptions::Question> questions;
  if (!state_->state_directory) return questions;
  GALLEY_ASSIGN(auto calls, AskedCalls(*state_->state_directory).list(state_->clock().wall_ns()));
  for (AskedCall& call : calls) {
    if (call.by.empty()) questions.push_back(std::move(call.question));
  }
  return questions;
}

}  // namespace galley
