#include "engine/git_hooks/commit_links.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/audit/audit.h"
#include "engine/commit/writer_lock.h"

namespace galley {
namespace {

Result<void> record_link(AuditLog& log, const std::string& commit,
                         const ContributingTransaction& transaction) {
  AuditEvent event;
  event.kind = AuditKind::kLink;
  event.execution_id = "link-" + transaction.id.str() + "-" + commit;
  event.tool = "post-commit";
  event.agent = transaction.agent;
  event.tx = transaction.id.str();
  event.proposal = transaction.proposal.hex();
  event.output =
      std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"commit", commit}});
  GALLEY_TRY(log.append(event));
  return {};
}

}  // namespace

Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions) {
  const PersistentState& persistent = persistent_of(workspace);
  const StateDirectory* state = persistent.state();
  if (transactions.empty() || state == nullptr) return persistent.check_trusted();
  GALLEY_ASSIGN(const WriterLock lock, persistent.lock());
  GALLEY_ASSIGN(const CommitLinks known, read_commit_links(*state));
  std::vector<TxId> added;
  // The oldest transaction first, as in the complete list.
  for (auto one = transactions.rbegin(); one != transactions.rend(); ++one) {
    if (has_commit_link(known, one->id, commit)) continue;
    GALLEY_TRY(record_link(*persistent.audit(), commit, *one));
    added.push_back(one->id);
  }
  return add_commit_links(*state, lock, added, commit);
}

}  // namespace galley
