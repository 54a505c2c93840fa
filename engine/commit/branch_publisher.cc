#include "engine/commit/branch_publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file_mode.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/commit/base_check.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/leftovers.h"
#include "engine/commit/plan.h"
#include "engine/commit/retire.h"
#include "engine/commit/workspace_view.h"
#include "staging/git/git_writer.h"

// The state machine of one commit. Below each state is the branch after a crash:
//
//   lock, recover --> compare bases --> objects of git --> slot/<tx>/<tx>.j --> move the branch
//   old               old               old                old                  new
//
//   --> undo/<tx>.j, link, audit record --> Receipt
//       new
//
// The move of the branch is the commit point: git compares and swaps it under its own lock. Until
// then, the journal is only prepared, so no reader of the history sees it. Recovery asks git
// whether the branch has the commit that a prepared journal names.

namespace galley {
namespace {

constexpr uint32_t kGitFile = 0100644;
constexpr uint32_t kGitExecutable = 0100755;
constexpr uint32_t kGitSymlink = 0120000;
constexpr uint32_t kPlainFile = 0644;
constexpr uint32_t kOwnerExecute = 0100;
constexpr size_t kProposalDigits = 12;
constexpr size_t kMaxSubjectBytes = 72;
constexpr int64_t kNewJournalNs = 60'000'000'000;  // no git process moves a branch for a minute

/// The node as git stores it.
Node stored_node(Node node) {
  if (node.kind == FileKind::kRegular || node.kind == FileKind::kDirectory) {
    const bool runs = node.kind == FileKind::kDirectory || (node.mode & kOwnerExecute) != 0;
    node.mode = runs ? 0755 : kPlainFile;
  }
  return node;
}

uint32_t git_mode_of(const Node& node) {
  if (node.kind == FileKind::kSymlink) return kGitSymlink;
  if (node.kind != FileKind::kRegular) return 0;
  return (node.mode & kOwnerExecute) != 0 ? kGitExecutable : kGitFile;
}

RelPath slot_of(TxId id) { return chosen_path(id.file_name()); }

Result<Node> node_in(const Directory& files, const RelPath& path) {
  auto stat = files.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return Node();
  if (!stat) return fail(stat.error());
  Node node;
  node.kind = stat->kind;
  if (stat->kind == FileKind::kDirectory) node.mode = stat->mode & kPermissionBits;
  if (stat->kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string link, files.read_link(path));
    node.content = ContentId::of(link);
    node.size = link.size();
  }
  if (stat->kind == FileKind::kRegular) {
    GALLEY_ASSIGN(const auto file, files.open_file(path));
    GALLEY_ASSIGN(node.content, hash_file(*file));
    node.mode = stat->mode & kPermissionBits;
    node.size = stat->size;
  }
  return node;
}

/// Compares the bases of a proposal with a tree of git.
class TreeCheck {
 public:
  TreeCheck(const Proposal& proposal, const Directory& files)
      : changes_(proposal.changes()), reads_(proposal.reads()), files_(files) {}

  Result<std::optional<Conflict>> run() {
    Conflict conflict;
    for (const Change& change : changes_) {
      GALLEY_ASSIGN(const auto found, misfit(change));
      if (found) conflict.paths.push_back(*found);
    }
    if (!conflict.paths.empty()) return std::optional(std::move(conflict));
    for (const Read& read : reads_) {
      if (conflict.paths.size() >= kMaxReadConflicts) break;
      GALLEY_ASSIGN(const auto found, misfit(read));
      if (found) conflict.paths.push_back(*found);
    }
    if (conflict.paths.empty()) return std::optional<Conflict>();
    conflict.reason = "conflict.read_changed";
    return std::optional(std::move(conflict));
  }

 private:
  Result<std::optional<ConflictPath>> misfit(const Change& change) const {
    GALLEY_ASSIGN(const Node now, node_in(files_, change.path));
    if (now != change.before) return std::optional(make_conflict(change.path, change.before, now));
    const bool goes =
        change.before.kind == FileKind::kDirectory && change.after.kind != FileKind::kDirectory;
    GALLEY_ASSIGN(const bool is_kept, goes ? has_others(change.path) : Result<bool>(false));
    if (is_kept) return std::optional(with_message(change, "has other entries now"));
    const RelPath parent = change.path.parent();
    if (change.after.kind == FileKind::kAbsent || parent.is_root()) return nothing();
    if (find_change(changes_, parent) != nullptr) return nothing();
    GALLEY_ASSIGN(const Node folder, node_in(files_, parent));
    if (folder.kind == FileKind::kDirectory) return nothing();
    return std::optional(with_message(change, "is in a directory that is gone"));
  }

  Result<std::optional<ConflictPath>> misfit(const Read& read) const {
    Node now = read.node;
    if (!read.is_changed && !read.path.is_root()) {
      GALLEY_ASSIGN(now, node_in(files_, read.path));
    }
    if (now != read.node) return std::optional(make_conflict(read.path, read.node, now));
    if (!read.listing) return nothing();
    GALLEY_ASSIGN(auto entries, entries_of(read.path));
    if (listing_id(std::move(entries)) == *read.listing) return nothing();
    return std::optional(make_listing_conflict(read));
  }

  Result<std::vector<DirectoryEntry>> entries_of(const RelPath& path) const {
    if (path.is_root()) return files_.list();
    GALLEY_ASSIGN(const auto folder, files_.open_directory(path));
    return folder->list();
  }

  /// Whether the directory has an entry that the proposal does not remove.
  Result<bool> has_others(const RelPath& directory) const {
    GALLEY_ASSIGN(const auto entries, entries_of(directory));
    for (const DirectoryEntry& entry : entries) {
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? directory.join(*name) : Result<RelPath>(name.error());
      const Change* gone = path ? find_change(changes_, *path) : nullptr;
      if (gone == nullptr || gone->after.kind != FileKind::kAbsent) return true;
    }
    return false;
  }

  static ConflictPath with_message(const Change& change, const std::string& words) {
    ConflictPath path = make_conflict(change.path, change.before, change.before);
    path.message = "'" + change.path.str() + "' " + words;
    return path;
  }
  static Result<std::optional<ConflictPath>> nothing() { return std::optional<ConflictPath>(); }

  const ChangeSet& changes_;
  const std::vector<Read>& reads_;
  const Directory& files_;
};

/// New directories without a new file below them.
std::vector<std::string> empty_directories(const std::vector<JournalOp>& ops) {
  std::set<RelPath> filled;
  for (const JournalOp& op : ops) {
    if (!is_file_or_link(op.after.node)) continue;
    for (RelPath at = op.path.parent(); !at.is_root() && filled.insert(at).second;)
      at = at.parent();
  }
  std::vector<std::string> paths;
  for (const JournalOp& op : ops) {
    const bool is_new =
        op.after.node.kind == FileKind::kDirectory && op.before.node.kind != FileKind::kDirectory;
    if (is_new && filled.count(op.path) == 0) paths.push_back(op.path.str());
  }
  return paths;
}

/// Lines that git or a reader would take for the end of the message or for a trailer are indented.
std::string body_of(std::string_view reason) {
  std::string text;
  while (!reason.empty()) {
    const std::string_view line = take_line(reason);
    if (line.starts_with("---") || line.starts_with("Galley-")) text += ' ';
    text.append(line) += '\n';
  }
  return text;
}

/// The subject, the body and the trailers of the commit.
std::string message_of(const Journal& journal, const std::string& verdict) {
  const CommitMeta& meta = journal.meta;
  const std::string reason(trim(printable(meta.message)));
  std::string subject = reason.substr(0, reason.find('\n'));
  if (subject.empty() && meta.undoes) {
    subject = fmt::format("Revert galley transaction {}", meta.undoes->str());
  }
  if (subject.empty() && journal.ops.size() == 1) {
    subject = "Change " + printable_line(journal.ops.front().path.str(), kMaxSubjectBytes);
  }
  if (subject.empty()) subject = "Change " + counted(journal.ops.size(), "path");
  std::string text = subject + "\n\n";
  const size_t first_line = reason.find('\n');
  if (first_line != std::string::npos) {
    text += body_of(trim(reason.substr(first_line))) + "\n";
  }
  text += fmt::format("Galley-Transaction: {} {}\n", journal.id.str(),
                      journal.proposal.hex().substr(0, kProposalDigits));
  if (meta.undoes) text += fmt::format("Galley-Undoes: {}\n", meta.undoes->str());
  if (!meta.agent.empty()) text += "Galley-Agent: " + printable_line(meta.agent) + "\n";
  if (!meta.session.empty()) text += "Galley-Session: " + meta.session + "\n";
  if (!reason.empty()) text += "Galley-Reason: " + printable_line(subject) + "\n";
  return text + "Galley-Verdict: " + verdict + "\n";
}

Conflict branch_moved(const GitBranch& branch, const GitTip& judged, const std::string& now) {
  Conflict conflict;
  conflict.reason = kBranchMoved;
  ConflictPath path;
  path.message = fmt::format("the branch {} moved from {} to {} meanwhile", branch.name(),
                             judged.commit.substr(0, kProposalDigits),
                             now.empty() ? "nothing" : now.substr(0, kProposalDigits));
  conflict.paths.push_back(std::move(path));
  return conflict;
}

/// Completes the records of a commit that the branch has, and moves its journal into the history.
/// Everything before the rename can be repeated. The result has warnings about records that are
/// only in the journal.
Result<std::vector<std::string>> finish_record(const StateDirectory& state, WriterLock& lock,
                                               const Journal& journal, AuditSink* audit) {
  std::vector<std::string> warnings;
  const auto& records = journal.meta.audit;
  if (audit != nullptr && !records.empty()) {
    const auto added = audit->settle(records);
    if (!added) {
      warnings.push_back("the audit log could not be written (" + added.error().message +
                         "); the record is in the journal of this transaction");
    }
  }
  const auto linked = add_commit_links(state, lock, {journal.id}, journal.meta.git_commit);
  if (!linked) {
    warnings.push_back("the log cannot name the commit of git: " + linked.error().message);
  }
  const RelPath name = journal_name(journal.id);
  GALLEY_ASSIGN(const auto slot, state.slots().open_writable_directory(slot_of(journal.id)));
  GALLEY_TRY(lock.forget_if_before(journal.id));
  GALLEY_TRY(slot->rename(name, state.undo(), name, RenameMode::kReplace));
  lock.remember(journal.id, journal.boot);
  static_cast<void>(remove_tree(state.slots(), slot_of(journal.id)));
  return warnings;
}

/// Whether the branch has the commit of a prepared journal.
///
/// The git process of a killed Galley may still be about to move the branch. So recovery makes the
/// same compare-and-swap itself while the journal is new. Afterwards the other one cannot succeed.
Result<bool> decide_move(const GitBranch& branch, const Journal& journal, int64_t now_ns,
                         bool dry_run) {
  const std::string& commit = journal.meta.git_commit;
  if (commit.empty()) return false;
  GALLEY_ASSIGN(const bool is_there, branch.contains(commit));
  const bool is_new = std::abs(now_ns - journal.time_ns) < kNewJournalNs;
  if (is_there || !is_new) return is_there;
  const auto parent = branch.trees()->objects().look(commit + "^");
  const auto tip = branch.tip();
  if (!parent || !tip || tip->commit != parent->id) return false;
  GALLEY_ASSIGN(const GitWorkPlace place, branch.work_tree_with_it());
  if (!place.path.empty() || dry_run) return place.path.empty();
  return branch.move(parent->id, commit, "galley: transaction " + journal.id.str());
}

Error checked_out(const GitBranch& branch, const GitWorkPlace& place) {
  const char* way_out =
      place.is_gone ? "a folder that does not exist any more: forget it with git worktree prune"
                    : "whose files would no longer match it: work there without --repo, or name "
                      "another branch";
  return {ErrorKind::kRefused, "git.checked_out",
          fmt::format("the branch {} is checked out in '{}', {}", branch.name(),
                      printable_line(place.path), way_out)};
}

/// The highest number of a journal in quarantine, or 0. The branch may have its commit.
Result<TxId> last_in_quarantine(const StateDirectory& state) {
  TxId last;
  const auto quarantine = state.root().open_directory(state.own("quarantine"));
  if (!quarantine && quarantine.error().kind == ErrorKind::kNotFound) return last;
  if (!quarantine) return fail(quarantine.error());
  GALLEY_ASSIGN(const auto entries, (*quarantine)->list());
  for (const DirectoryEntry& entry : entries) {
    if (const auto id = TxId::parse(entry.name)) last = std::max(last, *id);
  }
  return last;
}

/// One run of publish_to_branch().
class BranchAttempt {
 public:
  BranchAttempt(const BranchTarget& target, const Clock& clock, const PublisherOptions& options,
                const Proposal& proposal)
      : target_(target), clock_(clock), options_(options), proposal_(proposal) {}

  Result<PublishOutcome> run(const CommitMeta& meta);

 private:
  Result<void> lock();
  Result<void> describe(const CommitMeta& meta);
  Result<PublishOutcome> prepare_and_move();
  Result<std::vector<GitPathChange>> write_contents();
  Result<void> write_commit();
  Result<void> check_commit(const std::string& tree) const;
  Result<void> write_journal();
  Receipt finish();
  void drop_slot() { static_cast<void>(remove_tree(target_.state.slots(), slot_of(journal_.id))); }

  const BranchTarget& target_;
  const Clock& clock_;
  const PublisherOptions& options_;
  const Proposal& proposal_;
  const std::string boot_ = options_.boot_id ? *options_.boot_id : current_boot_id();
  const std::string session_ = target_.state.session(boot_);
  std::optional<WriterLock> own_lock_;
  WriterLock* lock_ = nullptr;
  Journal journal_;
  std::unique_ptr<WritableDirectory> slot_;
};

Result<PublishOutcome> BranchAttempt::run(const CommitMeta& meta) {
  GALLEY_ASSIGN(Plan plan, make_plan(proposal_.changes()));
  journal_.ops = std::move(plan.ops);
  for (JournalOp& op : journal_.ops) op.after.node = stored_node(op.after.node);
  GALLEY_TRY(check_git_can_store(proposal_.changes(), target_.branch));
  GALLEY_TRY(lock());
  GALLEY_ASSIGN(const GitWorkPlace place, target_.branch.work_tree_with_it());
  if (!place.path.empty()) return fail(checked_out(target_.branch, place));
  GALLEY_ASSIGN(const GitTip now, target_.branch.tip());
  if (now != target_.judged.tip) {
    return PublishOutcome(branch_moved(target_.branch, target_.judged.tip, now.commit));
  }
  const GitTree files(target_.branch.trees(), now.tree);
  GALLEY_ASSIGN(auto conflict, find_conflict(proposal_, files));
  if (conflict) return PublishOutcome(*std::move(conflict));
  GALLEY_TRY(describe(meta));
  auto outcome = prepare_and_move();
  // If the move may have happened, recovery needs the slot. If it has, finish_record() drops it.
  const bool may_have_moved = !outcome && outcome.error().kind == ErrorKind::kUndecided;
  const bool has_moved = outcome && std::holds_alternative<Receipt>(*outcome);
  if (!may_have_moved && !has_moved) drop_slot();
  return outcome;
}

Result<void> BranchAttempt::lock() {
  lock_ = options_.lock;
  if (lock_ == nullptr) {
    GALLEY_ASSIGN(own_lock_, WriterLock::take(target_.state, clock_, options_.lock_timeout));
    lock_ = &*own_lock_;
  }
  RecoveryOptions recovery;
  recovery.boot_id = boot_;
  recovery.audit = options_.audit;
  GALLEY_TRY(recover_branch(target_.branch, target_.state, *lock_, clock_, recovery));
  GALLEY_ASSIGN(journal_.parent, last_transaction(target_.state, *lock_, session_));
  GALLEY_ASSIGN(const TxId unusable, last_in_quarantine(target_.state));
  journal_.id.value = std::max(journal_.parent, unusable).value + 1;
  return {};
}

Result<void> BranchAttempt::describe(const CommitMeta& meta) {
  journal_.workspace = target_.state.workspace_id();
  journal_.boot = session_;
  journal_.proposal = proposal_.id();
  journal_.meta = meta;
  if (options_.records) {
    GALLEY_ASSIGN(auto records, options_.records(journal_.id));
    std::move(records.begin(), records.end(), std::back_inserter(journal_.meta.audit));
  }
  return check_journal_limits(journal_);
}

Result<PublishOutcome> BranchAttempt::prepare_and_move() {
  GALLEY_TRY(make_directories(target_.state.slots(), slot_of(journal_.id), kPrivateDirectory));
  GALLEY_ASSIGN(slot_, target_.state.slots().open_writable_directory(slot_of(journal_.id)));
  GALLEY_TRY(write_commit());
  GALLEY_TRY(write_journal());
  GALLEY_TRY(options_.check_not_stopped());
  const std::string& from = target_.judged.tip.commit;
  GALLEY_ASSIGN(const bool is_moved,
                target_.branch.move(from, journal_.meta.git_commit,
                                    "galley: transaction " + journal_.id.str()));
  if (is_moved) return PublishOutcome(finish());
  const auto now = target_.branch.tip();
  return PublishOutcome(
      branch_moved(target_.branch, target_.judged.tip, now ? now->commit : std::string()));
}

/// Writes the new contents as blobs.
Result<std::vector<GitPathChange>> BranchAttempt::write_contents() {
  std::vector<GitPathChange> changed;
  std::vector<std::string> files;
  std::vector<size_t> owners;
  for (size_t i = 0; i < journal_.ops.size(); ++i) {
    const JournalOp& op = journal_.ops[i];
    const Node& before = op.before.node;
    const Node& after = op.after.node;
    // Git has no entry of its own for a directory.
    if (!is_file_or_link(before) && !is_file_or_link(after)) continue;
    changed.push_back({op.path, git_mode_of(after), {}});
    if (!is_file_or_link(after)) continue;
    const std::string name = std::to_string(i);
    GALLEY_ASSIGN(const Content content, proposal_.content(after));
    GALLEY_ASSIGN(const auto file,
                  slot_->open_writable_file(chosen_path(name), OpenMode::kCreateNew, kPrivateFile));
    GALLEY_TRY(file->write_at(0, *content));
    files.push_back(target_.state_path + "/slot/" + journal_.id.file_name() + "/" + name);
    owners.push_back(changed.size() - 1);
  }
  const GitWriter writer(target_.branch.writers(), options_.durability == Durability::kFull);
  GALLEY_ASSIGN(const auto ids, writer.blobs(files));
  for (size_t i = 0; i < ids.size(); ++i) changed[owners[i]].id = ids[i];
  return changed;
}

Result<void> BranchAttempt::write_commit() {
  GALLEY_ASSIGN(const auto changed, write_contents());
  const GitWriter writer(target_.branch.writers(), options_.durability == Durability::kFull);
  GALLEY_ASSIGN(const std::string tree,
                writer.tree(*target_.branch.trees(), target_.judged.tip.tree, changed));
  GALLEY_TRY(check_commit(tree));
  GALLEY_ASSIGN(
      journal_.meta.git_commit,
      writer.commit(tree, target_.judged.tip.commit, message_of(journal_, target_.judged.verdict)));
  return {};
}

/// Reads the new tree back: what lands is exactly what was approved.
Result<void> BranchAttempt::check_commit(const std::string& tree) const {
  const GitTree files(target_.branch.trees(), tree);
  for (const JournalOp& op : journal_.ops) {
    if (!is_file_or_link(op.before.node) && !is_file_or_link(op.after.node)) continue;
    GALLEY_ASSIGN(const Node now, node_in(files, op.path));
    const Node& wanted = op.after.node;
    const bool is_right = is_file_or_link(wanted) ? now == wanted : !is_file_or_link(now);
    if (is_right) continue;
    return fail(ErrorKind::kIo, "git.wrong_tree",
                "git stored '" + op.path.str() +
                    "' differently from what was approved, so "
                    "nothing was committed; look at: git fsck",
                op.path.str());
  }
  return {};
}

Result<void> BranchAttempt::write_journal() {
  journal_.time_ns = clock_.wall_ns();
  std::map<ContentId, Node> contents;
  for (const JournalOp& op : journal_.ops) {
    for (const Node& node : {op.before.node, op.after.node}) {
      if (is_file_or_link(node)) contents.emplace(node.content, node);
    }
  }
  GALLEY_ASSIGN(const auto file, slot_->open_writable_file(journal_name(journal_.id),
                                                           OpenMode::kCreateNew, kPrivateFile));
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  journal_.stamp_ns = stat.mtime_ns;
  JournalWriter writer(*file);
  GALLEY_TRY(writer.begin(journal_));
  for (const auto& [id, node] : contents) {
    if (node.size > kMaxImageBytes) continue;
    GALLEY_ASSIGN(const Content content, proposal_.content(node));
    GALLEY_TRY(writer.image(id, *content));
  }
  GALLEY_ASSIGN(journal_.blobs, write_blobs(target_.state.root(), target_.state.own("blob"),
                                            journal_.ops, *proposal_.store()));
  for (const auto& [id, size] : journal_.blobs) GALLEY_TRY(writer.blob(id, size));
  GALLEY_TRY(writer.finish());
  GALLEY_TRY(JournalTrailer(*file, writer).applied(session_));
  switch (options_.durability) {
    case Durability::kFull:
      GALLEY_TRY(file->sync_data());
      GALLEY_TRY(slot_->sync());
      return target_.state.slots().sync();
    case Durability::kGroup:
      return slot_->sync_file_system();
    case Durability::kNone:
      break;
  }
  return {};
}

Receipt BranchAttempt::finish() {
  Receipt receipt;
  receipt.id = journal_.id;
  receipt.proposal = proposal_.id();
  receipt.time_ns = journal_.time_ns;
  receipt.changes = proposal_.changes();
  receipt.git_commit = journal_.meta.git_commit;
  auto finished = finish_record(target_.state, *lock_, journal_, options_.audit);
  if (finished) {
    receipt.warnings = *std::move(finished);
  } else {
    receipt.warnings.push_back(
        "the history could not be written (" + finished.error().message +
        "); the branch has the commit, and the next galley command tries again");
  }
  if (const auto shown = target_.branch.follow(); !shown) {
    receipt.warnings.push_back("the branch cannot be read now: " + shown.error().message);
  }
  for (const std::string& path : empty_directories(journal_.ops)) {
    receipt.warnings.push_back("git stores no empty directories: '" + path +
                               "' is not in the commit");
  }
  return receipt;
}

}  // namespace

Result<void> check_git_can_store(const ChangeSet& changes, const GitBranch& branch) {
  const GitTree files(branch.trees(), branch.shown().tree);
  bool has_file = false;
  for (const Change& change : changes) {
    has_file |= is_file_or_link(change.before) || is_file_or_link(change.after);
    const Node stored = stored_node(change.after);
    // As in git, a new content has the mode that is nearest to its own.
    const bool is_mode_only = change.before.kind == change.after.kind &&
                              change.after.kind == FileKind::kRegular &&
                              change.before.content == change.after.content;
    const bool is_mode_lost =
        change.before.mode != change.after.mode && stored.mode != change.after.mode;
    if (is_mode_only && is_mode_lost) {
      return fail(ErrorKind::kRefused, "git.mode",
                  fmt::format("git stores only whether '{}' is executable, not the mode {:04o}: "
                              "set 0644 or 0755",
                              change.path.str(), change.after.mode),
                  change.path.str());
    }
    if (change.after.owner) {
      return fail(
          ErrorKind::kRefused, "git.owner",
          "git stores no owners: leave that of '" + change.path.str() + "' out of the change",
          change.path.str());
    }
    const std::string& path = change.path.str();
    const bool is_modules = folded_name(change.path.name()) == ".gitmodules";
    if (change.after.kind == FileKind::kSymlink && is_modules) {
      return fail(ErrorKind::kRefused, "git.modules_link",
                  "git refuses a commit in which '" + path + "' is a symbolic link: make it a file",
                  path);
    }
    for (RelPath at = change.path; !at.is_root(); at = at.parent()) {
      const auto entry = files.entry(at);
      if (!entry || (entry->mode & kGitTypeMask) != kGitLinkMode) continue;
      return fail(submodule_error(change.path.str()));
    }
  }
  if (has_file || changes.empty()) return {};
  return fail(ErrorKind::kRefused, "git.only_directories",
              "git stores no empty directories, and nothing else changes: put a file into it");
}

Result<std::optional<Conflict>> find_conflict(const Proposal& proposal, const Directory& tree) {
  return TreeCheck(proposal, tree).run();
}

Result<PublishOutcome> publish_to_branch(const BranchTarget& target, const Clock& clock,
                                         const PublisherOptions& options, const Proposal& proposal,
                                         const Approval& approval, const CommitMeta& meta) {
  GALLEY_CHECK(approval.proposal() == proposal.id());
  return BranchAttempt(target, clock, options, proposal).run(meta);
}

Result<RecoveryReport> recover_branch(const GitBranch& branch, const StateDirectory& state,
                                      WriterLock& lock, const Clock& clock,
                                      const RecoveryOptions& options) {
  using Kind = RecoveryAction::Kind;
  RecoveryReport report;
  GALLEY_ASSIGN(const auto entries, state.slots().list());
  for (const DirectoryEntry& entry : entries) {
    const auto id = TxId::from_file_name(entry.name);
    if (!id) continue;
    GALLEY_ASSIGN(const auto slot, state.slots().open_writable_directory(slot_of(*id)));
    auto verdict = read_journal(state, *slot, *id, ImageUse::kSkip);
    if (!verdict && verdict.error().kind != ErrorKind::kNotFound) return fail(verdict.error());
    GALLEY_ASSIGN(const FileStat kept, state.undo().stat(journal_name(*id)));
    if (!verdict && kept.kind == FileKind::kRegular) {  // only the folder is left
      if (!options.dry_run) GALLEY_TRY(remove_tree(state.slots(), slot_of(*id)));
      continue;
    }
    if (verdict && verdict->state == JournalState::kDamaged) {
      report.actions.push_back({Kind::kDamagedJournal, *id, "", verdict->problem});
      if (options.dry_run) continue;
      GALLEY_TRY(lock.forget_last());
      GALLEY_TRY(quarantine(state, *slot, *id));
      GALLEY_TRY(remove_tree(state.slots(), slot_of(*id)));
      continue;
    }
    bool was_made = false;
    if (verdict && verdict->state == JournalState::kCommitted) {
      GALLEY_ASSIGN(was_made,
                    decide_move(branch, verdict->journal, clock.wall_ns(), options.dry_run));
    }
    if (was_made) {
      report.actions.push_back({Kind::kFinishJournal, *id, "",
                                "the branch has its commit " + verdict->journal.meta.git_commit,
                                true});
    } else {
      report.actions.push_back(
          {Kind::kDropJournal, *id, "", "never committed: the branch does not have its commit"});
    }
    if (options.dry_run) continue;
    if (!was_made) {
      GALLEY_TRY(remove_tree(state.slots(), slot_of(*id)));
      continue;
    }
    GALLEY_TRY(finish_record(state, lock, verdict->journal, options.audit));
  }
  return report;
}

Result<RecoveryReport> recover_branch(const GitBranch& branch, const StateDirectory& state,
                                      const Clock& clock, const RecoveryOptions& options) {
  GALLEY_ASSIGN(const auto slots, state.slots().list());
  if (slots.empty()) return RecoveryReport();
  auto lock = WriterLock::take(state, clock, std::chrono::milliseconds(0));
  if (!lock && lock.error().kind == ErrorKind::kTimeout) return RecoveryReport();
  if (!lock) return fail(lock.error());
  return recover_branch(branch, state, *lock, clock, options);
}

}  // namespace galley
