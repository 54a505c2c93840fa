#include "engine/stages/stored_stage.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/outcome.h"
#include "engine/stages/savepoints.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "staging/overlay/overlay_file.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {

namespace {

constexpr std::string_view kAboutMagic = "galley stage 1\n";
constexpr std::chrono::milliseconds kPollEvery{10};
constexpr std::string_view kCommit = "commit";
constexpr std::string_view kUndo = "undo";
constexpr uint64_t kMaxUndoBytes = uint64_t{1} << 20U;
constexpr uint64_t kMaxAboutBytes = uint64_t{64} << 10U;
constexpr uint64_t kMaxOverlayBytes = uint64_t{256} << 20U;
/// A file of staged entries that grew by less is not rewritten.
constexpr uint64_t kMinGrowth = uint64_t{64} << 10U;

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

/// Skips a missing file.
Result<void> copy_file(const WritableDirectory& from, const WritableDirectory& to,
                       std::string_view name) {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(name));
  const auto text = read_file(from, file, kMaxOverlayBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return {};
  if (!text) return fail(text.error());
  return replace_file(to, name, *text);
}

/// A hard link is enough, because such a file is never changed, only replaced.
Result<void> share_file(const WritableDirectory& from, const WritableDirectory& to,
                        std::string_view name) {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(name));
  if (from.make_hard_link(file, to, file)) return {};
  return copy_file(from, to, name);
}

tl::unexpected<Error> damaged_stage(const std::string& id) {
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "the transaction " + id + " is damaged; drop it with: galley rollback --tx " + id);
}

Result<std::vector<std::string>> read_contributors(const Directory& directory) {
  std::vector<std::string> names;
  GALLEY_ASSIGN(const RelPath file, RelPath::parse("contributors"));
  const auto text = read_file(directory, file, kMaxAboutBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return names;
  if (!text) return fail(text.error());
  for (size_t start = 0; start < text->size();) {
    const size_t end = std::min(text->find('\n', start), text->size());
    names.push_back(text->substr(start, end - start));
    start = end + 1;
  }
  return names;
}

Result<void> write_contributors(const WritableDirectory& directory,
                                const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += one_line(name) + "\n";
  if (text.size() > kMaxAboutBytes) {
    return fail(ErrorKind::kQuota, "limit.contributors",
                "too many different callers staged in this transaction; begin another");
  }
  return replace_file(directory, "contributors", text);
}

/// Whether the history has the commit that the stage notes.
Result<bool> is_committed(const StateDirectory& state, const Directory& directory) {
  const auto note = read_file(directory, chosen_path(kCommit), kMaxAboutBytes);
  if (!note && note.error().kind == ErrorKind::kNotFound) return false;
  if (!note) return fail(note.error());
  const size_t space = note->find(' ');
  const auto number = TxId::parse(std::string_view(*note).substr(0, space));
  if (!number || space == note->npos) return false;
  const auto commit = load_committed(state, *number, ImageUse::kSkip);
  return commit && commit->journal.proposal.hex() == note->substr(space + 1);
}

Result<StageHeader> read_stage_header(const StateDirectory& state, const Directory& directory,
                                      const std::string& id) {
  GALLEY_ASSIGN(const bool is_over, is_committed(state, directory));
  if (is_over) return fail(stage_has_ended(id));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("about"));
  const auto text = read_file(directory, name, kMaxAboutBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return fail(stage_has_ended(id));
  if (!text) return fail(text.error());
  std::string_view rest = *text;
  if (!rest.starts_with(kAboutMagic)) return damaged_stage(id);
  rest.remove_prefix(kAboutMagic.size());
  StageHeader about;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), about.begun_ns);
  if (code != std::errc()) return damaged_stage(id);
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  const size_t first_line = rest.find('\n');
  if (first_line == std::string_view::npos) return damaged_stage(id);
  if (first_line > 0) {
    about.session = rest.substr(1, first_line - 1);
    if (rest.front() != ' ' || !is_session_id(about.session)) return damaged_stage(id);
  }
  rest.remove_prefix(first_line + 1);
  const size_t line = rest.find('\n');
  if (line == std::string_view::npos) return damaged_stage(id);
  about.agent = rest.substr(0, line);
  about.message = rest.substr(line + 1);
  GALLEY_ASSIGN(about.contributors, read_contributors(directory));
  GALLEY_ASSIGN(const FileStat stat, directory.stat(RelPath::root()));
  about.uid = stat.uid;
  return about;
}

}  // namespace

namespace {

Result<std::string> stage_header_text(const StageHeader& about) {
  std::string text =
      fmt::format("{}{}{}{}\n{}\n{}", kAboutMagic, about.begun_ns, about.session.empty() ? "" : " ",
                  about.session, one_line(about.agent), about.message);
  if (text.size() > kMaxAboutBytes) {
    return fail(
        ErrorKind::kQuota, "limit.journal_text",
        fmt::format("the reason (-m) of the transaction has {} bytes; with the names of its "
                    "agent and session it may have {}",
                    about.message.size(), kMaxAboutBytes));
  }
  return text;
}

}  // namespace

bool is_own(const StageHeader& about, const std::string& agent) {
  return about.agent == one_line(agent) && about.uid == effective_user();
}

Result<StoredStage> StoredStage::create(const StateDirectory& state, const StageHeader& about) {
  GALLEY_ASSIGN(const std::string header, stage_header_text(about));
  GALLEY_ASSIGN(StageDirectory stage, StageDirectory::create(state));
  GALLEY_TRY(replace_file(stage.directory(), "overlay", encode_entries({})));
  GALLEY_TRY(replace_file(stage.directory(), "about", header));
  return of(state, std::move(stage));
}

Result<StoredStage> StoredStage::fork(const StateDirectory& state, const StageHeader& about) const {
  GALLEY_ASSIGN(const std::string header, stage_header_text(about));
  GALLEY_ASSIGN(StageDirectory child, StageDirectory::create(state));
  GALLEY_TRY(child.share_contents(stage_));
  GALLEY_TRY(share_file(directory(), child.directory(), "overlay"));
  GALLEY_TRY(copy_file(directory(), child.directory(), "calls"));
  GALLEY_TRY(copy_file(directory(), child.directory(), kUndo));
  GALLEY_TRY(note_fork(child.directory(), id()));
  if (about.has_markers) GALLEY_TRY(replace_file(child.directory(), "markers", ""));
  if (!about_.contributors.empty()) {
    GALLEY_TRY(write_contributors(child.directory(), about_.contributors));
  }
  GALLEY_TRY(replace_file(child.directory(), "about", header));
  return of(state, std::move(child));
}

Result<StoredStage> StoredStage::open(const StateDirectory& state, const std::string& id,
                                      std::chrono::milliseconds timeout) {
  for (std::chrono::milliseconds waited{0};; waited += kPollEvery) {
    auto stage = StageDirectory::adopt(state, id);
    if (stage) return of(state, *std::move(stage));
    if (stage.error().reason != "stage.busy" || waited >= timeout) return fail(stage.error());
    std::this_thread::sleep_for(kPollEvery);
  }
}

Result<StoredStage> StoredStage::of(const StateDirectory& state, StageDirectory stage) {
  StoredStage stored(std::move(stage));
  GALLEY_ASSIGN(stored.about_, read_stage_header(state, stored.directory(), stored.id()));
  GALLEY_ASSIGN(const RelPath markers, RelPath::parse("markers"));
  GALLEY_ASSIGN(const FileStat note, stored.directory().stat(markers));
  stored.about_.has_markers = note.kind != FileKind::kAbsent;
  GALLEY_ASSIGN(auto directory, stored.stage_.open_contents(state));
  stored.contents_ = make_disk_store(std::move(directory));
  return stored;
}

Result<Overlay::Entries> StoredStage::load() {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("overlay"));
  GALLEY_ASSIGN(const std::string text, read_file(directory(), name, kMaxOverlayBytes));
  auto read = decode_appendable_entries(text);
  if (!read) return damaged_stage(id());
  saved_ = *std::move(read);
  return saved_->entries;
}

Result<void> StoredStage::save_whole(const Overlay::Entries& entries) {
  saved_.reset();
  const std::string text = encode_entries(entries);
  GALLEY_TRY(swap_file(directory(), "overlay", text));
  saved_ = appendable_entries(entries, text);
  return {};
}

Result<void> StoredStage::save(const Overlay::Entries& entries) {
  if (!saved_) return save_whole(entries);
  const uint64_t end = saved_->bytes;
  AppendableEntries grown = *saved_;
  const std::string more = encode_more_entries(grown, entries);
  if (more.empty()) return {};
  const bool is_long =
      grown.bytes - grown.whole_bytes > std::max<uint64_t>(grown.whole_bytes, kMinGrowth);
  if (is_long || grown.bytes > kMaxOverlayBytes) return save_whole(entries);
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("overlay"));
  const auto file = directory().open_writable_file(name, OpenMode::kReadWrite);
  const auto stat = file ? (*file)->stat() : Result<FileStat>(file.error());
  // Do not write to a file that a fork shares, or that another process changed.
  if (!stat || stat->nlink > 1 || stat->size < end) return save_whole(entries);
  saved_.reset();
  if (stat->size > end) GALLEY_TRY((*file)->truncate(end));
  if (const auto written = (*file)->write_at(end, more); !written) {
    (void)(*file)->truncate(end);
    return written;
  }
  saved_ = std::move(grown);
  return {};
}

Result<std::vector<StagedStep>> StoredStage::load_steps() const {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("calls"));
  const auto text = read_file(directory(), name, kMaxOverlayBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::vector<StagedStep>();
  if (!text) return fail(text.error());
  return decode_steps(*text);
}

Result<void> StoredStage::add_steps(const std::vector<StagedStep>& steps) const {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("calls"));
  GALLEY_ASSIGN(const auto file,
                directory().open_writable_file(name, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size == 0) return file->write_at(0, encode_steps(steps));
  const uint64_t tail_size = std::min<uint64_t>(stat.size, kMaxStepsTailBytes);
  GALLEY_ASSIGN(const std::string end, file->read_at(stat.size - tail_size, tail_size));
  const auto tail = tail_of_steps(end);
  if (!tail) return {};
  if (tail->paths > 2 * kMaxStepPaths) {
    auto all = load_steps();
    if (!all) return {};
    all->insert(all->end(), steps.begin(), steps.end());
    bound_steps(*all);
    return replace_file(directory(), "calls", encode_steps(*all));
  }
  const auto written = file->write_at(stat.size, encode_more_steps(*tail, steps));
  if (!written) (void)file->truncate(stat.size);
  return written;
}

Result<void> StoredStage::note_commit(TxId number, const ContentId& proposal) const {
  return replace_file(directory(), kCommit, number.str() + " " + proposal.hex());
}

Result<void> StoredStage::note_markers() {
  about_.has_markers = true;
  return replace_file(directory(), "markers", "");
}

Result<StageHeader> StoredStage::look_at(const StateDirectory& state, const std::string& id) {
  GALLEY_ASSIGN(const auto directory, state.root().open_directory(state.own("stage/" + id)));
  return read_stage_header(state, *directory, id);
}

bool StoredStage::has_contributor(const std::string& name) const {
  const std::vector<std::string>& names = about_.contributors;
  return std::find(names.begin(), names.end(), one_line(name)) != names.end();
}

Result<void> StoredStage::note_contributor(const std::string& name) {
  if (has_contributor(name)) return {};
  std::vector<std::string> names = about_.contributors;
  names.push_back(one_line(name));
  GALLEY_TRY(write_contributors(directory(), names));
  about_.contributors = std::move(names);
  return {};
}

Result<void> StoredStage::note_reason(const std::string& reason) {
  if (reason.empty() || !about_.message.empty()) return {};
  StageHeader about = about_;
  about.message = reason;
  return replace_header(std::move(about));
}

Result<void> StoredStage::note_session(const std::string& session) {
  if (session.empty() || !about_.session.empty()) return {};
  StageHeader about = about_;
  about.session = session;
  return replace_header(std::move(about));
}

Result<void> StoredStage::replace_header(StageHeader about) {
  GALLEY_ASSIGN(const std::string header, stage_header_text(about));
  GALLEY_TRY(replace_file(directory(), "about", header));
  about_ = std::move(about);
  return {};
}

Result<void> StoredStage::remove(const StateDirectory& state, StoredStage stage) {
  return StageDirectory::remove(state, std::move(stage.stage_));
}

namespace {

constexpr const char* kComments = "comments";

RelPath message_file() { return *RelPath::parse("git-commit"); }

}  // namespace

Result<void> write_git_message(const WritableDirectory& stage, const std::string& message) {
  if (message.size() > kMaxGitMessageBytes) {
    return fail(ErrorKind::kQuota, "limit.git_message",
                "a commit message has at most " + std::to_string(kMaxGitMessageBytes) + " bytes");
  }
  GALLEY_ASSIGN(const auto file,
                stage.open_writable_file(message_file(), OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  return file->write_at(0, message);
}

Result<std::string> read_git_message(const Directory& stage) {
  auto message = read_file(stage, message_file(), kMaxGitMessageBytes);
  if (message || message.error().kind != ErrorKind::kNotFound) return message;
  return std::string();
}

Result<void> write_resolved_undo(const WritableDirectory& stage, const ResolvedUndo& undo) {
  std::string text = undo.tool + " " + undo.undoes.str();
  for (const TxId also : undo.also_undoes) text += " " + also.str();
  return replace_file(stage, kUndo, text);
}

Result<std::optional<ResolvedUndo>> read_resolved_undo(const Directory& stage) {
  const auto text = read_file(stage, chosen_path(kUndo), kMaxUndoBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::optional<ResolvedUndo>();
  if (!text) return fail(text.error());
  ResolvedUndo undo;
  std::vector<TxId> ids;
  for (size_t at = text->find(' '); at != std::string::npos;) {
    const size_t end = text->find(' ', at + 1);
    const auto id = TxId::parse(std::string_view(*text).substr(at + 1, end - at - 1));
    if (!id) break;
    ids.push_back(*id);
    at = end;
  }
  if (ids.empty()) {
    return fail(ErrorKind::kInvalid, "stage.damaged",
                "the undo that this transaction resolves cannot be read; roll it back");
  }
  undo.tool = text->substr(0, text->find(' '));
  undo.undoes = ids.front();
  undo.also_undoes.assign(ids.begin() + 1, ids.end());
  return std::optional<ResolvedUndo>(std::move(undo));
}

Result<void> write_comments(const WritableDirectory& stage,
                            const std::vector<ReviewComment>& comments) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReviewComment& one : comments) list.push_back({{"on", one.on}, {"text", one.text}});
  const std::string text = list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxCommentsBytes) {
    return fail(
        ErrorKind::kQuota, "limit.comments",
        "the comments of a review have at most " + std::to_string(kMaxCommentsBytes) + " bytes");
  }
  return replace_file(stage, kComments, text);
}

Result<std::vector<ReviewComment>> read_comments(const Directory& stage) {
  std::vector<ReviewComment> comments;
  const auto text = read_file(stage, chosen_path(kComments), kMaxCommentsBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return comments;
  if (!text) return fail(text.error());
  const nlohmann::json list = nlohmann::json::parse(*text, nullptr, false);
  const auto is_text = [](const nlohmann::json& one, const char* name) {
    return one.is_object() && one.contains(name) && one[name].is_string();
  };
  for (const nlohmann::json& one : list.is_array() ? list : nlohmann::json::array({nullptr})) {
    if (!is_text(one, "on") || !is_text(one, "text")) {
      return fail(ErrorKind::kInvalid, "stage.damaged",
                  "the comments of this transaction are damaged; review it again");
    }
    comments.push_back({one["on"].get<std::string>(), one["text"].get<std::string>()});
  }
  return comments;
}

namespace {

RelPath note() { return *RelPath::parse("scratch-home"); }

/// Returns an empty text when there is none.
Result<std::string> noted(const Directory& stage) {
  auto path = read_file(stage, note(), kMaxHostPathBytes);
  if (path) return path;
  if (path.error().kind == ErrorKind::kNotFound) return std::string();
  return fail(path.error());
}

}  // namespace

Result<std::string> ensure_scratch_home(const WritableDirectory& stage) {
  GALLEY_ASSIGN(const std::string known, noted(stage));
  if (is_layer_home(known)) return known;
  GALLEY_ASSIGN(const std::string path, LayerHome::make_persistent());
  GALLEY_ASSIGN(const auto file,
                stage.open_writable_file(note(), OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, path));
  return path;
}

Result<void> drop_scratch_home(const Directory& stage) {
  GALLEY_ASSIGN(const std::string path, noted(stage));
  return path.empty() ? Result<void>() : remove_layer_home(path);
}

Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state) {
  std::map<std::string, std::string> homes;
  const auto stages = state.root().open_directory(state.own("stage"));
  if (!stages) return homes;  // no transaction was stored yet
  GALLEY_ASSIGN(const auto entries, (*stages)->list());
  for (const DirectoryEntry& entry : entries) {
    const auto id = RelPath::parse(entry.name);
    if (!id || entry.kind != FileKind::kDirectory) continue;
    const auto stage = (*stages)->open_directory(*id);
    const auto path = stage ? noted(**stage) : Result<std::string>(std::string());
    if (path && !path->empty()) homes.emplace(entry.name, *path);
  }
  return homes;
}

}  // namespace galley
