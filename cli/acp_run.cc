#include "cli/acp_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file_mode.h"
#include "base/hash.h"
#include "base/text.h"
#include "engine/calls/guarded_runner.h"
#include "engine/commit/outcome.h"
#include "engine/commit/writer_lock.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/trust.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/run_folder.h"
#include "server/acp/acp_proxy.h"
#include "server/session/call_results.h"
#include "server/session/conflict_answers.h"
#include "staging/fs/host_file.h"
#include "staging/overlay/change_set.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

// Files that an agent read: their number, and the bytes of all.
constexpr size_t kMaxReads = 256;
constexpr size_t kMaxReadBytes = size_t{16} << 20U;
/// Files of which an agent has the editor's text.
constexpr size_t kMaxEditorTexts = 4'096;
/// A file that is read or written through the protocol.
constexpr size_t kMaxProtocolFileBytes = size_t{8} << 20U;
/// Sessions of one editor whose workspace is open at the same time.
constexpr size_t kMaxOpenSessions = 16;
constexpr int kMaxLinks = 40;  // the kernel's MAXSYMLINKS
constexpr uint32_t kNewFileMode = 0644;
constexpr uint32_t kPartContext = 3;
constexpr size_t kEditorSessionDigits = 32;

/// The text as an editor saves its buffer, which has neither the byte order mark of the file nor
/// its line ends.
std::string saved_text(std::string_view file, std::string_view buffer) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const auto has_crlf = [](std::string_view line) { return line.ends_with("\r\n"); };
  const Lines lines(file);
  bool is_crlf = !lines.empty() && has_crlf(lines[0]) && buffer.find("\r\n") == buffer.npos;
  for (size_t i = 0; i < lines.size() && is_crlf; ++i) {
    is_crlf = has_crlf(lines[i]) || !lines[i].ends_with('\n');
  }
  std::string text(file.starts_with(kMark) && !buffer.starts_with(kMark) ? kMark : "");
  if (!is_crlf) return text.append(buffer);
  const Lines written(buffer);
  for (size_t i = 0; i < written.size(); ++i) {
    text += without_terminator(written[i]);
    if (written[i].ends_with('\n')) text += "\r\n";
  }
  return text;
}

Node file_node(const std::string& text, uint32_t mode) {
  return {FileKind::kRegular, mode, ContentId::of(text), text.size()};
}

/// The id of a session in the records, where it has only some characters. The agent chose it, and
/// must not name a session of another program.
std::string recorded_id(const std::string& session) {
  const std::string id = "acp-" + session;
  if (is_session_id(id)) return id;
  return "acp-" + ContentId::of(session).hex().substr(0, kEditorSessionDigits);
}

/// Returns both texts without the lines at their beginnings and ends that are equal, except for
/// some lines of context.
void leave_out_equal_lines(std::string& before, std::string& after) {
  const Lines old_lines(before);
  const Lines new_lines(after);
  const uint32_t most = std::min(old_lines.size(), new_lines.size());
  uint32_t head = 0;
  while (head < most && old_lines.span(head, head + 1) == new_lines.span(head, head + 1)) ++head;
  uint32_t tail = 0;
  const auto from_end = [](const Lines& lines, uint32_t index) {
    return lines.span(lines.size() - index - 1, lines.size() - index);
  };
  while (tail < most - head && from_end(old_lines, tail) == from_end(new_lines, tail)) ++tail;
  head -= std::min(head, kPartContext);
  tail -= std::min(tail, kPartContext);
  std::string short_before(old_lines.span(head, old_lines.size() - tail));
  std::string short_after(new_lines.span(head, new_lines.size() - tail));
  before = std::move(short_before);
  after = std::move(short_after);
}

/// Returns the text of one side; nothing for what is not text.
std::optional<std::string> side_text(const Proposal& proposal, const Node& node) {
  if (!is_file_or_link(node) || node.size > kMaxProtocolFileBytes) return {};
  const auto content = proposal.content(node);
  if (!content || !is_utf8(**content)) return {};
  return **content;
}

/// Whether a directory that a change set makes or removes is only the place of other changes.
bool is_file_change(const Change& change) {
  return is_file_or_link(change.before) || is_file_or_link(change.after);
}

std::string note_on(const Change& change, bool has_texts) {
  std::string note;
  const auto add = [&note](const std::string& text) { note += (note.empty() ? "" : ", ") + text; };
  if (change.is_delete()) add("deleted");
  if (change.renamed_from) add("renamed from " + change.renamed_from->str());
  if (change.is_type_change() && change.before.kind == FileKind::kDirectory) add("was a folder");
  if (change.is_type_change() && change.after.kind == FileKind::kDirectory) add("is now a folder");
  const bool is_link = change.after.kind == FileKind::kSymlink;
  if (is_link) add("a symbolic link");
  if (!change.is_create() && !change.is_delete() && !change.is_type_change() && !is_link &&
      change.before.mode != change.after.mode) {
    add(fmt::format("mode {:o} to {:o}", change.before.mode, change.after.mode));
  }
  if (change.after.owner && change.after.owner != change.before.owner) {
    add("owner " + owner_text(*change.after.owner));
  }
  if (!has_texts) add("not text, or too large to show");
  return note;
}

/// Returns a change as an editor shows it; with `is_part` without the equal lines around it.
AcpChange shown_change(const Proposal& proposal, const Change& change, bool is_part) {
  AcpChange shown;
  shown.path = change.path.str();
  shown.is_deleted = change.is_delete();
  shown.version = fmt::format("{} {} {:o}", static_cast<int>(change.after.kind),
                              change.after.content.hex(), change.after.mode);
  if (change.after.owner) shown.version += " " + owner_text(*change.after.owner);
  auto before = side_text(proposal, change.before);
  auto after = side_text(proposal, change.after);
  const bool has_texts =
      (before || !is_file_or_link(change.before)) && (after || !is_file_or_link(change.after));
  shown.note = note_on(change, has_texts);
  if (!has_texts) return shown;
  if (before && after && is_part) leave_out_equal_lines(*before, *after);
  shown.old_text = std::move(before);
  shown.new_text = after.value_or("");
  return shown;
}

/// Returns all changes of a piece, and the one that names it first. A directory that is only the
/// place of other changes is left out.
AcpPart shown_part(const Proposal& part, const RelPath& path) {
  AcpPart shown;
  for (const Change& change : part.changes()) {
    const bool is_place =
        !is_file_change(change) &&
        std::any_of(part.changes().begin(), part.changes().end(),
                    [&](const Change& other) { return other.path.is_below(change.path); });
    if (is_place) continue;
    const bool names_it = change.path == path;
    shown.insert(names_it ? shown.begin() : shown.end(), shown_change(part, change, true));
  }
  return shown;
}

/// Follows a path below the root of a view as the kernel does. Returns nothing if it leaves it.
Result<std::optional<RelPath>> follow(const Directory& view, const std::string& root,
                                      std::string left) {
  RelPath at = RelPath::root();
  for (int links = 0; !left.empty();) {
    if (left.size() > RelPath::kMaxBytes || links > kMaxLinks) {
      return fail(ErrorKind::kInvalid, "path.invalid",
                  "the path is too long, or has too many links");
    }
    const size_t end = left.find('/');
    const std::string name = left.substr(0, end);
    left = end == std::string::npos ? std::string() : left.substr(end + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      if (at.is_root()) return std::optional<RelPath>();
      at = at.parent();
      continue;
    }
    GALLEY_ASSIGN(const RelPath child, RelPath::parse(name));
    GALLEY_ASSIGN(const RelPath next, at.join(child));
    GALLEY_ASSIGN(const FileStat there, view.stat(next));
    if (there.kind != FileKind::kSymlink || next.is_protected()) {
      at = next;
      continue;
    }
    GALLEY_ASSIGN(std::string target, view.read_link(next));
    if (target.starts_with('/')) {
      if (!target.starts_with(root)) return std::optional<RelPath>();
      target.erase(0, root.size());
      at = RelPath::root();
    }
    left = target + "/" + left;
    ++links;
  }
  return std::optional(at);
}

}  // namespace

Session& AcpRun::session_of(const std::string& session) {
  const std::string id = recorded_id(session);
  if (sessions_.size() >= kMaxOpenSessions && !sessions_.contains(id)) sessions_.clear();
  auto& held = sessions_[id];
  if (held != nullptr) return *held;
  held = std::make_unique<Session>(person_->arguments(), person_->terminal());
  held->set_session_id(id);
  held->set_approver([this](const ApprovalQuestion& question) -> Result<ApprovalQuestion::Answer> {
    ApprovalQuestion::Answer answer;
    answer.proposal = question.proposed.id();
    answer.is_yes = answer.was_asked = says_yes_;
    answer.by = "the editor's user";
    return answer;
  });
  return *held;
}

Result<Transaction> AcpRun::resume(const std::string& session) {
  return session_of(session).resume(tx_);
}

Result<const StateDirectory*> AcpRun::state() {
  GALLEY_ASSIGN(const Workspace* workspace, person_->open());
  return persistent_of(*workspace).state();
}

// --- files --------------------------------------------------------------------------------------

Result<void> AcpRun::check_folder(const std::string& path) {
  GALLEY_ASSIGN(const Workspace* workspace, person_->open());
  const auto folder = absolute_path(path);
  if (folder && is_at_or_below(*folder, workspace->root_path())) {
    if (path != *folder && linked_.size() < kMaxOpenSessions) linked_[path] = *folder;
    return {};
  }
  return fail(ErrorKind::kUsage, "acp.outside",
              "this session would start in '" + path + "', but galley acp runs the agent in '" +
                  workspace->root_path() +
                  "': start it for that folder, with galley -C FOLDER acp");
}

/// Returns a path below the folder of a session that leads into the workspace through a link.
std::string AcpRun::unlinked(const std::string& named, const std::string& root) const {
  if (named.starts_with(root)) return named;
  for (const auto& [link, folder] : linked_) {
    if (named.starts_with(link + "/")) return folder + named.substr(link.size());
  }
  return named;
}

/// Returns the path as the agent's programs would find it. All of it must be in the workspace.
Result<RelPath> AcpRun::inside(const std::string& named, const Directory& view) {
  if (!named.starts_with('/')) {
    return fail(ErrorKind::kInvalid, "path.invalid",
                "'" + named + "' is not an absolute path, which the protocol asks for");
  }
  GALLEY_ASSIGN(const Workspace* workspace, person_->open());
  const std::string root = workspace->root_path() + "/";
  const std::string path = unlinked(named, root);
  std::optional<RelPath> found;
  if (path.starts_with(root)) {
    GALLEY_ASSIGN(found, follow(view, root, path.substr(root.size())));
  }
  if (!found) {
    return fail(ErrorKind::kRefused, "acp.outside",
                "'" + path + "' is not in the workspace '" + workspace->root_path() +
                    "'; use your own tools for files that the sandbox shows you");
  }
  if (found->is_root()) {
    return fail(ErrorKind::kInvalid, "path.invalid", "'" + path + "' is the workspace, not a file");
  }
  if (!found->is_protected()) return *found;
  return fail(ErrorKind::kRefused, "path.protected",
              "'" + path + "' belongs to git or Galley, and cannot be reached this way");
}

Result<AcpRun::Held> AcpRun::on_disk(const RelPath& path) {
  GALLEY_ASSIGN(const Workspace* workspace, person_->open());
  const Directory& files = galley::place_of(*workspace).files();
  GALLEY_ASSIGN(const FileStat there, files.stat(path));
  Held held;
  held.node.kind = there.kind;
  if (there.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(held.bytes, files.read_link(path));
  } else if (there.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(held.bytes, read_file(files, path, kMaxProtocolFileBytes));
    held.node.mode = there.mode & kPermissionBits;
  } else {
    return held;
  }
  held.node.content = ContentId::of(held.bytes);
  held.node.size = held.bytes.size();
  return held;
}

Result<AcpFile> AcpRun::read(const std::string& session, const std::string& path) {
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const OpenView view, OpenView::open(*kept, tx_));
  GALLEY_ASSIGN(const RelPath inside_path, inside(path, view.files()));
  AcpFile file;
  GALLEY_ASSIGN(const Workspace* workspace, person_->open());
  const std::string root = workspace->root_path() + "/";
  if (unlinked(path, root) != root + inside_path.str()) file.path = root + inside_path.str();
  GALLEY_ASSIGN(file.text, read_file(view.files(), inside_path, kMaxProtocolFileBytes));
  if (!is_utf8(file.text)) {
    return fail(ErrorKind::kInvalid, "acp.not_text",
                "'" + path + "' is not UTF-8 text; read it with your own tools");
  }
  from_editor_.erase({recorded_id(session), inside_path});
  const auto disk = on_disk(inside_path);
  file.is_as_on_disk = disk && disk->node.kind == FileKind::kRegular && disk->bytes == file.text;
  if (file.is_as_on_disk) {
    keep_read({recorded_id(session), inside_path}, {file.text, disk->node.mode, ++last_read_});
  }
  return file;
}

void AcpRun::note_editor_text(const std::string& session, const std::string& path) {
  const auto workspace = person_->open();
  if (!workspace) return;  // read() has failed, too
  const std::string root = (*workspace)->root_path() + "/";
  const auto place = RelPath::parse_within(unlinked(path, root), root);
  if (!place) return;
  if (from_editor_.size() >= kMaxEditorTexts) from_editor_.erase(from_editor_.begin());
  from_editor_.emplace(recorded_id(session), *place);
}

void AcpRun::keep_read(ReadKey key, Read read) {
  if (const auto old = reads_.find(key); old != reads_.end()) forget_read(old);
  while (!reads_.empty() &&
         (reads_.size() >= kMaxReads || read_bytes_ + read.text.size() > kMaxReadBytes)) {
    forget_read(std::min_element(reads_.begin(), reads_.end(), [](const auto& a, const auto& b) {
      return a.second.number < b.second.number;
    }));
  }
  read_bytes_ += read.text.size();
  reads_.emplace(std::move(key), std::move(read));
}

void AcpRun::forget_read(std::map<ReadKey, Read>::iterator read) {
  read_bytes_ -= read->second.text.size();
  reads_.erase(read);
}

void AcpRun::forget_reads(const RelPath& path) {
  for (auto at = reads_.begin(); at != reads_.end();) {
    const auto read = at++;
    if (read->first.second == path) forget_read(read);
  }
}

Result<void> AcpRun::write(const std::string& session, const std::string& path,
                           const std::string& content) {
  if (content.size() > kMaxProtocolFileBytes) {
    return fail(ErrorKind::kQuota, "limit.file_size",
                fmt::format("'{}' would have more than {} bytes", path, kMaxProtocolFileBytes));
  }
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const OpenView view, OpenView::open(*kept, tx_));
  GALLEY_ASSIGN(const RelPath inside_path, inside(path, view.files()));
  GALLEY_ASSIGN(const FileStat there, view.files().stat(inside_path));
  if (there.kind != FileKind::kRegular && there.kind != FileKind::kAbsent) {
    return fail(ErrorKind::kRefused, "path.special_file",
                "'" + path + "' is not a file, so no text can be written to it");
  }
  const bool is_new = there.kind == FileKind::kAbsent;
  const ReadKey key = {recorded_id(session), inside_path};
  std::string text = content;
  if (is_new) {
    GALLEY_TRY(keep_base(key, std::nullopt));
  } else if (there.size <= kMaxProtocolFileBytes) {
    GALLEY_ASSIGN(const std::string now,
                  read_file(view.files(), inside_path, kMaxProtocolFileBytes));
    GALLEY_TRY(keep_base(key, now));
    if (from_editor_.contains(key)) text = saved_text(now, content);
  }
  if (const auto read = reads_.find(key); read != reads_.end()) forget_read(read);
  GALLEY_TRY(propose_ignored(inside_path));
  return view.put(inside_path,
                  file_node(text, is_new ? kNewFileMode : there.mode & kPermissionBits), text);
}

/// If a file was saved or deleted after the agent had read it, what the agent read is the base of
/// its change. Otherwise the run would take the saved state for what the agent saw.
Result<void> AcpRun::keep_base(const ReadKey& key, const std::optional<std::string>& now) {
  const auto read = reads_.find(key);
  if (read == reads_.end()) return {};
  const RelPath& path = key.second;
  const std::string& text = read->second.text;
  const auto disk = on_disk(path);
  if (!disk) return {};
  const bool is_file = disk->node.kind == FileKind::kRegular;
  if ((!is_file && disk->node.kind != FileKind::kAbsent) || (is_file && disk->bytes == text)) {
    return {};
  }
  const bool is_as_on_disk = is_file ? now == disk->bytes : !now;
  if (!is_as_on_disk && now != text) return {};  // the run has changed it before
  GALLEY_ASSIGN(Workspace * workspace, person_->open());
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const Transaction transaction, person_->resume(tx_));
  const Node seen = file_node(text, is_file ? disk->node.mode : read->second.mode);
  GALLEY_TRY(overlay_of(transaction)
                 .store()
                 ->keep(seen.content, std::make_shared<const std::string>(text)));
  GALLEY_ASSIGN(const RunFolder folder, RunFolder::open(*kept, tx_));
  GALLEY_ASSIGN(const WriterLock lock, persistent_of(*workspace).lock());
  return set_base(folder, *kept, path, seen);
}

/// Gives a file that git ignores a base, so that its change is proposed: the agent names the file,
/// as with the tool Write. Files that its programs write stay ignored.
Result<void> AcpRun::propose_ignored(const RelPath& path) {
  GALLEY_ASSIGN(Workspace * workspace, person_->open());
  const Place& place = galley::place_of(*workspace);
  const IgnoreRule rule = git_ignore_rule(place.path, place.clock());
  bool is_ignored = false;
  for (RelPath at = path; !at.is_root() && !is_ignored; at = at.parent()) {
    GALLEY_ASSIGN(const IgnoreAnswer answer,
                  rule(at, at != path, Deadline::after(place.clock(), kMaxIgnoreTime)));
    is_ignored = answer == IgnoreAnswer::kIgnored;
  }
  if (!is_ignored) return {};
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const RunFolder folder, RunFolder::open(*kept, tx_));
  GALLEY_ASSIGN(const Held disk, on_disk(path));
  GALLEY_ASSIGN(const Transaction transaction, person_->resume(tx_));
  if (is_file_or_link(disk.node)) {
    GALLEY_TRY(overlay_of(transaction)
                   .store()
                   ->keep(disk.node.content, std::make_shared<const std::string>(disk.bytes)));
  }
  GALLEY_ASSIGN(const WriterLock lock, persistent_of(*workspace).lock());
  GALLEY_ASSIGN(const Overlay::Entries basis, settled_basis(folder, *kept));
  return basis.contains(path) ? Result<void>() : set_base(folder, *kept, path, disk.node);
}

/// Gives the run the state on disk of these paths, which is then also their base.
Result<void> AcpRun::take_from_disk(const std::vector<RelPath>& paths) {
  if (paths.empty()) return {};
  GALLEY_ASSIGN(Workspace * workspace, person_->open());
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const OpenView view, OpenView::open(*kept, tx_));
  GALLEY_ASSIGN(const RunFolder folder, RunFolder::open(*kept, tx_));
  GALLEY_ASSIGN(const Transaction transaction, person_->resume(tx_));
  for (const RelPath& path : paths) {
    GALLEY_ASSIGN(const Held disk, on_disk(path));
    if (disk.node.kind == FileKind::kDirectory || disk.node.kind == FileKind::kOther) continue;
    if (is_file_or_link(disk.node)) {
      GALLEY_TRY(overlay_of(transaction)
                     .store()
                     ->keep(disk.node.content, std::make_shared<const std::string>(disk.bytes)));
    }
    GALLEY_ASSIGN(const WriterLock lock, persistent_of(*workspace).lock());
    GALLEY_TRY(view.put(path, disk.node, disk.bytes));
    GALLEY_TRY(set_base(folder, *kept, path, disk.node));
  }
  return {};
}

// --- turns --------------------------------------------------------------------------------------

/// Between two turns, the run gets the files that were saved on disk, except those with changes of
/// the run that are not committed.
Result<void> AcpRun::take_saves(const std::string& session) {
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  std::vector<RelPath> saved;
  std::vector<std::pair<RelPath, int64_t>> synced;
  {
    GALLEY_ASSIGN(const Transaction transaction, resume(session));
    const Overlay::Entries& staged = overlay_of(transaction).entries();
    GALLEY_ASSIGN(const RunFolder folder, RunFolder::open(*kept, tx_));
    GALLEY_ASSIGN(const Overlay::Entries basis, settled_basis(folder, *kept));
    GALLEY_ASSIGN(const Workspace* workspace, person_->open());
    const Directory& files = galley::place_of(*workspace).files();
    for (const auto& [path, entry] : basis) {
      if (staged.contains(path) || entry.now.kind == FileKind::kDirectory) continue;
      GALLEY_ASSIGN(const FileStat there, files.stat(path));
      const auto known = synced_.find(path);
      if (known != synced_.end() && known->second == there.ctime_ns) continue;
      const auto disk = on_disk(path);
      if (!disk) continue;
      if (disk->node != entry.now) saved.push_back(path);
      synced.emplace_back(path, there.ctime_ns);
    }
  }
  GALLEY_TRY(take_from_disk(saved));
  for (auto& [path, ctime] : synced) synced_[std::move(path)] = ctime;
  return {};
}

Result<void> AcpRun::begin_turn(const std::string& session, const std::string& prompt,
                                bool is_alone) {
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  last_session_ = recorded_id(session);
  GALLEY_TRY(AgentSession(*kept, last_session_).begin_turn(prompt));
  GALLEY_ASSIGN(const RunFolder run, RunFolder::open(*kept, tx_));
  GALLEY_TRY(run.note_session(last_session_));
  // The agent works with the files of the other turn.
  return is_alone ? take_saves(session) : Result<void>();
}

Result<std::vector<AcpChange>> AcpRun::staged(const std::string& session) {
  GALLEY_ASSIGN(const Transaction transaction, resume(session));
  if (const Error* why = transaction.unstaged_run(); why != nullptr) return fail(*why);
  const Proposal proposal = transaction.proposal();
  std::vector<AcpChange> changes;
  for (const Change& change : proposal.changes()) {
    if (is_file_change(change)) changes.push_back(shown_change(proposal, change, false));
  }
  return changes;
}

Result<AcpVerdict> AcpRun::judge(const std::string& session) {
  judged_.reset();
  GALLEY_ASSIGN(Transaction transaction, resume(session));
  if (const Error* why = transaction.unstaged_run(); why != nullptr) return fail(*why);
  AcpVerdict verdict;
  if (transaction.proposal().is_empty()) return verdict;
  GALLEY_ASSIGN(const Preview preview, transaction.preview());
  GALLEY_ASSIGN(ProposalPieces pieces, ProposalPieces::split(preview.proposal, kPartContext));
  verdict.proposal = preview.proposal.id().hex();
  verdict.is_approved = preview.verdict.is_approved();
  const auto* refusal = std::get_if<Refusal>(&preview.verdict.decision);
  verdict.needs_person = refusal != nullptr && refusal->reason == "gate.approval_missing";
  verdict.text = changes_summary(preview.proposal.changes()) + verdict_summary(preview.verdict);
  GALLEY_ASSIGN(const auto conflicts, inner(transaction).conflicts());
  if (!conflicts.empty()) verdict.conflict = conflicts_text(conflicts_json(conflicts));
  for (size_t i = 0; i < pieces.pieces().size(); ++i) {
    const ProposalPiece& piece = pieces.pieces()[i];
    AcpPart shown;
    if (i < kMaxAcpParts) {
      GALLEY_ASSIGN(const Proposal part, pieces.only({i}));
      shown = shown_part(part, piece.path);
    }
    if (shown.empty()) shown.emplace_back().path = piece.path.str();
    verdict.parts.push_back(std::move(shown));
  }
  judged_ = Judged{preview.proposal, std::move(pieces)};
  return verdict;
}

/// Restores in the run what `whole` changes and `part` does not.
Result<void> AcpRun::take_back(const Proposal& whole, const Proposal& part) {
  GALLEY_ASSIGN(const StateDirectory* kept, state());
  GALLEY_ASSIGN(const OpenView view, OpenView::open(*kept, tx_));
  std::vector<std::pair<RelPath, Node>> wanted;
  for (const Change& change : whole.changes()) {
    const Change* left = find_change(part.changes(), change.path);
    const Node& node = left == nullptr ? change.before : left->after;
    if (node != change.after) wanted.emplace_back(change.path, node);
  }
  // Removals begin with the innermost path, everything else with the outermost.
  for (auto at = wanted.rbegin(); at != wanted.rend(); ++at) {
    if (at->second.kind != FileKind::kAbsent) continue;
    // A directory with files that git ignores stays; it is not proposed.
    const auto removed = view.put(at->first, at->second, {});
    if (!removed && removed.error().os_error != ENOTEMPTY) return removed;
  }
  for (const auto& [path, node] : wanted) {
    if (node.kind == FileKind::kAbsent) continue;
    std::string bytes;
    if (is_file_or_link(node)) {
      auto content = whole.content(node);
      if (!content) content = part.content(node);
      if (!content) return fail(content.error());
      bytes = **content;
    }
    GALLEY_TRY(view.put(path, node, bytes));
  }
  return {};
}

Result<AcpCommit> AcpRun::commit(const std::string& session, const AcpVerdict& verdict,
                                 const AcpDecision& decision) {
  AcpCommit result;
  result.kind = AcpCommit::Kind::kChanged;
  if (!judged_ || judged_->proposal.id().hex() != verdict.proposal) return result;
  Proposal wanted = judged_->proposal;
  if (!decision.rejected.empty()) {
    {
      GALLEY_ASSIGN(const Transaction transaction, resume(session));
      if (transaction.proposal().id() != wanted.id()) return result;
    }
    const std::set<size_t> rejected(decision.rejected.begin(), decision.rejected.end());
    std::vector<size_t> accepted;
    for (size_t i = 0; i < verdict.parts.size(); ++i) {
      if (!rejected.contains(i)) accepted.push_back(i);
    }
    GALLEY_ASSIGN(wanted, judged_->pieces.only(accepted));
    GALLEY_TRY(take_back(judged_->proposal, wanted));
    result.is_taken_back = true;
  }
  GALLEY_ASSIGN(Transaction transaction, resume(session));
  if (transaction.proposal().id() != wanted.id()) return result;
  result.kind = AcpCommit::Kind::kNothing;
  if (wanted.is_empty()) return result;
  says_yes_ = decision.is_by_person;
  auto committed = commit_now(transaction);
  says_yes_ = false;
  if (committed) committed->is_taken_back = result.is_taken_back;
  return committed;
}

Result<AcpCommit> AcpRun::commit_now(Transaction& transaction) {
  AcpCommit result;
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit({.tool = "acp"}));
  if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
    result.kind = AcpCommit::Kind::kCommitted;
    for (const Change& change : receipt->changes) forget_reads(change.path);
    const auto paths =
        std::count_if(receipt->changes.begin(), receipt->changes.end(), is_file_change);
    result.text =
        fmt::format("Committed as {}: {}; take it back with: galley undo {}", receipt->id.str(),
                    counted(static_cast<uint64_t>(paths), "path"), receipt->id.str());
    for (const std::string& warning : receipt->warnings) result.text += "\n" + warning;
  } else if (const auto* refused = std::get_if<Refused>(&outcome)) {
    const bool is_question = refused->refusal().reason == "gate.approval_missing" && !says_yes_;
    result.kind = is_question ? AcpCommit::Kind::kAsked : AcpCommit::Kind::kRefused;
    result.text = verdict_summary(refused->preview.verdict);
  } else if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    result.kind = AcpCommit::Kind::kConflict;
    for (const Conflict::Path& path : conflict->paths) {
      result.conflicts.push_back(path.path.str());
      result.text += path.message + "\n";
    }
    if (const auto listed = inner(transaction).conflicts()) {
      result.text += conflicts_text(conflicts_json(*listed));
    }
  }
  return result;
}

Result<void> AcpRun::take_saved(const std::string& /*session*/,
                                const std::vector<std::string>& paths) {
  std::vector<RelPath> taken;
  for (const std::string& path : paths) {
    GALLEY_ASSIGN(RelPath one, RelPath::parse(path));
    forget_reads(one);  // the agent is told what was saved
    taken.push_back(std::move(one));
  }
  return take_from_disk(taken);
}

}  // namespace galley
