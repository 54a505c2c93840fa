#include "engine/pipeline/agent_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file_mode.h"
#include "base/hash.h"
#include "base/text.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/journal.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/outcome.h"
#include "engine/history/rebase.h"
#include "staging/fs/content_store.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

constexpr std::string_view kTurnMagic = "galley turn 1";
constexpr std::string_view kTurnEnd = "ended\n";
constexpr std::string_view kSessions = "sessions";
constexpr uint64_t kMaxTurnBytes = 1024;
constexpr int64_t kSessionLastsNs = 30 * kKeptEditLastsNs;

constexpr std::string_view kLostEnding = ".lost";
constexpr std::string_view kProcessMagic = "galley process 1";

std::string processes_place() { return fmt::format("{}/processes", kSessions); }

RelPath process_name(const ProcessIdentity& process) {
  return chosen_path(std::to_string(process.pid));
}

constexpr std::string_view kKeptEnding = ".j";

std::string kept_name(const AgentSession::EditName& edit) {
  return edit + std::string(kKeptEnding);
}
std::string lost_name(const AgentSession::EditName& edit) {
  return edit + std::string(kLostEnding);
}

constexpr const char* kFirstTurns = "turns";

/// What was noted of a folder without a state, in the state of the user.
RelPath first_turns_of(const std::string& folder) {
  return chosen_path(std::string(kFirstTurns) + "/" + ContentId::of(folder).hex());
}

Result<void> write_first_note(const std::string& folder, const std::string& name,
                              const std::string& text) {
  GALLEY_ASSIGN(const auto home, open_user_state(UserState::kMake));
  const RelPath notes = first_turns_of(folder);
  GALLEY_TRY(make_directories(*home, notes, kPrivateDirectory));
  return replace_shared_file(*home, notes.str() + "/" + name, text);
}

/// Removes the notes of folders that are much older than those of `newest`. If that fails, the next
/// prompt tries it again.
void clear_first_turns(const std::string& newest) {
  const auto home = open_user_state(UserState::kExisting);
  const auto now = home ? (*home)->stat(first_turns_of(newest)) : fail(home.error());
  const auto notes =
      home ? (*home)->open_writable_directory(chosen_path(kFirstTurns)) : fail(home.error());
  const auto folders = notes ? (*notes)->list() : fail(notes.error());
  if (!now || !folders) return;
  for (const DirectoryEntry& folder : *folders) {
    const RelPath name = chosen_path(folder.name);
    const auto stat = (*notes)->stat(name);
    if (stat && now->mtime_ns - stat->mtime_ns > kSessionLastsNs) (void)remove_tree(**notes, name);
  }
}

std::string process_text(const ProcessIdentity& process, std::string_view id) {
  return fmt::format("{}\n{}\n{}\n", kProcessMagic, process.start, id);
}

/// The session that the first of these processes noted in the folder; empty if none did.
std::string session_in(const Directory& notes, const std::vector<ProcessIdentity>& processes) {
  for (const ProcessIdentity& process : processes) {
    const auto text = read_own_file(notes, process_name(process), kMaxTurnBytes);
    if (!text || !*text) continue;
    const std::string head = process_text(process, "");
    // Else another process had this number.
    if (!(*text)->starts_with(std::string_view(head).substr(0, head.size() - 1))) continue;
    std::string id = (*text)->substr(head.size() - 1);
    id = id.substr(0, id.find('\n'));
    if (is_session_id(id)) return id;
  }
  return {};
}

std::string text_of(const AgentSession::Turn& turn) {
  return fmt::format("{}\n{}\n{}\n{}", kTurnMagic, turn.number, turn.prompt,
                     turn.has_ended ? fmt::format("{}{}", kTurnEnd, turn.begun_ns) : std::string());
}

/// Writes both sides of each path, in the format of a journal.
Result<void> write_kept(const StateDirectory& state, WritableFile& file, const Journal& journal) {
  JournalWriter writer(file);
  GALLEY_TRY(writer.begin(journal));
  for (const auto& [id, content] : journal.images) {
    if (content->size() <= kMaxImageBytes) GALLEY_TRY(writer.image(id, *content));
  }
  const auto contents = make_memory_store();
  for (const auto& [id, content] : journal.images) GALLEY_TRY(contents->keep(id, content));
  GALLEY_ASSIGN(const auto blobs,
                write_blobs(state.root(), state.own("blob"), journal.ops, *contents));
  for (const auto& [id, size] : blobs) GALLEY_TRY(writer.blob(id, size));
  return writer.finish();
}

/// Puts the contents of the present node of a path into the store.
Result<void> keep_present(Overlay& view, const RelPath& path, const Node& now,
                          ContentStore& store) {
  if (now.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(const Content content, view.read(path));
    GALLEY_TRY(store.put(content));
  } else if (now.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(std::string target, view.read_link(path));
    GALLEY_TRY(store.put(std::move(target)));
  }
  return {};
}

/// Both sides of an edit, as a journal.
/// Errors: kQuota `limit.kept_edit`.
Result<Journal> journal_of(const Proposal& proposal, const WorkspaceId& workspace, int64_t now_ns) {
  Journal journal;
  journal.id = TxId{1};
  journal.workspace = workspace;
  journal.time_ns = now_ns;
  journal.proposal = proposal.id();
  uint64_t bytes = 0;
  for (const Change& change : proposal.changes()) {
    JournalOp op;
    op.path = change.path;
    op.before.node = change.before;
    op.after.node = change.after;
    op.renamed_from = change.renamed_from;
    journal.ops.push_back(std::move(op));
    for (const Node& node : {change.before, change.after}) {
      if (!is_file_or_link(node)) continue;
      bytes += node.size;
      if (bytes > kMaxKeptEditBytes) {
        return fail(ErrorKind::kQuota, "limit.kept_edit",
                    fmt::format("both sides of the edit have more than {} bytes, so it is not "
                                "recorded",
                                kMaxKeptEditBytes));
      }
      GALLEY_ASSIGN(journal.images[node.content], proposal.content(node));
    }
  }
  return journal;
}

bool is_of_an_op(const Journal& journal, const ContentId& content) {
  return std::ranges::any_of(journal.ops, [&](const JournalOp& op) {
    return op.before.node.content == content || op.after.node.content == content;
  });
}

/// A new file contains no text of others. A formatter's changes of it are the agent's, too. So is
/// another mode of the judged content: programs that replace a file lose its mode.
bool is_all_of_the_edit(const JournalOp& op, const Node& now, AgentSession::EditReport report) {
  const bool is_judged_text = now.kind == FileKind::kRegular &&
                              op.before.node.kind == FileKind::kRegular &&
                              now.content == op.after.node.content;
  if (is_judged_text && now.mode != op.after.node.mode) return true;
  if (op.before.node.kind != FileKind::kAbsent) return false;
  const bool is_reported = report == AgentSession::EditReport::kCame;
  return now == op.after.node || (is_reported && !op.renamed_from);
}

/// Takes the judged edit out of the present files by a three-way merge. Returns the state without
/// the edit: a save or a commit since then stays in it.
Result<AgentSession::MadeEdit> without_others(const Journal& journal,
                                              AgentSession::EditReport report,
                                              const Directory& workspace,
                                              const std::shared_ptr<ContentStore>& store,
                                              const Clock& clock) {
  Overlay view(workspace, store, clock);
  ChangeSet since_judged;
  ChangeSet recorded;
  ChangeSet reverse;
  for (const JournalOp& op : journal.ops) {
    GALLEY_ASSIGN(const Node now, view.node(op.path));
    if (now == op.before.node) continue;
    GALLEY_TRY(keep_present(view, op.path, now, *store));
    since_judged.push_back(Change{op.path, op.before.node, now, {}, {}, {}});
    if (is_all_of_the_edit(op, now, report)) {
      recorded.push_back(since_judged.back());
    } else {
      reverse.push_back(Change{op.path, op.after.node, op.before.node, {}, {}, {}});
    }
  }
  GALLEY_ASSIGN(const RebaseOutcome outcome,
                rebase(Proposal::from(std::move(reverse), store), workspace, clock));
  const auto* rebased = std::get_if<Rebased>(&outcome);
  if (rebased != nullptr) {
    for (const Change& change : rebased->proposal.changes()) {
      for (const Node& node : {change.before, change.after}) {
        if (!is_file_or_link(node)) continue;
        GALLEY_ASSIGN(const Content content, rebased->proposal.content(node));
        GALLEY_TRY(store->put(content));
      }
      recorded.push_back(Change{change.path, change.after, change.before, {}, {}, {}});
    }
  }
  if (rebased != nullptr && recorded.size() == since_judged.size()) {
    std::ranges::sort(recorded, {}, &Change::path);
    return AgentSession::MadeEdit{Proposal::from(std::move(recorded), store), "", journal.meta};
  }
  if (report == AgentSession::EditReport::kMissing) {
    // If the edit can still be made, the agent did not make it.
    GALLEY_ASSIGN(const RebaseOutcome ahead,
                  rebase(Proposal::from(journal.changes(), store), workspace, clock));
    if (std::holds_alternative<Rebased>(ahead)) {
      return AgentSession::MadeEdit{Proposal::from({}, store), "", journal.meta};
    }
  }
  std::string problem = "'" + since_judged.back().path.str() +
                        "' has other changes than the judged edit, so it is not known which are "
                        "the agent's";
  return AgentSession::MadeEdit{Proposal::from(std::move(since_judged), store), std::move(problem),
                                journal.meta};
}

}  // namespace

AgentSession::AgentSession(const StateDirectory& state, std::string_view id)
    : state_(&state), id_(id), folder_(std::string(kSessions) + "/" + ContentId::of(id).hex()) {}

RelPath AgentSession::place(const std::string& name) const {
  return state_->own(folder_ + "/" + name);
}

AgentSession::Turn AgentSession::turn() const {
  const auto text = read_own_file(state_->root(), place("turn"), kMaxTurnBytes);
  if (!text || !*text) return {};
  const std::string_view all = **text;
  const size_t first = all.find('\n');
  const size_t second = first == all.npos ? all.npos : all.find('\n', first + 1);
  if (second == all.npos || all.substr(0, first) != kTurnMagic) return {};
  const auto number = number_of<uint64_t>(all.substr(first + 1, second - first - 1));
  if (!number) return {};
  const size_t third = std::min(all.find('\n', second + 1), all.size());
  std::string_view rest = all.substr(std::min(third + 1, all.size()));
  Turn turn{*number, first_words(all.substr(second + 1, third - second - 1), kMaxPromptBytes)};
  turn.has_ended = rest.starts_with(kTurnEnd);
  if (turn.has_ended) {
    rest.remove_prefix(kTurnEnd.size());
    turn.begun_ns = number_of<int64_t>(rest).value_or(0);
  }
  return turn;
}

int64_t AgentSession::turn_begun_ns() const {
  const int64_t begun = turn().begun_ns;
  if (begun != 0) return begun;
  const auto there = state_->root().stat(place("turn"));
  return there ? there->mtime_ns : 0;
}

Result<void> AgentSession::write_turn(const Turn& turn) const {
  const RelPath file = place("turn");
  GALLEY_TRY(make_directories(state_->root(), file.parent(), kPrivateDirectory));
  return replace_shared_file(state_->root(), file.str(), text_of(turn));
}

bool AgentSession::note_notice(std::string_view notice) const {
  const RelPath file = place("told");
  const std::string hash = ContentId::of(notice).hex();
  const auto told = read_own_file(state_->root(), file, hash.size());
  if (told && *told == hash) return false;
  // If it cannot be noted, the agent is told again.
  if (make_directories(state_->root(), file.parent(), kPrivateDirectory)) {
    (void)replace_shared_file(state_->root(), file.str(), hash);
  }
  return true;
}

Result<void> AgentSession::begin_turn(std::string_view prompt) const {
  return write_turn({turn().number + 1, first_words(prompt, kMaxPromptBytes)});
}

Result<void> AgentSession::end_turn() const {
  Turn ended = turn();
  if (ended.number == 0 || ended.has_ended) return {};
  ended.begun_ns = turn_begun_ns();
  ended.has_ended = true;
  return write_turn(ended);
}

Result<void> AgentSession::note_first_turn(const std::string& folder, std::string_view id,
                                           std::string_view prompt) {
  GALLEY_TRY(write_first_note(folder, ContentId::of(id).hex(),
                              text_of({1, first_words(prompt, kMaxPromptBytes)})));
  clear_first_turns(folder);
  return {};
}

Result<void> AgentSession::note_first_process(const std::string& folder, std::string_view id,
                                              const ProcessIdentity& process) {
  return write_first_note(folder, process_name(process).str(), process_text(process, id));
}

Result<void> AgentSession::forget_first_turn(const std::string& folder, std::string_view id) {
  const auto home = open_user_state(UserState::kExisting);
  const RelPath place = first_turns_of(folder);
  const auto notes = home ? (*home)->open_writable_directory(place) : fail(home.error());
  if (!notes && notes.error().kind == ErrorKind::kNotFound) return {};
  if (!notes) return fail(notes.error());
  GALLEY_ASSIGN(const auto files, (*notes)->list());
  const std::string turn = ContentId::of(id).hex();
  const std::string end = fmt::format("\n{}\n", id);
  for (const DirectoryEntry& file : files) {
    const RelPath name = chosen_path(file.name);
    GALLEY_ASSIGN(const auto text, read_own_file(**notes, name, kMaxTurnBytes));
    const bool is_of_process = text && text->starts_with(kProcessMagic) && text->ends_with(end);
    if (file.name != turn && !is_of_process) continue;
    const auto removed = (*notes)->remove_file(name);
    if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  }
  (void)(*home)->remove_directory(place);  // another session may have noted one
  return {};
}

Result<void> AgentSession::take_first_turns(const StateDirectory& state,
                                            const std::string& folder) {
  const auto home = open_user_state(UserState::kExisting);
  const RelPath place = first_turns_of(folder);
  const auto notes = home ? (*home)->open_writable_directory(place) : fail(home.error());
  if (!notes && notes.error().kind == ErrorKind::kNotFound) return {};
  if (!notes) return fail(notes.error());
  GALLEY_ASSIGN(const auto files, (*notes)->list());
  for (const DirectoryEntry& file : files) {
    const RelPath name = chosen_path(file.name);
    GALLEY_ASSIGN(const auto text, read_own_file(**notes, name, kMaxTurnBytes));
    const bool is_turn = ContentId::from_hex(file.name).has_value();
    const RelPath taken = state.own(is_turn ? fmt::format("{}/{}/turn", kSessions, file.name)
                                            : fmt::format("{}/{}", processes_place(), name.str()));
    if (text) {
      GALLEY_TRY(make_directories(state.root(), taken.parent(), kPrivateDirectory));
      GALLEY_TRY(replace_shared_file(state.root(), taken.str(), *text));
    }
    GALLEY_TRY((*notes)->remove_file(name));
  }
  return (*home)->remove_directory(place);
}

Result<void> AgentSession::note_process(const ProcessIdentity& process) const {
  const RelPath file = state_->own(processes_place() + "/" + process_name(process).str());
  const std::string text = process_text(process, id_);
  const auto known = read_own_file(state_->root(), file, kMaxTurnBytes);
  if (known && *known == text) return {};
  GALLEY_TRY(make_directories(state_->root(), file.parent(), kPrivateDirectory));
  return replace_shared_file(state_->root(), file.str(), text);
}

std::string AgentSession::of_processes(const StateDirectory& state,
                                       const std::vector<ProcessIdentity>& processes) {
  const auto noted = state.root().open_directory(state.own(processes_place()));
  // Most agents have no hook, so there is nothing to read.
  return noted ? session_in(**noted, processes) : std::string();
}

std::string AgentSession::of_first_processes(const std::string& folder,
                                             const std::vector<ProcessIdentity>& processes) {
  const auto home = open_user_state(UserState::kExisting);
  const auto noted = home ? (*home)->open_directory(first_turns_of(folder)) : fail(home.error());
  return noted ? session_in(**noted, processes) : std::string();
}

Result<void> check_session_id(std::string_view id) {
  if (id.empty() || is_session_id(id)) return {};
  return fail(ErrorKind::kUsage, "session.bad_id",
              fmt::format("the id of a session has at most {} printable ASCII characters and no "
                          "spaces: name another one with --session, over HTTP with Galley-Session",
                          kMaxSessionBytes));
}

AgentSession::EditName AgentSession::edit_of(std::string_view call) {
  return ContentId::of(call).hex();
}

std::vector<AgentSession::EditName> AgentSession::kept_edits() const {
  const auto folder = state_->root().open_directory(state_->own(folder_));
  const auto files = folder ? (*folder)->list() : fail(folder.error());
  std::vector<EditName> edits;
  if (!files) return edits;  // most sessions keep nothing
  for (const DirectoryEntry& file : *files) {
    if (!file.name.ends_with(kKeptEnding)) continue;
    edits.push_back(file.name.substr(0, file.name.size() - kKeptEnding.size()));
  }
  return edits;
}

std::set<std::string> AgentSession::with_kept_edits(const StateDirectory& state) {
  std::set<std::string> sessions;
  const auto notes = state.root().open_directory(state.own(kSessions));
  const auto folders = notes ? (*notes)->list() : fail(notes.error());
  if (!folders) return sessions;  // no agent with a hook worked here
  for (const DirectoryEntry& folder : *folders) {
    const auto session = (*notes)->open_directory(chosen_path(folder.name));
    const auto files = session ? (*session)->list() : fail(session.error());
    if (!files) continue;
    for (const DirectoryEntry& name : *files) {
      if (!name.name.ends_with(kKeptEnding)) continue;
      const auto file = (*session)->open_file(chosen_path(name.name));
      const auto stat = file ? (*file)->stat() : fail(file.error());
      const auto kept =
          stat ? parse_journal(**file, stat->size, ImageUse::kSkip) : fail(stat.error());
      if (!kept || kept->state != JournalState::kCommitted) continue;
      const std::string& id = kept->journal.meta.session;
      if (is_session_id(id) && ContentId::of(id).hex() == folder.name) sessions.insert(id);
    }
  }
  return sessions;
}

Result<void> AgentSession::keep_edit(const EditName& edit, const Proposal& proposal,
                                     const CommitMeta& meta, int64_t now_ns) const {
  const RelPath file = place(kept_name(edit));
  GALLEY_TRY(make_directories(state_->root(), file.parent(), kPrivateDirectory));
  GALLEY_ASSIGN(const auto written,
                state_->root().open_writable_file(file, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(const bool is_held, written->try_lock(LockMode::kExclusive));
  if (!is_held) return {};  // another hook keeps the same edit
  // Empty until both sides are known, so that an edit that cannot be kept is noticed.
  GALLEY_TRY(written->truncate(0));
  GALLEY_ASSIGN(Journal journal, journal_of(proposal, state_->workspace_id(), now_ns));
  journal.meta = meta;
  return write_kept(*state_, *written, journal);
}

Result<std::unique_ptr<File>> AgentSession::hold_edit(const EditName& edit) const {
  auto file = state_->root().open_file(place(kept_name(edit)));
  if (!file && file.error().kind == ErrorKind::kNotFound) return std::unique_ptr<File>();
  if (!file) return fail(file.error());
  GALLEY_ASSIGN(const bool is_held, (*file)->try_lock(LockMode::kExclusive));
  return is_held ? std::move(*file) : nullptr;
}

Result<std::optional<AgentSession::MadeEdit>> AgentSession::made_edit(const EditName& edit,
                                                                      EditReport report,
                                                                      const Directory& workspace,
                                                                      const Clock& clock) const {
  const auto file = state_->root().open_file(place(kept_name(edit)));
  if (!file && file.error().kind == ErrorKind::kNotFound) return std::optional<MadeEdit>();
  if (!file) return fail(file.error());
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
  GALLEY_ASSIGN(const JournalVerdict kept, parse_journal(**file, stat.size));
  const Journal& journal = kept.journal;
  const bool is_valid = kept.state == JournalState::kCommitted &&
                        journal.workspace == state_->workspace_id() &&
                        clock.wall_ns() - journal.time_ns <= kKeptEditLastsNs;
  if (!is_valid) {
    return std::optional(
        MadeEdit{Proposal::from({}, nullptr), "the state before this edit could not be kept", {}});
  }
  auto store = make_memory_store();
  for (const auto& [id, content] : journal.images) GALLEY_TRY(store->put(content));
  for (const auto& [id, size] : journal.blobs) {
    if (!is_of_an_op(journal, id)) continue;  // the base of a delta
    GALLEY_ASSIGN(const Content content, read_blob(state_->root(), state_->own("blob"), id));
    GALLEY_TRY(store->put(content));
  }
  GALLEY_ASSIGN(MadeEdit made, without_others(journal, report, workspace, store, clock));
  return std::optional(std::move(made));
}

Result<std::vector<std::string>> AgentSession::rescue_old(const EditName& edit,
                                                          const MadeEdit& made) const {
  constexpr size_t kDigits = 12;
  const std::string folder = "edit-" + edit.substr(0, kDigits);
  std::vector<std::string> names;
  for (const Change& change : made.change.changes()) {
    if (change.before.kind != FileKind::kRegular) continue;
    GALLEY_ASSIGN(const Content content, made.change.content(change.before));
    GALLEY_ASSIGN(const RelPath path, state_->own("rescue/" + folder).join(change.path));
    GALLEY_TRY(make_directories(state_->root(), path.parent(), kPrivateDirectory));
    GALLEY_ASSIGN(const auto directory, state_->root().open_writable_directory(path.parent()));
    GALLEY_TRY(replace_file(*directory, std::string(path.name()), *content));
    names.push_back(folder + "/" + change.path.str());
  }
  return names;
}

Result<void> AgentSession::forget_edit(const EditName& edit) const {
  for (const std::string& name : {kept_name(edit), lost_name(edit)}) {
    const auto removed = state_->root().remove_file(place(name));
    if (!removed && removed.error().kind != ErrorKind::kNotFound) return fail(removed.error());
  }
  return {};
}

Result<void> AgentSession::lose_edit(const EditName& edit) const {
  const RelPath file = place(lost_name(edit));
  GALLEY_TRY(make_directories(state_->root(), file.parent(), kPrivateDirectory));
  GALLEY_TRY(state_->root().open_writable_file(file, OpenMode::kOpenOrCreate, kPrivateFile));
  return {};
}

size_t AgentSession::lost_edits() const {
  const auto folder = state_->root().open_directory(state_->own(folder_));
  const auto files = folder ? (*folder)->list() : fail(folder.error());
  if (!files) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      *files, [](const DirectoryEntry& file) { return file.name.ends_with(kLostEnding); }));
}

Result<SessionCleaning> clear_sessions(const StateDirectory& state, int64_t now_ns, bool dry_run,
                                       const std::set<std::string>& remembered) {
  SessionCleaning done;
  std::set<std::string> kept;
  for (const std::string& id : remembered) kept.insert(ContentId::of(id).hex());
  const auto sessions = state.root().open_writable_directory(state.own(kSessions));
  if (!sessions && sessions.error().kind == ErrorKind::kNotFound) return done;
  if (!sessions) return fail(sessions.error());
  GALLEY_ASSIGN(const auto folders, (*sessions)->list());
  for (const DirectoryEntry& folder : folders) {
    const RelPath at = chosen_path(folder.name);
    const auto session = (*sessions)->open_writable_directory(at);
    if (!session) continue;  // another process removed it
    GALLEY_ASSIGN(const auto files, (*session)->list());
    size_t left = files.size();
    for (const DirectoryEntry& file : files) {
      const RelPath name = chosen_path(file.name);
      GALLEY_ASSIGN(const FileStat stat, (*session)->stat(name));
      if (stat.kind == FileKind::kAbsent) {  // another process removed it
        --left;
        continue;
      }
      const int64_t lasts = file.name.ends_with(kKeptEnding) ? kKeptEditLastsNs : kSessionLastsNs;
      if (now_ns - stat.mtime_ns <= lasts) continue;
      if (file.name == "turn" && kept.contains(folder.name)) continue;
      ++done.files;
      --left;
      done.bytes += stat.size;
      if (!dry_run) GALLEY_TRY((*session)->remove_file(name));
    }
    if (left == 0 && !dry_run) (void)(*sessions)->remove_directory(at);
  }
  return done;
}

std::string first_words(std::string_view text, size_t max_bytes) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  size_t length = std::min(line.size(), max_bytes);
  const auto is_inside = [&](size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0U) == 0x80U;
  };
  while (length > 0 && is_inside(length)) --length;
  return std::string(trim_end(line.substr(0, length), " \r\t"));
}

}  // namespace galley
