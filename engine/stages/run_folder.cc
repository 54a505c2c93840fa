#include "engine/stages/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/file_mode.h"
#include "engine/commit/outcome.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "galley.run/1";
constexpr size_t kIdDigits = 12;
constexpr int kMaxDepth = 8;
constexpr int kLockAttempts = 10;
constexpr std::chrono::milliseconds kLockPause{1};

RelPath folder_path(const StateDirectory& state, const std::string& tx) {
  return state.own("runs/" + tx);
}

bool is_id(std::string_view text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error damaged_note(const RunFolder& folder) {
  return {ErrorKind::kInvalid, "run.damaged",
          "the note of the run " + folder.tx() + " cannot be read; what it wrote is in " +
              folder.shown_place() + "/upper",
          "", 0};
}

Error not_found(const std::string& wanted) {
  return {ErrorKind::kNotFound, "run.not_found",
          "there is no run '" + wanted + "'; `galley status` lists them", "", 0};
}

Json to_json(const RunNote& note) {
  return {{"schema", kSchema},
          {"tx", note.tx},
          {"name", note.name},
          {"argv", note.argv},
          {"agent", note.agent},
          {"execution", note.execution},
          {"supervisor", {{"pid", note.supervisor.pid}, {"start", note.supervisor.start}}},
          {"mount_fd", note.mount_fd},
          {"since_ns", note.since_ns},
          {"began_ns", note.began_ns},
          {"mounted_ns", note.mounted_ns},
          {"history", note.history},
          {"lower_home", note.lower_home},
          {"terminal", note.is_terminal},
          {"attached", note.is_attached},
          {"network", note.shares_network},
          {"propose_ignored", note.proposes_ignored},
          {"allow_write", note.writable},
          {"layers", note.layered},
          {"ended", note.ended}};
}

RunNote from_json(const Json& json) {
  RunNote note;
  json.at("tx").get_to(note.tx);
  json.at("name").get_to(note.name);
  json.at("argv").get_to(note.argv);
  json.at("agent").get_to(note.agent);
  json.at("execution").get_to(note.execution);
  json.at("supervisor").at("pid").get_to(note.supervisor.pid);
  json.at("supervisor").at("start").get_to(note.supervisor.start);
  json.at("mount_fd").get_to(note.mount_fd);
  json.at("since_ns").get_to(note.since_ns);
  json.at("began_ns").get_to(note.began_ns);
  note.mounted_ns = json.value("mounted_ns", note.began_ns);
  json.at("history").get_to(note.history);
  json.at("lower_home").get_to(note.lower_home);
  json.at("terminal").get_to(note.is_terminal);
  json.at("attached").get_to(note.is_attached);
  json.at("network").get_to(note.shares_network);
  note.proposes_ignored = json.value("propose_ignored", false);
  json.at("allow_write").get_to(note.writable);
  json.at("layers").get_to(note.layered);
  json.at("ended").get_to(note.ended);
  return note;
}

/// Returns a field of /proc/PID/stat by its number in proc(5). The name, number 2, may contain
/// spaces and brackets.
uint64_t stat_field(std::string_view stat, int wanted) {
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  size_t at = name_end + 2;
  for (int field = 3; field < wanted; ++field) {
    at = stat.find(' ', at);
    if (at == std::string_view::npos) return 0;
    ++at;
  }
  uint64_t value = 0;
  (void)std::from_chars(stat.data() + at, stat.data() + stat.size(), value);
  return value;
}

}  // namespace

ProcessIdentity ProcessIdentity::own() { return of(getpid()); }

ProcessIdentity ProcessIdentity::of(int64_t pid) {
  constexpr size_t kStatBytes = 4096;
  constexpr int kParentField = 4;
  constexpr int kStartField = 22;
  ProcessIdentity identity{pid};
  const auto directory = open_disk_directory("/proc/" + std::to_string(identity.pid));
  if (!directory) return identity;
  const auto file = (*directory)->open_file(chosen_path("stat"));
  const auto text = file ? (*file)->read_at(0, kStatBytes) : Result<std::string>(std::string());
  if (!text) return identity;
  identity.start = stat_field(*text, kStartField);
  identity.parent = static_cast<int64_t>(stat_field(*text, kParentField));
  return identity;
}

Result<void> check_run_name(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const bool is_good = !name.empty() && name.size() <= kMaxRunNameBytes && !is_id(name) &&
                       name.front() != '-' &&
                       name.find_first_not_of(kPlain) == std::string_view::npos;
  if (is_good) return {};
  return fail(ErrorKind::kUsage, "run.name",
              "a run cannot be called '" + std::string(name) +
                  "': use letters, digits, '-', '_' and '.', at most " +
                  std::to_string(kMaxRunNameBytes) + ", and no transaction's id");
}

Result<RunFolder> RunFolder::open(const StateDirectory& state, const std::string& tx) {
  if (!is_id(tx)) return not_found(tx);
  RelPath place = folder_path(state, tx);
  auto directory = state.root().open_writable_directory(place);
  if (!directory && directory.error().kind == ErrorKind::kNotFound) return not_found(tx);
  if (!directory) return fail(directory.error());
  return RunFolder(tx, std::move(place), *std::move(directory));
}

Result<RunFolder> RunFolder::hold(const StateDirectory& state, const std::string& tx) {
  if (!is_id(tx)) return not_found(tx);
  GALLEY_TRY(make_directories(state.root(), folder_path(state, tx), kPrivateDirectory));
  GALLEY_ASSIGN(RunFolder folder, open(state, tx));
  GALLEY_ASSIGN(const bool is_ours, folder.take_lock());
  if (is_ours) return folder;
  return fail(ErrorKind::kTimeout, "run.live",
              "a program runs in the transaction " + tx + " already: galley attach " + tx);
}

Result<bool> RunFolder::take_lock() {
  if (lock_ != nullptr) return true;
  GALLEY_ASSIGN(auto file, directory_->open_writable_file(chosen_path("lock"),
                                                          OpenMode::kOpenOrCreate, kPrivateFile));
  // A process that checks whether it is live (is_live()) shares the lock for a moment.
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    GALLEY_ASSIGN(const bool is_ours, file->try_lock(LockMode::kExclusive));
    if (is_ours) {
      lock_ = std::move(file);
      return true;
    }
    std::this_thread::sleep_for(kLockPause);
  }
  return false;
}

Result<bool> RunFolder::is_live() const {
  if (lock_ != nullptr) return true;
  const auto file = directory_->open_file(chosen_path("lock"));
  if (!file && file.error().kind == ErrorKind::kNotFound) return false;
  if (!file) return fail(file.error());
  GALLEY_ASSIGN(const bool is_free, (*file)->try_lock(LockMode::kShared));
  return !is_free;
}

namespace {

/// Parses the note of a run. Nothing is returned for a damaged one.
std::optional<RunNote> parse_note(const std::string& text, const std::string& tx) {
  int depth = 0;
  const auto is_shallow = [&depth](int now, Json::parse_event_t, Json&) {
    depth = std::max(depth, now);
    return now <= kMaxDepth;
  };
  try {
    const Json json = Json::parse(text, is_shallow);
    if (depth > kMaxDepth || json.at("schema") != kSchema) return std::nullopt;
    RunNote note = from_json(json);
    return note.tx == tx ? std::optional(std::move(note)) : std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string note_text(const RunNote& note) {
  return to_json(note).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<RunNote> RunFolder::note() const {
  const auto text = read_file(*directory_, chosen_path("run.json"), kMaxRunNoteBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return not_found(tx_);
  if (!text) return fail(text.error());
  auto note = parse_note(*text, tx_);
  if (!note) return damaged_note(*this);
  return *std::move(note);
}

Result<void> keep_last_run(const WritableDirectory& stage, const RunNote& note) {
  return replace_file(stage, "last-run.json", note_text(note));
}

std::optional<RunNote> last_run(const StateDirectory& state, const std::string& tx) {
  const auto stage = state.root().open_directory(state.own("stage/" + tx));
  const auto text = stage ? read_file(**stage, chosen_path("last-run.json"), kMaxRunNoteBytes)
                          : fail(stage.error());
  return text ? parse_note(*text, tx) : std::nullopt;
}

Result<void> RunFolder::write_note(const RunNote& note) const {
  const std::string text = note_text(note);
  if (text.size() > kMaxRunNoteBytes) {
    return fail(ErrorKind::kQuota, "limit.run_note", "the command line of the run is too long");
  }
  // Others read it without a lock, so the file is replaced instead of rewritten.
  return replace_file(*directory_, "run.json", text);
}

std::string RunFolder::session() const {
  auto text = read_file(*directory_, chosen_path("session"), kMaxSessionBytes);
  return text && is_session_id(*text) ? *std::move(text) : std::string();
}

Result<void> RunFolder::note_session(const std::string& id) const {
  return replace_file(*directory_, "session", id);
}

Result<std::vector<std::string>> RunFolder::list(const StateDirectory& state) {
  std::vector<std::string> ids;
  const auto runs = state.root().open_directory(state.own("runs"));
  if (!runs && runs.error().kind == ErrorKind::kNotFound) return ids;
  if (!runs) return fail(runs.error());
  GALLEY_ASSIGN(const auto entries, (*runs)->list());
  for (const DirectoryEntry& entry : entries) {
    if (!is_id(entry.name)) continue;
    const auto note = (*runs)->stat(chosen_path(entry.name + "/run.json"));
    if (note && note->kind == FileKind::kRegular) ids.push_back(entry.name);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::string> RunFolder::find(const StateDirectory& state, const std::string& wanted) {
  GALLEY_ASSIGN(const auto ids, list(state));
  std::vector<std::string> meant;
  for (const std::string& id : ids) {
    GALLEY_ASSIGN(const RunFolder folder, open(state, id));
    const auto note = folder.note();
    // A name must match exactly; two runs with one name are distinguished by their ids.
    const bool is_named = note && !note->name.empty() && note->name == wanted;
    if (is_named || (!wanted.empty() && id.starts_with(wanted))) meant.push_back(id);
  }
  if (meant.size() == 1) return meant.front();
  if (meant.empty()) return not_found(wanted);
  std::string text = "'" + wanted + "' could be one of several runs:";
  for (const std::string& id : meant) text += " " + id;
  return fail(ErrorKind::kUsage, "run.which", text);
}

std::vector<std::unique_ptr<Directory>> RunFolder::hold_directories(const StateDirectory& state,
                                                                    const std::string& tx) {
  std::string overlays_own = folder_path(state, tx).str();
  for (const char* name : {"work", "work", "incompat"}) overlays_own += std::string("/") + name;
  std::vector<std::unique_ptr<Directory>> held;
  for (const RelPath& place :
       {state.own("stage/" + tx), state.own("contents/" + tx), state.own("runs/graveyard"),
        chosen_path(overlays_own), chosen_path(overlays_own + "/volatile")}) {
    auto opened = state.root().open_directory(place);
    if (opened) held.push_back(*std::move(opened));
  }
  return held;
}

Result<void> RunFolder::remove(const StateDirectory& state, RunFolder folder) {
  const std::string tx = folder.tx_;
  // Remove the note first. Without it the run does not exist, and the other files are garbage.
  auto gone = folder.directory_->remove_file(chosen_path("run.json"));
  if (!gone && gone.error().kind != ErrorKind::kNotFound) return gone;
  GALLEY_ASSIGN(const auto runs, state.root().open_writable_directory(state.own("runs")));
  return erase_layer(*runs, chosen_path(tx));
}

}  // namespace galley
