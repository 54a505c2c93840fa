#include "staging/git/git_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "staging/fs/directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/git/git_files.h"
#include "staging/git/git_settings.h"
#include "staging/sandbox/host_process.h"

namespace galley {
namespace {

constexpr const char* kTimeVariable = "GALLEY_GIT_TIMEOUT";
constexpr int64_t kMaxSeconds = 86'400;
constexpr size_t kMaxWordsBytes = 400;
constexpr size_t kMaxDotGitBytes = 8192;
constexpr size_t kMaxConfigBytes = size_t{16} << 20U;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// The first line that begins with `head`, without it; empty: there is none.
std::string line_after(std::string_view head, std::string_view complaint) {
  for (const std::string_view line : lines_of(complaint)) {
    if (line.starts_with(head)) return printable_line(line.substr(head.size()), kMaxWordsBytes);
  }
  return {};
}

/// The most important line of git's error output, without `fatal: `. A fatal line is preferred to
/// the errors before it.
std::string decisive_line(std::string_view complaint) {
  for (const std::string_view head : {"fatal: ", "error: "}) {
    std::string words = line_after(head, complaint);
    if (!words.empty()) return words;
  }
  for (const std::string_view line : lines_of(complaint)) {
    if (!line.starts_with("hint: ")) return printable_line(line, kMaxWordsBytes);
  }
  return {};
}

bool tells_of_full_memory(std::string_view complaint) {
  return has(complaint, "out of memory") || has(complaint, "Out of memory");
}

/// Whether git reports an object that exists but cannot be decoded (object-file.c, packfile.c of
/// git).
bool tells_of_damage(std::string_view complaint) {
  if (tells_of_full_memory(complaint)) return false;  // also "inflate: out of memory"
  for (const std::string_view words :
       {"is corrupt", "corrupt loose object", "inflate: ", "unable to unpack", "failed to unpack",
        "unable to stream", "delta base", "exceeds 32 bytes", "garbage at end of loose object",
        "does not match index", "is far too short to be a packfile"}) {
    if (has(complaint, words)) return true;
  }
  return has(complaint, "object file ") && has(complaint, " is empty");
}

/// The time limit. A value of the variable that is not a number of seconds is ignored, so that it
/// does not cause failures.
std::chrono::milliseconds time_for_git() {
  const char* said = std::getenv(kTimeVariable);
  const auto seconds = number_of<int64_t>(said == nullptr ? "" : said);
  if (!seconds || *seconds < 1 || *seconds > kMaxSeconds) return GitProgram::kMaxTime;
  return std::chrono::seconds(*seconds);
}

/// Whether `.git` of this folder is the repository, or refers to it as in linked worktrees and
/// submodules.
bool holds_repository(const std::string& folder, const std::string& git_directory) {
  const std::string dot_git = folder + "/.git";
  if (const auto own = absolute_path(dot_git); own && *own == git_directory) return true;
  constexpr std::string_view kHead = "gitdir: ";
  const auto text = read_host_file(dot_git, kMaxDotGitBytes);
  if (!text || !text->starts_with(kHead)) return false;
  const std::string_view named = trim_end(std::string_view(*text).substr(kHead.size()), "\r\n");
  const auto place = absolute_path(named.starts_with('/') ? std::string(named)
                                                          : folder + "/" + std::string(named));
  return place && *place == git_directory;
}

/// A pipe or a device in this folder; empty if there is none.
std::string special_file_in(const std::string& folder) {
  const auto opened = open_disk_directory(folder);
  const auto entries = opened ? (*opened)->list() : fail(opened.error());
  if (!entries) return {};  // git cannot read it either
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == FileKind::kDirectory || entry.kind == FileKind::kRegular) continue;
    const std::string path = folder + "/" + entry.name;
    if (is_special_file(path)) return path;
  }
  return {};
}

constexpr std::string_view kStatuses = "ACDMRTU";

bool take_field(std::string_view& line, std::string& word) {
  const size_t end = line.find(' ');
  if (end == line.npos) return false;
  word = line.substr(0, end);
  line.remove_prefix(end + 1);
  return true;
}

bool take_mode(std::string_view& line, uint32_t& mode) {
  std::string word;
  const auto parsed = take_field(line, word) ? number_of<uint32_t>(word, 8) : std::nullopt;
  mode = parsed.value_or(0);
  return parsed.has_value();
}

/// Reads `:<mode> <mode> <id> <id> <status>[score]`.
bool parse_head(std::string_view line, GitRawChange& change) {
  if (!line.starts_with(':')) return false;
  line.remove_prefix(1);
  if (!take_mode(line, change.old_mode) || !take_mode(line, change.new_mode) ||
      !take_field(line, change.old_id) || !take_field(line, change.new_id) || line.empty()) {
    return false;
  }
  change.status = line.front();
  return kStatuses.find(change.status) != kStatuses.npos;
}

}  // namespace

struct GitProgram::Settings {
  std::mutex mutex;
  std::optional<std::vector<std::string>> environment;
  bool signs_commits = false;
  std::string key_that_redirects;
};

std::string GitLayout::empty_tree() const {
  return object_format == "sha256"
             ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
             : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}

GitProgram::GitProgram(std::string directory)
    : directory_(std::move(directory)),
      bounds_{time_for_git(), kMaxOutputBytes},
      settings_(std::make_shared<Settings>()) {}

/// Disables everything that would run programs, wait for input, fetch, or substitute objects.
PipedProcessOptions GitProgram::surroundings() const {
  PipedProcessOptions options;
  options.time = bounds_.time;
  options.data_bytes = kMaxMemoryBytes;
  options.stop = stop_;
  options.environment = {"GIT_OPTIONAL_LOCKS=0",
                         "GIT_TERMINAL_PROMPT=0",
                         "GIT_NO_LAZY_FETCH=1",
                         "GIT_ALLOW_PROTOCOL=" + protocols_,
                         "GIT_NO_REPLACE_OBJECTS=1",
                         "GIT_GRAFT_FILE=/dev/null",
                         "GIT_PAGER=cat",
                         "LC_ALL=C"};
  options.unset = {"GIT_EXTERNAL_DIFF",
                   "GIT_DIFF_OPTS",
                   "GIT_LITERAL_PATHSPECS",
                   "GIT_GLOB_PATHSPECS",
                   "GIT_NOGLOB_PATHSPECS",
                   "GIT_ICASE_PATHSPECS",
                   "GIT_FLUSH",
                   "GIT_TRACE",
                   "GIT_TRACE2",
                   "GIT_TRACE2_EVENT",
                   "GIT_TRACE_PERFORMANCE",
                   "LANGUAGE"};
  if (is_elsewhere_) {
    // As git rev-parse --local-env-vars, except for those that set a configuration.
    for (const char* name :
         {"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR",
          "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
          "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NAMESPACE"}) {
      options.unset.emplace_back(name);
    }
  }
  if (is_unconfigured_) {
    // Before 2.32, git has no variable for the person's file.
    options.environment.insert(options.environment.end(),
                               {"GIT_DIR=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/dev/null",
                                "XDG_CONFIG_HOME=/dev/null"});
    options.unset.insert(options.unset.end(),
                         {"GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL",
                          "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_SYSTEM"});
  }
  if (!index_.empty()) options.environment.push_back("GIT_INDEX_FILE=" + index_);
  if (!objects_.empty()) {
    std::string quoted;  // unquoted, a colon would end the path
    for (const char c : objects_) quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    options.environment.push_back("GIT_ALTERNATE_OBJECT_DIRECTORIES=\"" + quoted + "\"");
  }
  return options;
}

GitProgram GitProgram::in_other_repository(std::string directory) {
  GitProgram other(std::move(directory));
  other.is_elsewhere_ = true;
  return other;
}

GitProgram GitProgram::in_named_repository(std::string directory) {
  GitProgram other = in_other_repository(std::move(directory));
  // Else git would look for a repository further up.
  const auto has = [&](const char* name) {
    return ::access((other.directory_ + name).c_str(), F_OK) == 0;
  };
  other.is_named_ = has("/HEAD") && has("/objects") && has("/refs");
  return other;
}

GitProgram GitProgram::unconfigured() {
  GitProgram other;
  other.is_unconfigured_ = true;
  return other;
}

std::vector<std::string> GitProgram::words(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {"git"};
  if (!directory_.empty()) all.insert(all.end(), {"-C", directory_});
  for (const char* setting :
       {"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false",
        "diff.external=", "diff.ignoreSubmodules=none", "diff.renameLimit=1000", "gc.auto=0",
        "maintenance.auto=false"}) {
    all.insert(all.end(), {"-c", setting});
  }
  // The setting is about bare repositories that git finds by itself.
  if (is_named_) all.insert(all.end(), {"-c", "safe.bareRepository=all"});
  all.emplace_back("--no-pager");
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

/// git opens files of these folders without being asked, and would wait for ever for the writer of
/// a pipe. Folders that may have a file for each object or submodule are left out.
Result<void> GitProgram::check_own_files() const {
  GALLEY_ASSIGN(const std::string here, absolute_path(directory_.empty() ? "." : directory_));
  std::string waiting;
  const auto look_at = [&](const std::string& name) {
    if (waiting.empty() && is_special_file(name)) waiting = name;
  };
  const auto look_in = [&](const std::string& folder) {
    if (waiting.empty()) waiting = special_file_in(folder);
  };
  if (const auto places = GitFiles(here, geteuid()).find()) {
    look_at(places->work_tree + "/.gitignore");
    look_at(places->work_tree + "/.gitattributes");
    if (places->own != places->common) look_in(places->own);
    for (const char* folder : {"", "/info", "/logs", "/objects", "/objects/info", "/objects/pack",
                               "/refs", "/refs/heads"}) {
      look_in(places->common + folder);
    }
    constexpr std::string_view kBranch = "ref: ";
    const auto head = waiting.empty() ? read_host_file(places->own + "/HEAD", kMaxDotGitBytes)
                                      : Result<std::string>(std::string());
    // git takes no name with "..".
    if (head && head->starts_with(kBranch) && head->find("..") == head->npos) {
      look_at(places->common + "/" + std::string(trim_end(head->substr(kBranch.size()), "\r\n")));
    }
  } else {
    for (std::string folder = here; !folder.empty(); folder.resize(folder.rfind('/'))) {
      look_at(folder + "/.git/HEAD");
    }
  }
  if (waiting.empty()) return {};
  return fail(
      ErrorKind::kRefused, "path.special_file",
      "'" + waiting + "' is a pipe or another special file, for which git would wait; remove it",
      waiting);
}

Result<PipedProcessOptions> GitProgram::safe_surroundings() const {
  PipedProcessOptions options = surroundings();
  if (is_unconfigured_) return options;
  const std::scoped_lock lock(settings_->mutex);
  if (!settings_->environment) {
    GALLEY_TRY(check_own_files());
    PipedProcessOptions listing = options;
    listing.time = std::min(kMaxConfigTime, bounds_.time);
    const auto listed =
        run_piped(words({"config", "--list", "--show-scope", "-z"}), listing, {}, kMaxConfigBytes);
    if (!listed) {
      Error why = unreadable_output(listed.error());
      if (why.reason == "limit.git_output") {
        why.message = "git's configuration for this repository has more than " +
                      std::to_string(kMaxConfigBytes >> 20U) +
                      " MiB: look at the file config of the repository, and at those it includes";
      } else {
        why.message += " (git config --list; does the repository's config include a pipe?)";
      }
      return fail(std::move(why));
    }
    // Without the list no program can be disabled, so no command may run.
    if (listed->status != 0) return fail(error(listed->complaint));
    GALLEY_ASSIGN(const auto disarmed, program_overrides(listed->output));
    settings_->environment = environment_of_settings(disarmed);
    settings_->signs_commits = asks_for_signatures(listed->output);
    settings_->key_that_redirects = galley::key_that_redirects(listed->output);
  }
  options.environment.insert(options.environment.end(), settings_->environment->begin(),
                             settings_->environment->end());
  return options;
}

Result<bool> GitProgram::signs_commits() const {
  GALLEY_TRY(safe_surroundings());  // reads the settings
  const std::scoped_lock lock(settings_->mutex);
  return settings_->signs_commits;
}

Result<std::string> GitProgram::key_that_redirects() const {
  GALLEY_TRY(safe_surroundings());  // reads the settings
  const std::scoped_lock lock(settings_->mutex);
  return settings_->key_that_redirects;
}

Error GitProgram::remote_error(std::string_view complaint) {
  if (has(complaint, "transport '") && has(complaint, "' not allowed")) {
    return {ErrorKind::kRefused, "git.protocol",
            "Galley does not let git connect in this way: " + decisive_line(complaint) +
                "; use an address of http, https, ssh or git, or the path of a folder"};
  }
  // Of git's HTTP (http.c, credential.c of git) and of ssh.
  for (const char* words : {"Authentication failed", "could not read Username",
                            "could not read Password", "requested URL returned error: 401",
                            "requested URL returned error: 403", "Permission denied ("}) {
    if (!has(complaint, words)) continue;
    return {ErrorKind::kRefused, "git.not_allowed",
            "the repository there does not let this user in: " + decisive_line(complaint)};
  }
  return error(complaint);
}

Error GitProgram::error(std::string_view complaint) {
  const std::string words = decisive_line(complaint);
  if (has(complaint, "not a git repository")) {
    return {ErrorKind::kNotFound, "git.no_repository", "there is no git repository here: " + words};
  }
  if (has(complaint, "dubious ownership")) {
    return {ErrorKind::kRefused, "git.other_owner",
            words +
                "; git does not read what belongs to another user. If you trust it: git config "
                "--global --add safe.directory PATH"};
  }
  if (has(complaint, ".lock': File exists")) {
    return {ErrorKind::kRefused, "git.index_locked",
            words +
                " Another git command is at work there, or one was killed: wait for it, or "
                "remove that file if none runs."};
  }
  if (tells_of_full_memory(complaint)) {
    return {ErrorKind::kQuota, "limit.git_memory",
            "git needed more memory than there is, or than the " +
                std::to_string(kMaxMemoryBytes >> 30U) + " GiB that it may use: " + words};
  }
  // Checked before "missing": git may report an unreadable object as missing.
  if (tells_of_damage(complaint)) {
    return {ErrorKind::kIo, "git.object_damaged",
            "an object of this repository is damaged, so nothing can be judged: " + words +
                ". git fsck names all that are; take them from another clone"};
  }
  if (has(complaint, "missing blob") || has(complaint, "missing tree") ||
      has(complaint, "unable to read tree") || has(complaint, "bad object") ||
      has(complaint, "promisor") || has(complaint, "could not fetch") ||
      has(complaint, "transport '")) {
    return {
        ErrorKind::kRefused, "git.object_missing",
        "an object is missing in this clone, and nothing is fetched while a change is judged: " +
            words +
            ". Fetch it first: git fetch --refetch --no-filter, or git fsck to see what is "
            "missing"};
  }
  if (words.empty()) {
    return {ErrorKind::kIo, "git.failed",
            "git failed without a message: it crashed, or a signal ended it"};
  }
  // An error before the fatal line often has the cause.
  const std::string cause = line_after("error: ", complaint);
  const std::string all = cause.empty() || cause == words ? words : cause + "; " + words;
  return {ErrorKind::kIo, "git.failed", "git failed: " + all};
}

Error GitProgram::unreadable_output(const Error& why) {
  if (why.reason == "host.not_found") {
    return {ErrorKind::kNotFound, "git.program_missing",
            "judging a repository needs the program git, which is not on PATH; install it"};
  }
  if (why.reason == "host.timeout") {
    return {ErrorKind::kTimeout, "git.timeout",
            "git did not answer in its time and was ended, so nothing was done: " + why.message +
                ". Does the disk of the repository answer? " + kTimeVariable +
                "=SECONDS gives it more time"};
  }
  if (why.reason == "limit.host_output") {
    return {ErrorKind::kQuota, "limit.git_output",
            "git printed more than Galley reads from one command: " + why.message +
                "; judge a smaller part of the repository"};
  }
  return why;
}

Result<PipedOutput> GitProgram::try_run(const std::vector<std::string>& arguments,
                                        std::string_view input) const {
  GALLEY_ASSIGN(const PipedProcessOptions options, safe_surroundings());
  auto output = run_piped(words(arguments), options, input, bounds_.output_bytes);
  if (output) return output;
  Error error = unreadable_output(output.error());
  if (!arguments.empty()) error.message += " (git " + arguments.front() + ")";
  return fail(std::move(error));
}

Result<std::string> GitProgram::run(const std::vector<std::string>& arguments,
                                    std::string_view input) const {
  GALLEY_ASSIGN(PipedOutput output, try_run(arguments, input));
  if (output.status != 0) return fail(error(output.complaint));
  return std::move(output.output);
}

Result<std::unique_ptr<PipedProcess>> GitProgram::start(
    const std::vector<std::string>& arguments) const {
  GALLEY_ASSIGN(const PipedProcessOptions options, safe_surroundings());
  auto process = PipedProcess::start(words(arguments), options);
  if (!process) return fail(unreadable_output(process.error()));
  return process;
}

bool is_ref_name(std::string_view name) {
  if (name.find('/') == name.npos || name.ends_with('.') || has(name, "..") || has(name, "@{")) {
    return false;
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7F || has(" ~^:?*[\\", std::string_view(&c, 1))) return false;
  }
  while (true) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part.starts_with('.') || part.ends_with(".lock")) return false;
    if (part.size() == name.size()) return true;
    name.remove_prefix(part.size() + 1);
  }
}

Result<GitLayout> GitProgram::layout() const {
  const std::string here = directory_.empty() ? "." : directory_;
  GALLEY_ASSIGN(const std::string start, absolute_path(here));
  // A `git` program inside the judged folder could come from the author of the proposed change.
  GALLEY_TRY(check_outside({"git"}, start));
  // In a bare repository the last question fails, which is also an answer.
  GALLEY_ASSIGN(const PipedOutput said,
                try_run({"rev-parse", "--is-shallow-repository", "--is-bare-repository",
                         "--show-object-format", "--path-format=absolute", "--absolute-git-dir",
                         "--git-common-dir", "--show-toplevel"}));
  const auto lines = lines_of(said.output);
  constexpr size_t kLinesOfBare = 5;
  if (lines.size() < kLinesOfBare) return fail(error(said.complaint));
  if (lines.size() != kLinesOfBare + (said.status == 0 ? 1 : 0)) {
    return fail(ErrorKind::kInvalid, "git.odd_path",
                "the path of this repository has a line break in it; move it elsewhere");
  }
  GitLayout layout;
  layout.is_shallow = lines[0] == "true";
  layout.is_bare = lines[1] == "true";
  layout.object_format = lines[2];
  GALLEY_ASSIGN(layout.git_directory, absolute_path(std::string(lines[3])));
  GALLEY_ASSIGN(layout.common_directory, absolute_path(std::string(lines[4])));
  if (said.status != 0) return layout;
  GALLEY_ASSIGN(layout.work_tree, absolute_path(std::string(lines.back())));
  GALLEY_TRY(check_outside({"git"}, layout.work_tree));
  // By `core.worktree` a repository can name any folder, and would get the trust that a person gave
  // that folder. Only the person's own environment may choose another work tree.
  const bool is_chosen = !is_elsewhere_ && (std::getenv("GIT_DIR") != nullptr ||
                                            std::getenv("GIT_WORK_TREE") != nullptr);
  if (!is_chosen && !holds_repository(layout.work_tree, layout.git_directory)) {
    return fail(ErrorKind::kRefused, "git.foreign_work_tree",
                "the repository '" + layout.git_directory +
                    "' names another folder as its work "
                    "tree, '" +
                    layout.work_tree +
                    "', and Galley does not follow that: work in the "
                    "folder that holds the repository, or set GIT_DIR and GIT_WORK_TREE yourself");
  }
  return layout;
}

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return pieces;
}

Result<std::vector<GitRawChange>> parse_raw_diff(std::string_view text) {
  const std::vector<std::string> pieces = split_at_nul(text);
  std::vector<GitRawChange> changes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    GitRawChange change;
    bool is_sound = parse_head(pieces[i], change) && i + 1 < pieces.size();
    if (is_sound && (change.status == 'R' || change.status == 'C')) change.from = pieces[++i];
    is_sound = is_sound && i + 1 < pieces.size();
    if (!is_sound) {
      return fail(ErrorKind::kInternal, "git.bad_diff",
                  "git printed a diff that is not to be read");
    }
    change.path = pieces[++i];
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace galley
