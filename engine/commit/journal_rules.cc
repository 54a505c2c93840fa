#include "engine/commit/journal_rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "engine/commit/history_reader.h"
#include "engine/commit/inheritance.h"
#include "engine/policy/effects.h"
#include "staging/fs/user_state.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

bool has_attribute(const JournalSide& side, const ExtendedAttribute& wanted) {
  return std::find(side.attributes.begin(), side.attributes.end(), wanted) != side.attributes.end();
}

class RuleCheck {
 public:
  RuleCheck(const Directory& workspace, const StateDirectory& state, const Journal& journal,
            JournalTrust trust)
      : workspace_(workspace),
        state_(state),
        journal_(journal),
        trust_(trust),
        moved_(moved_directories(journal.ops)) {}

  Result<std::string> run() {
    // An aborted journal restores what it saw itself, and its own statement about that counts.
    if (journal_.is_aborted && trust_ == JournalTrust::kOwn) return std::string();
    for (const auto& op : journal_.ops) {
      if (target(op).node.kind == FileKind::kAbsent) continue;
      GALLEY_ASSIGN(std::string broken, check_gifts(op));
      if (!broken.empty()) return broken;
    }
    return check_links();
  }

 private:
  using Predicate = std::function<bool(const JournalSide&)>;

  [[nodiscard]] const JournalSide& target(const JournalOp& op) const {
    return journal_.is_aborted ? op.before : op.after;
  }
  /// Owner, group and attributes that the path would get.
  Result<std::string> check_gifts(const JournalOp& op);
  Result<std::vector<JournalSide>> sources_of(const JournalOp& op) const;
  Result<JournalSide> side_on_disk(const RelPath& path) const;
  /// Whether an earlier transaction recorded this path in that state: an undo restores what a
  /// deletion removed.
  Result<bool> was_so_once(const RelPath& path, const Predicate& matches);
  Result<bool> is_group_of_parents(const RelPath& path, uint32_t gid) const;
  Result<std::string> check_links();

  const Directory& workspace_;
  const StateDirectory& state_;
  const Journal& journal_;
  JournalTrust trust_;
  std::map<RelPath, RelPath> moved_;
  std::optional<std::vector<TxId>> unread_;      ///< earlier transactions, oldest first
  std::multimap<RelPath, JournalSide> earlier_;  ///< what the others found at paths of the journal
};

Result<JournalSide> RuleCheck::side_on_disk(const RelPath& path) const {
  JournalSide side;
  const auto stat = workspace_.stat(path);
  // The path is behind a link. Recovery leaves such a path alone, so it is not a source.
  if (!stat && stat.error().kind == ErrorKind::kRefused) return side;
  if (!stat) return stat.error();
  side.node.kind = stat->kind;
  side.uid = stat->uid;
  side.gid = stat->gid;
  if (stat->kind == FileKind::kAbsent) return side;
  GALLEY_ASSIGN(side.attributes, workspace_.attributes(path));
  return side;
}

Result<std::vector<JournalSide>> RuleCheck::sources_of(const JournalOp& op) const {
  std::vector<JournalSide> sources;
  const auto add = [&](const RelPath& path) -> Result<void> {
    JournalSide side;
    if (trust_ == JournalTrust::kForeign) {
      GALLEY_ASSIGN(side, side_on_disk(path));
    } else {
      const JournalOp* const at = op_at(journal_.ops, path);
      if (at != nullptr) side = at->before;
    }
    if (side.node.kind != FileKind::kAbsent) sources.push_back(std::move(side));
    return {};
  };
  GALLEY_TRY(add(op.path));
  if (op.renamed_from) GALLEY_TRY(add(*op.renamed_from));
  if (op.copied_from) GALLEY_TRY(add(*op.copied_from));
  const auto moved = moved_.find(op.path);
  if (moved != moved_.end() && !moved->second.is_root()) GALLEY_TRY(add(moved->second));
  return sources;
}

Result<bool> RuleCheck::was_so_once(const RelPath& path, const Predicate& matches) {
  if (trust_ == JournalTrust::kForeign) return false;
  if (!unread_) {
    GALLEY_ASSIGN(unread_, committed_ids(state_));
    std::erase_if(*unread_, [this](TxId id) { return id >= journal_.id; });
  }
  for (;;) {
    const auto [first, last] = earlier_.equal_range(path);
    if (std::any_of(first, last, [&](const auto& each) { return matches(each.second); })) {
      return true;
    }
    if (unread_->empty()) return false;
    const auto earlier = load_committed(state_, unread_->back(), ImageUse::kSkip);
    unread_->pop_back();
    if (!earlier) continue;  // damaged; doctor reports it
    for (const JournalOp& op : earlier->journal.ops) {
      const bool counts =
          op.before.node.kind != FileKind::kAbsent && op_at(journal_.ops, op.path) != nullptr;
      if (counts) earlier_.emplace(op.path, op.before);
    }
  }
}

/// A new file takes the group of a set-group-id directory.
Result<bool> RuleCheck::is_group_of_parents(const RelPath& path, uint32_t gid) const {
  GALLEY_ASSIGN(const FileStat own, state_.root().stat(RelPath::root()));
  if (own.gid == gid) return true;
  for (RelPath parent = path;;) {
    parent = parent.parent();
    const auto stat = workspace_.stat(parent);
    if (stat && stat->kind == FileKind::kDirectory && stat->gid == gid) return true;
    if (parent.is_root()) return false;
  }
}

Result<std::string> RuleCheck::check_gifts(const JournalOp& op) {
  const JournalSide& side = target(op);
  GALLEY_ASSIGN(const auto sources, sources_of(op));
  const auto is_known = [&](const Predicate& matches) -> Result<bool> {
    if (std::any_of(sources.begin(), sources.end(), matches)) return true;
    return was_so_once(op.path, matches);
  };
  // A call of the transaction set the owner, which its commit has judged. The journal of another
  // place may not give anything away (ADR 106).
  const bool is_staged = side.node.owner.has_value() && trust_ == JournalTrust::kOwn;
  // Only root can change an owner.
  if (is_root_user() && !is_own_user(side.uid) && !is_staged) {
    GALLEY_ASSIGN(const bool has,
                  is_known([&](const JournalSide& one) { return one.uid == side.uid; }));
    if (!has) {
      return "it gives '" + op.path.str() + "' to the user " + std::to_string(side.uid) +
             ", who did not own it";
    }
  }
  if (is_root_user() && trust_ == JournalTrust::kForeign) {
    GALLEY_ASSIGN(const bool is_inherited, is_group_of_parents(op.path, side.gid));
    const bool has =
        is_inherited || std::any_of(sources.begin(), sources.end(),
                                    [&](const auto& one) { return one.gid == side.gid; });
    if (!has) {
      return "it gives '" + op.path.str() + "' to the group " + std::to_string(side.gid) +
             ", which did not own it";
    }
  }
  for (const auto& attribute : side.attributes) {
    if (!is_privileged(attribute)) continue;
    GALLEY_ASSIGN(const bool has,
                  is_known([&](const JournalSide& one) { return has_attribute(one, attribute); }));
    if (!has) {
      return "it gives '" + op.path.str() + "' the attribute " + attribute.name +
             ", which it did not have";
    }
  }
  return std::string();
}

Result<std::string> RuleCheck::check_links() {
  ChangeSet changes = journal_.changes();
  const auto store = make_memory_store();
  std::vector<const Change*> links;
  for (auto& change : changes) {
    if (journal_.is_aborted) std::swap(change.before, change.after);
    if (change.after.kind != FileKind::kSymlink) continue;
    const auto image = journal_.images.find(change.after.content);
    if (image == journal_.images.end()) {
      return "it has no target for the symbolic link '" + change.path.str() + "'";
    }
    GALLEY_TRY(store->keep(change.after.content, image->second));
    links.push_back(&change);
  }
  if (links.empty()) return std::string();
  const Proposal proposal = Proposal::from(changes, store);
  const ProposedTree tree(proposal, workspace_);
  for (const Change* link : links) {
    const std::string& goal = *journal_.images.at(link->after.content);
    const auto there = workspace_.read_link(link->path);
    if (there && *there == goal) continue;
    GALLEY_ASSIGN(const LinkEnd end, follow_link(tree, link->path, goal));
    if (end != LinkEnd::kOutside && end != LinkEnd::kProtected) continue;
    GALLEY_ASSIGN(const bool returns, was_so_once(link->path, [&](const JournalSide& one) {
                    return one.node.kind == FileKind::kSymlink &&
                           one.node.content == link->after.content;
                  }));
    if (returns) continue;
    return "it makes '" + link->path.str() + "' a symbolic link that leads " +
           (end == LinkEnd::kOutside ? "outside the workspace" : "into a protected directory") +
           " (to " + goal + ")";
  }
  return std::string();
}

}  // namespace

bool is_privileged(const ExtendedAttribute& attribute) {
  return attribute.name.starts_with("security.") || attribute.name.starts_with("trusted.");
}

Result<std::string> broken_rule(const Directory& workspace, const StateDirectory& state,
                                const Journal& journal, JournalTrust trust) {
  return RuleCheck(workspace, state, journal, trust).run();
}

Result<void> check_journal_rules(const Directory& workspace, const StateDirectory& state,
                                 const std::vector<JournalVerdict>& journals, JournalTrust trust) {
  for (const auto& verdict : journals) {
    const TxId id = verdict.journal.id;
    GALLEY_ASSIGN(const std::string broken, broken_rule(workspace, state, verdict.journal, trust));
    if (broken.empty()) continue;
    return fail(ErrorKind::kRefused, "journal.forbidden",
                "the journal of transaction " + id.str() +
                    " describes what no commit may do: " + broken + "; nothing was touched, " +
                    (trust == JournalTrust::kOwn ? "`galley doctor --repair` sets it aside"
                                                 : "move '.galley' away"),
                ".galley/j/" + journal_name(id).str());
  }
  return {};
}

}  // namespace galley
