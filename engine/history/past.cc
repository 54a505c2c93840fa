#include "engine/history/past.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/commit/history_reader.h"
#include "engine/history/rebase.h"
#include "staging/overlay/layered_store.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

/// What every path that was touched after the transaction held just before it was touched first.
struct EarlierNodes {
  std::map<RelPath, Node> nodes;
  std::vector<std::shared_ptr<const ContentStore>> stores;
};

Result<EarlierNodes> nodes_after(const History& history, TxId id) {
  EarlierNodes earlier;
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  for (const TxId later : ids) {
    if (later <= id) continue;
    GALLEY_ASSIGN(const auto transaction, history.journal(later));
    for (const Change& change : transaction->changes) {
      earlier.nodes.try_emplace(change.path, change.before);
    }
    earlier.stores.push_back(transaction->store);
  }
  return earlier;
}

/// What is there now; nothing where a symbolic link has taken the place of a parent.
Result<Node> node_now(Overlay& view, const RelPath& path) {
  auto node = view.node(path);
  if (!node && node.error().reason == "path.through_symlink") return Node();
  return node;
}

}  // namespace

Result<Proposal> proposal_to_past(const History& history, const Directory& workspace, TxId id,
                                  const Clock& clock) {
  GALLEY_TRY(history.journal(id));
  GALLEY_ASSIGN(EarlierNodes earlier, nodes_after(history, id));
  auto store = std::make_shared<LayeredStore>(std::move(earlier.stores));
  Overlay view(workspace, make_memory_store(), clock);
  ChangeSet changes;
  for (auto& [path, node] : earlier.nodes) {
    GALLEY_ASSIGN(const Node now, node_now(view, path));
    if (node.kind == FileKind::kRegular && now.kind == FileKind::kRegular &&
        !store->get(node.content)) {
      // A journal need not keep a content that its transaction left as it was.
      node.content = now.content;
      node.size = now.size;
    }
    if (now == node) continue;
    if (now.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(const Content bytes, view.read(path));
      GALLEY_TRY(store->put(bytes));
    } else if (now.kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(std::string target, view.read_link(path));
      GALLEY_TRY(store->put(std::move(target)));
    }
    changes.push_back(Change{path, now, node, {}, {}, {}});
  }
  // Nothing here can conflict but directories: those that hold what no transaction made stay.
  const Proposal change = Proposal::from(std::move(changes), std::move(store));
  GALLEY_ASSIGN(RebaseOutcome outcome, rebase(change, workspace, clock));
  if (auto* fits = std::get_if<Rebased>(&outcome)) return std::move(fits->proposal);
  const PathConflict& first = std::get<RebaseConflict>(outcome).paths.front();
  return fail(ErrorKind::kConflict, "history.past_blocked",
              "the tree as it was after " + id.str() + " cannot be shown: " + first.message,
              first.path.str());
}

}  // namespace galley
