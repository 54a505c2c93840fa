#include "engine/pipeline/persistent_state.h"

#include <algorithm>
#include <set>

#include "base/file_mode.h"
#include "engine/audit/audit_chain.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/state_format.h"
#include "engine/history/history.h"
#include "engine/history/index.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/maintenance.h"
#include "engine/pipeline/place.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/git/git_branch.h"

namespace galley {

std::string home_of_branch(const GitBranch& branch) {
  return branch.layout().common_directory + "/galley/" + branch.name();
}

Result<std::vector<std::string>> PersistentState::open(bool recovers) {
  std::vector<std::string> notices;
  if (place_->tree != nullptr && place_->branch() == nullptr) {
    doubt_ = Error{ErrorKind::kRefused, "workspace.tree",
                   "this workspace shows a read-only tree: nothing is stored or committed in it. "
                   "Take the diff of the transaction, or begin it where the files are"};
    return notices;
  }
  {
    const std::lock_guard guard(mutex_);
    GALLEY_ASSIGN(const bool has_home, find_home());
    if (!has_home) return notices;
  }
  auto opened = StateDirectory::open(*files_.get());
  doubt_.reset();
  if (!opened && opened.error().reason == "state.not_believed") {
    doubt_ = opened.error();
    return notices;
  }
  if (!opened) return opened.error();
  if (!*opened) return notices;
  {
    const std::lock_guard guard(mutex_);
    set_state(**std::move(opened));
  }
  GALLEY_ASSIGN(const auto unbound, unbound_state(*state()));
  if (!unbound.empty()) notices.push_back(describe_unbound(unbound));
  if (!recovers) return notices;
  GALLEY_ASSIGN(const RecoveryReport report, recover(false));
  for (std::string& line : repairs_of(report, false)) notices.push_back(std::move(line));
  for (const RecoveryAction& action : report.actions) {
    if (action.kind != RecoveryAction::Kind::kRescue) continue;
    notices.push_back("recovery met bytes of others: '" + action.path + "' " + action.text);
  }
  return notices;
}

Result<void> PersistentState::refresh() {
  if (doubt_ || state() != nullptr) return {};
  const std::lock_guard guard(mutex_);
  GALLEY_ASSIGN(const bool has_home, find_home());
  if (!has_home || state() != nullptr) return {};
  GALLEY_ASSIGN(auto found, StateDirectory::open(*files_.get()));
  if (found) set_state(*std::move(found));
  return {};
}

bool PersistentState::is_removed() const {
  if (state() == nullptr) return false;
  const auto stat = state()->root().stat(RelPath::root());
  return stat && stat->nlink == 0;
}

void PersistentState::forget_state() {
  const std::lock_guard guard(mutex_);
  state_.set(nullptr);
  audit_.set(nullptr);
}

Result<bool> PersistentState::find_home() {
  if (files_.get() != nullptr) return true;
  auto opened = open_writable_disk_directory(place_->home);
  if (!opened && opened.error().kind == ErrorKind::kNotFound) return false;
  if (!opened) return fail(opened.error());
  files_.set(*std::move(opened));
  return true;
}

/// Git has checked the owner of the repository.
Result<void> PersistentState::check_owner() const {
  GALLEY_TRY(check_trusted());
  if (state() != nullptr || place_->branch() != nullptr) return {};
  return check_owner_of_root(*files_.get(), place_->path, rules_->user.config);
}

Result<void> PersistentState::make_home() {
  const GitBranch* branch = place_->branch();
  if (branch == nullptr) return {};
  GALLEY_ASSIGN(const auto git, open_writable_disk_directory(branch->layout().common_directory));
  GALLEY_ASSIGN(const RelPath home, RelPath::parse("galley/" + branch->name()));
  GALLEY_TRY(make_directories(*git, home, kPrivateDirectory));
  if (files_.get() != nullptr) return {};
  GALLEY_ASSIGN(auto opened, git->open_writable_directory(home));
  files_.set(std::move(opened));
  return {};
}

/// Sets the log first, so a thread that sees the directory can use both.
void PersistentState::set_state(StateDirectory made) {
  auto directory = std::make_unique<StateDirectory>(std::move(made));
  audit_.set(std::make_unique<AuditLog>(*directory, clock()));
  state_.set(std::move(directory));
}

Result<void> PersistentState::ensure() {
  GALLEY_TRY(check_owner());
  if (state() != nullptr) return {};
  const std::lock_guard guard(mutex_);
  if (state() != nullptr) return {};  // another thread was first
  GALLEY_TRY(make_home());
  GALLEY_ASSIGN(StateDirectory made, StateDirectory::open_or_create(*files_.get()));
  // Without it only the words of a prompt are lost.
  (void)AgentSession::take_first_turns(made, place_->path);
  set_state(std::move(made));
  return {};
}

Result<History> PersistentState::history(std::string_view verb) {
  GALLEY_TRY(check_trusted());
  GALLEY_TRY(refresh());
  if (state() != nullptr) return History(*state());
  return fail(
      ErrorKind::kNotFound, "history.empty",
      "nothing to " + std::string(verb) + " yet: nothing was committed in '" + place_->path + "'");
}

// --- functions that write the tree ----------------------------------------------------------

namespace {

RecoveryOptions recovery_options(bool dry_run, AuditSink* audit) {
  RecoveryOptions options;
  options.dry_run = dry_run;
  options.boot_id = current_boot_id();
  options.audit = audit;
  return options;
}

}  // namespace

Result<PublishOutcome> PersistentState::publish(const Proposal& proposal, const Approval& approval,
                                                const CommitMeta& meta, PublisherOptions options,
                                                const JudgedTree& judged) {
  options.durability = rules_->config.commit.durability;
  options.hard_links = rules_->config.commit.hard_links;
  options.lock_timeout = lock_timeout();
  options.audit = audit();
  if (place_->branch() != nullptr) {
    if (place_->branch()->is_in_cache()) options.durability = Durability::kNone;
    const BranchTarget target{*place_->branch(), *state(), place_->home + "/.galley", judged};
    return publish_to_branch(target, clock(), options, proposal, approval, meta);
  }
  return Publisher(*files_.get(), clock(), std::move(options)).publish(proposal, approval, meta);
}

Result<std::optional<Conflict>> PersistentState::find_conflict(const Proposal& proposal) const {
  if (place_->branch() != nullptr) return galley::find_conflict(proposal, place_->files());
  return Publisher(*files_.get(), clock()).find_conflict(proposal);
}

Result<RunStart> PersistentState::begin_run() const {
  if (place_->branch() != nullptr) {
    return fail(ErrorKind::kRefused, "git.no_runs",
                "a run needs a work tree: use galley exec, or work in a clone of the branch");
  }
  PublisherOptions options;
  options.lock_timeout = lock_timeout();
  options.audit = audit();
  return RunStart::begin(*files_.get(), *state(), clock(), options);
}

/// recover() does not wait for a live writer, which may be killed after it.
Result<WriterLock> PersistentState::lock() const {
  GALLEY_ASSIGN(WriterLock lock, WriterLock::take(*state(), clock(), lock_timeout()));
  const RecoveryOptions options = recovery_options(false, audit());
  if (const GitBranch* branch = place_->branch()) {
    GALLEY_TRY(recover_branch(*branch, *state(), lock, clock(), options));
  } else {
    GALLEY_TRY(galley::recover(*files_.get(), *state(), lock, options));
  }
  return lock;
}

Result<RecoveryReport> PersistentState::recover(bool dry_run) const {
  if (state() == nullptr) return RecoveryReport();
  const RecoveryOptions options = recovery_options(dry_run, dry_run ? nullptr : audit());
  if (const GitBranch* branch = place_->branch()) {
    return recover_branch(*branch, *state(), clock(), options);
  }
  return recover_if_needed(*files_.get(), *state(), clock(), options);
}

Result<RecoveryReport> PersistentState::plan_recovery(const StateDirectory& foreign) const {
  const RecoveryOptions options = recovery_options(true, nullptr);
  if (const GitBranch* branch = place_->branch()) {
    return recover_branch(*branch, foreign, clock(), options);
  }
  return recover_if_needed(*files_.get(), foreign, clock(), options);
}

/// The lock is taken without a recovery, which would fail because of these journals.
Result<void> PersistentState::quarantine_damaged() const {
  GALLEY_ASSIGN(WriterLock lock, WriterLock::take(*state(), clock(), lock_timeout()));
  GALLEY_ASSIGN(const auto moved, galley::quarantine_damaged(*files_.get(), *state(), lock));
  return moved.empty() ? Result<void>() : remove_index(*state());
}

Result<void> PersistentState::write_config(const std::string& text, bool force) const {
  if (place_->branch() != nullptr) {
    return fail(ErrorKind::kRefused, "git.no_init",
                "a branch gets its galley.toml by a commit: stage the file with galley apply");
  }
  const WritableDirectory& root = *files_.get();
  GALLEY_TRY(check_owner_of_root(root, place_->path, rules_->user.config));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, root.stat(name));
  if (stat.kind != FileKind::kAbsent && !force) {
    return fail(ErrorKind::kRefused, "init.exists",
                "galley.toml exists already; replace it with --force, or see what init would "
                "write with --dry-run");
  }
  GALLEY_ASSIGN(const ScratchFile fresh, make_scratch(root, name.str(), ".new", 0644));
  GALLEY_TRY(fresh.file->write_at(0, text));
  GALLEY_TRY(fresh.file->sync());
  return root.rename(fresh.name, root, name, RenameMode::kReplace);
}

// --- the audit log --------------------------------------------------------------------------

Result<size_t> PersistentState::restore_audit() {
  if (state() == nullptr) return size_t{0};
  GALLEY_ASSIGN(const auto commits, recorded_commits());
  std::vector<std::string> records;
  for (const RecordedCommit& commit : commits) records.push_back(commit.record);
  GALLEY_TRY(audit()->close_gap());
  return audit()->append_missing(records);
}

Result<AuditVerification> PersistentState::verify_audit() const {
  if (state() == nullptr) return AuditVerification();
  GALLEY_ASSIGN(AuditVerification found, audit()->verify());
  GALLEY_ASSIGN(const auto commits, recorded_commits());
  std::vector<std::string> records;
  for (const RecordedCommit& commit : commits) records.push_back(commit.record);
  GALLEY_ASSIGN(const auto missing, audit()->missing(records));
  for (const size_t index : missing) {
    const RecordedCommit& commit = commits[index];
    // The records of journals in j/ are added when the journal retires.
    if (!commit.is_retired || found.defects.size() >= kMaxAuditDefects) continue;
    found.defects.push_back({0, 0, "audit.unrecorded",
                             "the log has no record of transaction " + commit.id.str() +
                                 "; it is in the journal, and galley doctor --repair adds it"});
  }
  return found;
}

Result<std::vector<PersistentState::RecordedCommit>> PersistentState::recorded_commits() const {
  std::vector<RecordedCommit> commits;
  GALLEY_ASSIGN(const std::string first, audit()->first_timestamp());
  GALLEY_ASSIGN(const auto pending, journal_ids(state()->journals()));
  GALLEY_ASSIGN(const auto ids, committed_ids(*state()));
  for (const TxId id : ids) {
    const auto found = load_committed(*state(), id, ImageUse::kSkip);
    if (!found) continue;  // damaged; doctor reports it
    const bool is_retired = !std::binary_search(pending.begin(), pending.end(), id);
    for (const std::string& record : found->journal.meta.audit) {
      // A log that was started anew does not contain records from before its start.
      const std::string made = audit_timestamp(record);
      if (!made.empty() && (!is_retired || made >= first)) {
        commits.push_back({id, is_retired, record});
      }
    }
  }
  return commits;
}

namespace {

/// The maximum number of transactions that are searched, newest first, and of versions that are
/// returned.
constexpr size_t kMaxTransactions = 200;
constexpr size_t kMaxVersions = 20;

/// Adds the contents of a path in one transaction: first after the change, then before it.
void add_versions(const History& history, TxId id, const RelPath& path, std::set<ContentId>& seen,
                  std::vector<EarlierVersion>& out) {
  const auto proposal = history.proposal_of(id);
  if (!proposal) return;
  for (const Change& change : proposal->changes()) {
    if (change.path != path) continue;
    for (const Node* node : {&change.after, &change.before}) {
      if (node->kind != FileKind::kRegular || !seen.insert(node->content).second) continue;
      auto content = proposal->content(*node);
      if (content) out.push_back({id.str(), node == &change.before, *std::move(content)});
    }
  }
}

std::vector<EarlierVersion> versions_of(const StateDirectory& state, const RelPath& path) {
  const History history(state);
  const auto ids = history.ids();
  std::vector<EarlierVersion> out;
  if (!ids) return out;
  std::set<ContentId> seen;
  size_t looked_into = 0;
  for (auto id = ids->rbegin(); id != ids->rend(); ++id) {
    if (++looked_into > kMaxTransactions || out.size() >= kMaxVersions) break;
    add_versions(history, *id, path, seen, out);
  }
  return out;
}

}  // namespace

EarlierVersions earlier_versions(const PersistentState& persistent) {
  return [&persistent](const RelPath& path) {
    if (persistent.state() == nullptr) return std::vector<EarlierVersion>();
    return versions_of(*persistent.state(), path);
  };
}

}  // namespace galley
