#include "server/nats/job_worker.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/audit/audit_chain.h"
#include "engine/calls/executor.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/persistent_state.h"
#include "engine/pipeline/rules.h"
#include "engine/pipeline/tree_workspace.h"
#include "server/nats/job_book.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_objects.h"
#include "staging/git/git_program.h"
#include "tools/profiles.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateDirectory = 0700;
/// Commits that are older than this before a job was sent are old. Receipts tell of older jobs with
/// its id for almost as long.
constexpr std::chrono::seconds kSearched = JobReceipt::kKept + std::chrono::days(1);
constexpr uint32_t kMostOldInARow = 100;     ///< then a search follows this line no further
constexpr uint32_t kMostSearched = 500'000;  ///< commits of one search
constexpr uint64_t kMostCommitBytes = uint64_t{16} << 20U;
constexpr size_t kMostOpen = 8;  ///< clones whose git processes wait for the next job
/// Then a clone is opened again, so that a changed configuration of git is seen.
constexpr std::chrono::minutes kMostOpenTime{1};
constexpr const char* kMark = ".published";  ///< no branch has such a name
constexpr size_t kMostMarkBytes = 100;
constexpr const char* kLastJob = "last-job";       ///< id, branch and repository, each on a line
constexpr const char* kUsedFile = "/galley-used";  ///< its time is that of the last job
constexpr const char* kBootFile = "boot";  ///< of the kernel, until an orderly end of the worker
constexpr size_t kMostFoundBytes = 1'000;  ///< of a finding's message in a line about the progress
constexpr ptrdiff_t kMostPrintedLines = 20;  ///< of a finding, in lines about the progress
constexpr const char* kDoubtFile = "/galley-doubtful";  ///< in a repository: it may be damaged
/// The kernel writes everything to the disk much earlier.
constexpr int64_t kUnwrittenNs = 3'600 * kNsOfSecond;
constexpr std::string_view kDropped = "dropped-";  ///< before the name of a repository
constexpr const char* kUsualAgent = "worker";
constexpr const char* kProtocols = "file:git:http:https:ssh";

/// The message of a refusal. It tells how to approve a change or a call in its workspace, but that
/// of a job is in the cache of one worker.
std::string message_for_job(std::string_view reason, std::string message) {
  const size_t end = reason == "gate.approval_missing" ? message.find("; no person could be asked")
                     : reason == "call.needs_confirmation" ? message.find(". To go on: ")
                                                           : message.npos;
  if (end == message.npos) return message;
  return message.substr(0, end) +
         "; a job asks nobody, so it is refused. To go on, make the change in a clone, where a "
         "person can approve it, or let the rules allow it";
}

JobReceipt receipt(const Job& job, JobReceipt::Outcome outcome, std::string reason,
                   std::string message) {
  JobReceipt made;
  made.id = job.id;
  made.job = job.digest;
  made.outcome = outcome;
  made.message = message_for_job(reason, std::move(message));
  made.reason = std::move(reason);
  return made;
}

JobReceipt refused(const Job& job, const Error& why) {
  return receipt(job, JobReceipt::Outcome::kRefused, why.reason, why.message);
}

/// Whether the same job may succeed later or with another worker, without a change of the job.
bool is_transient(const Error& error) {
  for (const char* passing :
       {"git.no_identity", "git.no_signature", "git.other_owner", kNoRepository}) {
    if (error.reason == passing) return true;
  }
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kTimeout ||
         error.kind == ErrorKind::kUndecided || error.kind == ErrorKind::kInternal ||
         // A git process of a killed worker may hold a lock in the cache, or have left it.
         error.reason == "git.index_locked" || error.reason == "git.ref_locked";
}

bool is_of_rules(const Error& error) {
  return error.reason.starts_with("config.") || error.reason.starts_with("input.");
}

/// Whether a damaged clone may be the cause. For the other reasons, which come from the job or the
/// repository, the clone is not fetched again.
bool may_be_damage(const Error& error) {
  constexpr std::array<std::string_view, 9> kReasons = {"state.",
                                                        "audit.",
                                                        "journal.",
                                                        "git.object_",
                                                        "git.no_such_object",
                                                        "git.no_repository",
                                                        "git.odd_config",
                                                        "git.bad_answer",
                                                        "git.failed"};
  return std::ranges::any_of(
      kReasons, [&](std::string_view reason) { return error.reason.starts_with(reason); });
}

constexpr std::string_view kGitEnding = ".git";

std::string repository_name(const Job& job) {
  return ContentId::of(job.repository).hex() + std::string(kGitEnding);
}

/// Decodes `%2e` and its kin once. Other text is kept.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    constexpr size_t kDigits = 2;
    const char* digits = text.data() + i + 1;
    uint8_t byte = 0;
    const bool is_one = text[i] == '%' && i + kDigits < text.size() &&
                        std::from_chars(digits, digits + kDigits, byte, 16).ptr == digits + kDigits;
    decoded += is_one ? static_cast<char>(byte) : text[i];
    if (is_one) i += kDigits;
  }
  return decoded;
}

std::string branch_of(const Job& job) {
  return job.ref.starts_with("refs/") ? job.ref : "refs/heads/" + job.ref;
}

/// What the search for an earlier delivery needs of a commit.
struct CommitFacts {
  std::vector<std::string> parents;
  int64_t committed_s = 0;
  bool has_line = false;  ///< its message has the line that is searched
  std::string tree;
  std::string verdict;  ///< of its trailer
};

/// Reads an object of git-commit-tree(1). A date that is not a number is old. As for
/// git-interpret-trailers(1), only lines of the last paragraph count, and never the subject.
CommitFacts facts_of(std::string_view commit, std::string_view line_searched) {
  constexpr std::string_view kTree = "tree ";
  constexpr std::string_view kVerdict = "Galley-Verdict: ";
  constexpr std::string_view kParent = "parent ";
  constexpr std::string_view kCommitter = "committer ";
  CommitFacts facts;
  bool is_message = false;
  bool is_after_blank = false;
  bool is_below_subject = false;
  for (const std::string_view line : lines_of(commit)) {
    if (is_message && !line.empty()) {
      if (is_after_blank) facts.has_line = false;
      facts.has_line |= is_below_subject && line == line_searched;
      if (line.starts_with(kVerdict)) facts.verdict = line.substr(kVerdict.size());
    } else if (line.starts_with(kParent)) {
      facts.parents.emplace_back(line.substr(kParent.size()));
    } else if (line.starts_with(kTree)) {
      facts.tree = line.substr(kTree.size());
    } else if (line.starts_with(kCommitter)) {
      const std::string_view date = line.substr(line.rfind('>') + 1);  // " SECONDS ZONE"
      const std::string_view seconds = trim(date).substr(0, trim(date).find(' '));
      facts.committed_s = number_of<int64_t>(seconds).value_or(0);
    }
    is_below_subject |= is_message;
    is_message |= line.empty();
    is_after_blank = line.empty();
  }
  return facts;
}

/// The error of a fetch that failed. Servers without the repository say so in several ways.
Error fetch_error(std::string_view complaint) {
  Error why = GitProgram::remote_error(complaint);
  if (why.reason == "git.not_allowed" || why.reason == "git.protocol") return why;
  why.kind = ErrorKind::kIo;
  why.reason = "job.fetch";
  why.message = "the branch cannot be fetched: " + why.message;
  for (const std::string_view words :
       {"' not found", "Repository not found", "does not appear to be a git repository",
        "is this a git repository?", "repository not exported", "invalid gitfile format"}) {
    if (complaint.find(words) == complaint.npos) continue;
    why.kind = ErrorKind::kNotFound;
    why.reason = kNoRepository;
  }
  return why;
}

/// The commit of a branch. It is read, because GitObjects::look() would start another process.
Result<std::string> tip_of(const GitObjects& objects, const std::string& branch) {
  GALLEY_ASSIGN(const GitObjectHead head, objects.read(
                                              branch, [](std::string_view) {}, kMostCommitBytes));
  return head.id;
}

/// The receipt of a commit that the repository of `git` has.
Result<JobReceipt> committed(const Job& job, const GitObjects& objects, const std::string& commit) {
  GALLEY_ASSIGN(const std::string text, objects.content(commit, "commit", kMostCommitBytes));
  CommitFacts facts = facts_of(text, {});
  JobReceipt made;
  made.id = job.id;
  made.job = job.digest;
  made.commit = commit;
  made.tree = std::move(facts.tree);
  made.verdict = std::move(facts.verdict);
  return made;
}

/// The receipt of a refusal. A line about each finding goes to `on_progress`, and the last lines
/// that its command printed.
JobReceipt refused(const Job& job, const Refused& no,
                   const std::function<void(const std::string&)>& on_progress) {
  JobReceipt made =
      receipt(job, JobReceipt::Outcome::kRefused, no.refusal().reason, no.refusal().message);
  made.findings = no.preview.verdict.findings;
  const size_t shown = std::min(made.findings.size(), JobReceipt::kMostFindings);
  for (size_t i = 0; i < shown; ++i) {
    const Finding& finding = made.findings[i];
    std::string place = finding.path;
    if (finding.line != 0) place += ":" + std::to_string(finding.line);
    if (!place.empty()) place += ": ";
    const std::string message = public_text(finding.message, kMostFoundBytes);
    on_progress("found " + printable_line(place + message));
    std::string_view output = finding.output;
    while (std::ranges::count(output, '\n') >= kMostPrintedLines) {
      output.remove_prefix(output.find('\n') + 1);
    }
    for (const std::string_view line : lines_of(output)) {
      on_progress("printed " + printable_line(public_text(std::string(line), kMostFoundBytes)));
    }
  }
  return made;
}

/// Whether the workspace has every edit of a document already.
bool is_made_already(const EditResult& edited) {
  constexpr std::string_view kMade = "patch.already_applied";
  const auto outcome = edited.outcome();
  return outcome && !outcome->files.empty() &&
         std::ranges::all_of(outcome->files, [&](const FileOutcome& file) {
           // Of a rename, only the names are known to be as wanted.
           const bool is_move = file.op == FileOp::kRename || file.op == FileOp::kCopy;
           if (file.refusal) return !is_move && file.refusal->reason == kMade;
           return !file.failures.empty() && file.placements.empty() &&
                  std::ranges::all_of(file.failures, [&](const EditFailure& failure) {
                    return failure.reason == kMade;
                  });
         });
}

/// Stages the job's edits or calls, all or none.
Result<void> stage(Transaction& transaction, const Job& job, const CallOptions& options) {
  const ToolProfile* profile = nullptr;
  if (!job.profile.empty()) {
    GALLEY_ASSIGN(profile, profile_named(job.profile));
  }
  if (!job.edits.empty()) {
    const EditResult edited = transaction.apply(job.edits);
    if (edited || is_made_already(edited)) return {};
    Error why = edited.error();
    why.message = edited.report();
    return fail(std::move(why));
  }
  std::vector<ToolCall> calls;
  for (const Job::Call& call : job.calls) {
    calls.push_back(ToolCall::parse(call.tool, call.arguments));
    if (profile != nullptr) calls.back().refuse_unless(profile->check_shows(call.tool));
  }
  std::vector<ToolResult> results = inner(transaction).call_all(calls, options);
  if (results.empty()) return {};
  const CallResult last = std::move(results.back());
  return last ? Result<void>() : fail(last.error());
}

/// The repositories of a cache, each with the time of its last use; the oldest first.
Result<std::vector<std::pair<int64_t, std::string>>> repositories_by_use(
    const WritableDirectory& cache) {
  std::vector<std::pair<int64_t, std::string>> found;
  GALLEY_ASSIGN(const auto entries, cache.list());
  for (const auto& [name, kind] : entries) {
    if (!name.ends_with(kGitEnding) || name.starts_with(kDropped)) continue;
    const auto used = cache.stat(chosen_path(name + kUsedFile));
    found.emplace_back(used ? used->mtime_ns : 0, name);
  }
  std::ranges::sort(found);
  return found;
}

/// Checks that only this user can change the cache.
Result<void> check_own(const WritableDirectory& cache, const std::string& name) {
  GALLEY_ASSIGN(const FileStat stat, cache.stat(RelPath::root()));
  constexpr uint32_t kWritableByOthers = 0022;
  const std::string shown = printable_line(name);
  if (stat.uid != effective_user()) {
    return fail(ErrorKind::kRefused, "worker.cache_of_others",
                "the cache '" + shown + "' belongs to another user: name another folder, or run: " +
                    "chown " + std::to_string(effective_user()) + " " + shown);
  }
  if ((stat.mode & kWritableByOthers) == 0) return {};
  return fail(ErrorKind::kRefused, "worker.cache_of_others",
              "other users can change the cache '" + shown + "'; run: chmod go-w " + shown);
}

/// Removes a repository of a cache. A part of it must never be found under its name.
Result<void> drop(const WritableDirectory& cache, const std::string& name) {
  const RelPath dropped = chosen_path(std::string(kDropped) + name);
  GALLEY_TRY(cache.rename(chosen_path(name), cache, dropped, RenameMode::kReplace));
  return remove_tree(cache, dropped);
}

/// After the end of a kernel that no worker's orderly end preceded, marks the repositories that may
/// be damaged. Their audit records are published before they are dropped.
Result<void> note_boot(const WritableDirectory& cache) {
  const std::string boot = current_boot_id();
  const auto last = read_file(cache, chosen_path(kBootFile), kMostMarkBytes);
  if (last && *last == boot) return {};
  GALLEY_ASSIGN(auto repositories, repositories_by_use(cache));
  if (!last) repositories.clear();
  for (const auto& [used, name] : repositories) {
    if (used + kUnwrittenNs < repositories.back().first) continue;
    GALLEY_TRY(cache.open_writable_file(chosen_path(name + kDoubtFile), OpenMode::kOpenOrCreate));
  }
  GALLEY_TRY(replace_file(cache, kBootFile, boot));
  return cache.sync_file_system();
}

/// Git cannot have the branches `a` and `a/b` together. Removes all branches of the cache that have
/// the same first part in their names: the next job of each fetches it again.
Result<void> make_room(const GitProgram& git, const std::string& branch) {
  const size_t end = branch.find('/', std::string_view("refs/heads/").size());
  GALLEY_ASSIGN(const std::string listed,
                git.run({"for-each-ref", "--format=%(refname)", branch.substr(0, end)}));
  for (const std::string_view name : lines_of(listed)) {
    GALLEY_TRY(git.run({"update-ref", "-d", std::string(name)}));
  }
  return {};
}

}  // namespace

/// A fetched branch.
struct JobWorker::Place {
  GitAccess repository;  ///< in the cache
  std::string branch;    ///< `refs/heads/…`
};

/// A repository of the cache that is open.
struct JobWorker::Clone {
  std::string directory;
  std::chrono::steady_clock::time_point since;
  GitAccess access;
};

JobWorker::JobWorker(NatsConfig config, Config own, std::unique_ptr<WritableFile> lock,
                     std::unique_ptr<WritableDirectory> cache)
    : config_(std::move(config)),
      own_(std::move(own)),
      lock_(std::move(lock)),
      cache_(std::move(cache)) {}

JobWorker::~JobWorker() {
  clones_.clear();
  if (cache_->sync_file_system()) (void)cache_->remove_file(chosen_path(kBootFile));
}

Result<std::unique_ptr<JobWorker>> JobWorker::open(NatsConfig config) {
  if (config.cache.empty()) {
    return fail(ErrorKind::kUsage, "worker.no_cache",
                "the configuration of a worker needs `cache`, a folder of its own");
  }
  if (config.repositories.empty()) {
    return fail(ErrorKind::kUsage, "worker.no_repositories",
                "the configuration of a worker needs `repositories`, the addresses that jobs may "
                "name; one that ends in '/' allows all below it");
  }
  GALLEY_ASSIGN(auto folder, make_disk_directory(config.cache, kPrivateDirectory));
  GALLEY_TRY(check_own(*folder, config.cache));
  GALLEY_ASSIGN(auto lock,
                folder->open_writable_file(chosen_path("worker.lock"), OpenMode::kOpenOrCreate));
  GALLEY_ASSIGN(const bool is_taken, lock->try_lock(LockMode::kExclusive));
  if (!is_taken) {
    return fail(ErrorKind::kRefused, "worker.cache_in_use",
                "another worker uses the cache '" + printable_line(config.cache) +
                    "': give each worker its own");
  }
  Config own;
  if (!config.validators.empty()) {
    GALLEY_ASSIGN(const std::string text,
                  read_unshared_file(config.validators, limits::kMaxConfigBytes));
    GALLEY_ASSIGN(own, parse_config(text, config.validators));
    GALLEY_TRY(check_validators(own, *folder));
  }
  if (!config.galley_toml.empty()) GALLEY_TRY(load_other_config(config.galley_toml));
  GALLEY_TRY(note_boot(*folder));
  return std::unique_ptr<JobWorker>(
      new JobWorker(std::move(config), std::move(own), std::move(lock), std::move(folder)));
}

bool JobWorker::may_use(const std::string& repository) const {
  // git decodes the path of an address with a scheme, and a web server those of others.
  const bool leads_up = repository.find("..") != repository.npos ||
                        percent_decoded(repository).find("..") != repository.npos;
  for (const std::string& allowed : config_.repositories) {
    if (repository == allowed) return true;
    const bool is_below = allowed.ends_with('/') && repository.starts_with(allowed);
    if (is_below && !leads_up) return true;
  }
  return false;
}

/// The repository of a job in the cache.
std::string JobWorker::directory_of(const Job& job) const {
  return config_.cache + "/" + repository_name(job);
}

Result<void> JobWorker::make_clone(const std::string& repository, const std::string& hash) {
  clones_.clear();
  is_new_ = true;
  GALLEY_TRY(GitProgram::in_named_repository(config_.cache)
                 .run({"init", "--quiet", "--bare", "--object-format=" + hash,
                       config_.cache + "/" + repository}));
  return {};
}

/// Whether git cannot work with a clone. A killed git process leaves a lock, and git says in many
/// ways that it cannot read a clone.
bool JobWorker::is_sick(const Job& job, const Error& why) const {
  return why.message.find(".lock': File exists") != std::string::npos ||
         !GitProgram::in_named_repository(directory_of(job)).run({"for-each-ref", "--count=1"});
}

/// The refusal of a job. A clone that may be damaged is made again first, once for each job: then
/// there is no receipt.
Result<std::optional<JobReceipt>> JobWorker::refused_here(const Job& job, const Error& why) {
  const bool is_damage = may_be_damage(why);
  const bool may_pass = is_transient(why);
  if (!is_new_ && (is_damage || (may_pass && is_sick(job, why)))) {
    GALLEY_TRY(distrust(job));
    return std::optional<JobReceipt>();
  }
  if (may_pass) return fail(why);
  return refused(job, why);
}

/// The next use of the job's clone makes it again. What the job did there stays on record.
Result<void> JobWorker::distrust(const Job& job) {
  clones_.clear();
  GALLEY_TRY(publish_new(job));
  const RelPath mark = chosen_path(repository_name(job) + kDoubtFile);
  GALLEY_TRY(cache_->open_writable_file(mark, OpenMode::kOpenOrCreate));
  return {};
}

/// Notes that a repository of the cache is used now. Before a new one, it removes those that were
/// not used for the longest time; publish_records() has published their records.
Result<void> JobWorker::note_use(const std::string& repository) {
  const auto doubt = cache_->stat(chosen_path(repository + kDoubtFile));
  if (doubt && doubt->kind != FileKind::kAbsent) GALLEY_TRY(drop(*cache_, repository));
  GALLEY_ASSIGN(const FileStat there, cache_->stat(chosen_path(repository)));
  if (there.kind == FileKind::kAbsent) {
    clones_.clear();
    GALLEY_ASSIGN(const auto entries, cache_->list());
    for (const auto& [name, kind] : entries) {
      if (name.starts_with(kDropped)) GALLEY_TRY(remove_tree(*cache_, chosen_path(name)));
    }
    GALLEY_ASSIGN(auto others, repositories_by_use(*cache_));
    const size_t left = config_.most_repositories - 1;
    others.resize(others.size() > left ? others.size() - left : 0);
    for (const auto& [used, name] : others) GALLEY_TRY(drop(*cache_, name));
    GALLEY_TRY(make_clone(repository, "sha1"));
  }
  GALLEY_ASSIGN(const auto used, cache_->open_writable_file(chosen_path(repository + kUsedFile),
                                                            OpenMode::kOpenOrCreate));
  return used->set_modified(SystemClock().wall_ns());
}

/// Packs a clone again that many fetches have left in pieces, at most once a day. Such a clone is
/// slow but not wrong, so the job goes on with it if git fails or has no time.
void JobWorker::pack(const std::string& repository, const std::stop_token& stop) {
  constexpr ptrdiff_t kMostPacks = 50;  // as git itself
  constexpr GitProgram::Bounds kBounds = {std::chrono::minutes(1), 64U << 10U};
  const auto folder = cache_->open_directory(chosen_path(repository + "/objects/pack"));
  const auto entries = folder ? (*folder)->list() : fail(folder.error());
  const auto is_pack = [](const DirectoryEntry& entry) { return entry.name.ends_with(".pack"); };
  if (!entries || std::ranges::count_if(*entries, is_pack) <= kMostPacks) return;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(packed_, [&](const auto& one) { return now - one.second >= std::chrono::days(1); });
  if (!packed_.emplace(repository, now).second) return;
  clones_.clear();  // their processes of git hold the old packs
  const auto git = GitProgram::in_named_repository(config_.cache + "/" + repository);
  (void)git.with_bounds(kBounds).with_stop(stop).run({"gc", "--quiet"});
}

/// A repository of the cache. The processes of git that read it are those of the last job there.
Result<GitAccess> JobWorker::opened(const std::string& directory) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(clones_, [&](const Clone& one) { return now - one.since >= kMostOpenTime; });
  const auto known = std::ranges::find(clones_, directory, &Clone::directory);
  if (known != clones_.end()) {
    std::rotate(clones_.begin(), known, known + 1);
  } else {
    GALLEY_ASSIGN(GitAccess access, GitAccess::open(directory));
    access.is_cache = true;
    if (clones_.size() == kMostOpen) clones_.pop_back();
    clones_.insert(clones_.begin(), {directory, now, std::move(access)});
  }
  return clones_.front().access;
}

/// The branch as it is now, in the cache. A commit that could not be pushed is forgotten.
Result<JobWorker::Place> JobWorker::fetched(const Job& job, const std::stop_token& stop) {
  GALLEY_TRY(note_use(repository_name(job)));
  pack(repository_name(job), stop);
  GALLEY_ASSIGN(GitAccess repository, opened(directory_of(job)));
  repository.git = repository.git.with_stop(stop);
  Place place{std::move(repository), branch_of(job)};
  const GitProgram git = place.repository.git.with_protocols(kProtocols);
  if (!is_ref_name(place.branch) || !place.branch.starts_with("refs/heads/")) {
    return fail(ErrorKind::kUsage, "git.not_a_branch",
                "'" + printable_line(job.ref) + "' cannot be the name of a branch");
  }
  const std::vector<std::string> fetch = {"fetch",
                                          "--quiet",
                                          "--no-tags",
                                          "--no-write-fetch-head",
                                          "--recurse-submodules=no",
                                          "--",
                                          job.repository,
                                          "+" + place.branch + ":" + place.branch};
  GALLEY_ASSIGN(PipedOutput said, git.try_run(fetch));
  if (said.complaint.find("exists; cannot create '") != std::string::npos) {
    // If it fails, the fetch says why.
    if (make_room(git, place.branch)) {
      GALLEY_ASSIGN(said, git.try_run(fetch));
    }
  }
  if (said.complaint.find("mismatched algorithms") != std::string::npos && !has_other_hash_) {
    has_other_hash_ = true;
    const bool was_sha1 = place.repository.layout.object_format == "sha1";
    GALLEY_TRY(drop(*cache_, repository_name(job)));
    GALLEY_TRY(make_clone(repository_name(job), was_sha1 ? "sha256" : "sha1"));
    return fetched(job, stop);
  }
  if (said.complaint.find("because shallow roots are not allowed") != std::string::npos) {
    return fail(ErrorKind::kRefused, "job.shallow",
                "the repository is a shallow clone without its older commits; run there: git fetch "
                "--unshallow");
  }
  if (said.status == 0) return place;
  if (said.complaint.find("couldn't find remote ref") == std::string::npos) {
    return fail(fetch_error(said.complaint));
  }
  // Of a web page without a line break, git finds as much as of an empty repository.
  GALLEY_ASSIGN(const std::string heads, git.run({"ls-remote", "--heads", "--", job.repository}));
  if (heads.empty()) {
    return fail(ErrorKind::kNotFound, kNoRepository,
                "git finds no branch at this address: it has an empty repository, or none");
  }
  return fail(ErrorKind::kNotFound, "git.no_such_branch",
              "the repository has no branch '" + printable_line(job.ref) + "'");
}

/// The commit of an earlier delivery of the job; empty if there is none.
///
/// It does not use `git log --since`, which ends at the first old date: here a line of ancestors
/// ends after kMostOldInARow of them. Lines with the fewest old commits are followed first, so few
/// commits are read twice.
Result<std::string> JobWorker::earlier_commit(const Place& place, const Job& job,
                                              const std::stop_token& stop) const {
  const int64_t oldest_s = job.sent_s - kSearched.count();
  const std::string line = "Galley-Session: " + job.session();
  std::unordered_map<std::string, uint32_t> left;  // the old commits that may follow each commit
  std::priority_queue<std::pair<uint32_t, std::string>> waiting;
  waiting.emplace(kMostOldInARow, place.branch);
  for (uint32_t searched = 0; !waiting.empty(); ++searched) {
    if (stop.stop_requested()) return fail(ErrorKind::kTimeout, "job.stopped", "the worker ends");
    if (searched == kMostSearched) {
      return fail(ErrorKind::kQuota, "limit.job_search",
                  "the branch has more than " + std::to_string(kMostSearched) +
                      " commits that could have this job; send it with a `base`");
    }
    const auto [allowed, name] = waiting.top();
    waiting.pop();
    std::string text;
    GALLEY_ASSIGN(const GitObjectHead head,
                  place.repository.objects->read(
                      name, [&](std::string_view some) { text += some; }, kMostCommitBytes));
    if (head.id == job.base) continue;
    const CommitFacts facts = facts_of(text, line);
    if (facts.has_line) return head.id;
    const uint32_t rest = facts.committed_s < oldest_s ? allowed - 1 : kMostOldInARow;
    for (const std::string& parent : facts.parents) {
      if (left[parent] >= rest) continue;
      left[parent] = rest;
      waiting.emplace(rest, parent);
    }
  }
  return std::string();
}

/// Returns no receipt if the branch moved meanwhile.
Result<std::optional<JobReceipt>> JobWorker::try_once(
    const Job& job, const std::stop_token& stop,
    const std::function<void(const std::string&)>& on_progress) {
  auto place = fetched(job, stop);
  if (!place) return refused_here(job, place.error());
  if (!job.base.empty()) {
    GALLEY_ASSIGN(
        const PipedOutput said,
        place->repository.git.try_run({"merge-base", "--is-ancestor", job.base, place->branch}));
    if (said.status != 0) {
      return receipt(job, JobReceipt::Outcome::kConflict, "job.base_is_missing",
                     "the branch does not contain the commit " + job.base);
    }
  }
  auto earlier = earlier_commit(*place, job, stop);
  if (!earlier) return refused_here(job, earlier.error());
  if (!earlier->empty()) return committed(job, *place->repository.objects, *earlier);
  return stage_and_push(*place, job, stop, on_progress);
}

/// Errors: kUsage `job.validator`, which names it.
Result<WorkspaceOptions> JobWorker::options_of(const Job& job) const {
  WorkspaceOptions options;
  options.session = job.session();
  options.config_file = config_.galley_toml;
  options.trusts_configuration = !config_.galley_toml.empty();
  options.uses_personal_settings = true;
  for (const std::string& name : job.validators) {
    const auto found = std::ranges::find(own_.validators, name, &ValidatorConfig::name);
    if (found == own_.validators.end()) {
      return fail(
          ErrorKind::kUsage, "job.validator",
          "the configuration of the workers has no validator '" + printable_line(name) + "'");
    }
    options.validators.push_back(std::make_shared<const ValidatorConfig>(*found));
  }
  return options;
}

/// Returns no receipt if the branch moved meanwhile.
Result<std::optional<JobReceipt>> JobWorker::stage_and_push(
    const Place& place, const Job& job, const std::stop_token& stop,
    const std::function<void(const std::string&)>& on_progress) {
  GALLEY_ASSIGN(const std::string fetched_tip, tip_of(*place.repository.objects, place.branch));
  auto options = options_of(job);
  if (!options) return refused(job, options.error());
  const auto workspace = open_branch_workspace(place.repository, place.branch, *std::move(options));
  // Rules that cannot be read are a fault of this worker. Another one may do the job.
  const bool has_own_rules = !config_.galley_toml.empty();
  if (!workspace && has_own_rules && is_of_rules(workspace.error())) {
    return fail(ErrorKind::kIo, workspace.error().reason, workspace.error().message);
  }
  if (!workspace) return refused_here(job, workspace.error());
  // Opening completed the commit of a worker that was killed. The repository does not have it.
  GALLEY_ASSIGN(const std::string opened_tip, tip_of(*place.repository.objects, place.branch));
  if (opened_tip != fetched_tip) return std::optional<JobReceipt>();
  TransactionOptions who;
  who.agent = job.agent.empty() ? config_.agent : job.agent;
  if (who.agent.empty()) who.agent = kUsualAgent;  // a job is never a person's own change
  who.message = job.reason;
  who.stop = stop;
  auto begun = (*workspace)->begin(who);
  if (!begun) return refused_here(job, begun.error());
  Transaction transaction = *std::move(begun);
  CallOptions call_options;
  call_options.stop = stop;
  on_progress("staging");
  // A job whose call fails is on record, too.
  if (const auto kept = persistent_of(**workspace).ensure(); !kept) {
    return refused_here(job, kept.error());
  }
  const auto staged = stage(transaction, job, call_options);
  if (stop.stop_requested()) return fail(ErrorKind::kTimeout, "job.stopped", "the worker ends");
  if (!staged) return refused_here(job, staged.error());
  CommitRequest request;
  request.tool = "worker";
  request.on_progress = [&](const Verdict::Progress& progress) {
    on_progress((progress.is_done ? "judged by " : "judging by ") + progress.validator);
  };
  const auto outcome = transaction.commit(request);
  if (!outcome) return refused_here(job, outcome.error());
  if (std::holds_alternative<NothingToCommit>(*outcome)) {
    return receipt(job, JobReceipt::Outcome::kUnchanged, "job.unchanged",
                   "the branch has this change already");
  }
  if (const auto* no = std::get_if<Refused>(&*outcome)) {
    return refused(job, *no, on_progress);
  }
  if (const auto* moved = std::get_if<Conflict>(&*outcome)) {
    return receipt(job, JobReceipt::Outcome::kConflict, moved->reason,
                   moved->paths.empty() ? std::string() : moved->paths.front().message);
  }
  on_progress("pushing");
  const auto pushed = (*workspace)->push(job.repository, {}, fetched_tip);
  const std::string& commit = std::get<Receipt>(*outcome).git_commit;
  if (pushed && pushed->to == commit) return committed(job, *place.repository.objects, commit);
  if (!pushed && pushed.error().kind == ErrorKind::kRefused) return refused(job, pushed.error());
  // Whether it moved the branch there, the next look at the branch tells.
  if (pushed || pushed.error().kind == ErrorKind::kConflict ||
      pushed.error().kind == ErrorKind::kUndecided) {
    return std::optional<JobReceipt>();
  }
  return fail(pushed.error());
}

Result<std::optional<JobReceipt>> JobWorker::landed(const Job& job, const std::stop_token& stop) {
  if (!may_use(job.repository)) return std::optional<JobReceipt>();
  GALLEY_ASSIGN(const Place place, fetched(job, stop));
  GALLEY_ASSIGN(const std::string commit, earlier_commit(place, job, stop));
  if (commit.empty()) return std::optional<JobReceipt>();
  return committed(job, *place.repository.objects, commit);
}

Result<void> JobWorker::publish_new(const Job& last) const {
  const auto name = RelPath::parse("galley/" + branch_of(last));
  const auto repository = open_writable_disk_directory(directory_of(last));
  if (!name || !repository) return {};  // nothing was staged
  const auto home = (*repository)->open_writable_directory(*name);
  if (!home) return {};
  const RelPath log = chosen_path(".galley/audit.jsonl");
  uint64_t end = 0;  // of the last record that was published
  if (const auto text = read_file(**home, chosen_path(kMark), kMostMarkBytes)) {
    end = number_of<uint64_t>(*text).value_or(0);
  }
  GALLEY_ASSIGN(const FileStat stat, (*home)->stat(log));
  if (stat.size == end) return {};
  if (stat.size < end) end = 0;  // a new log
  Result<void> published;
  const auto take = [&](std::string_view record, bool is_whole) {
    if (!is_whole || !published) return;
    published = publish_(record, last.id);
    if (published) end += record.size() + 1;
  };
  GALLEY_TRY(for_each_audit_line(**home, log, take, end == 0 ? 0 : end - 1));
  GALLEY_TRY(published);
  return replace_file(**home, kMark, std::to_string(end));
}

Result<void> JobWorker::publish_records(const Job& job) const {
  std::string last_text;
  if (auto text = read_file(*cache_, chosen_path(kLastJob), Job::kMostBytes)) {
    last_text = *std::move(text);
  }
  const std::string text = job.id + "\n" + job.ref + "\n" + job.repository;
  Job last;
  const size_t id_end = last_text.find('\n');
  const size_t ref_end = last_text.find('\n', id_end + 1);
  if (id_end != last_text.npos && ref_end != last_text.npos) {
    last.id = last_text.substr(0, id_end);
    last.ref = last_text.substr(id_end + 1, ref_end - id_end - 1);
    last.repository = last_text.substr(ref_end + 1);
    GALLEY_TRY(publish_new(last));
  }
  if (last_text == text) return {};
  return replace_file(*cache_, kLastJob, text);
}

Result<JobReceipt> JobWorker::perform(const Job& job, const std::stop_token& stop,
                                      const std::function<void(const std::string&)>& on_progress) {
  if (!may_use(job.repository)) {
    return receipt(job, JobReceipt::Outcome::kRefused, "job.repository",
                   "the configuration of the workers does not name this repository");
  }
  is_new_ = false;
  has_other_hash_ = false;
  for (uint32_t attempt = 1; attempt <= kMostAttempts; ++attempt) {
    if (stop.stop_requested()) return fail(ErrorKind::kTimeout, "job.stopped", "the worker ends");
    auto done = try_once(job, stop, on_progress);
    if (!done) clones_.clear();  // a process of git there may be the cause
    if (!done) return fail(done.error());
    if (*done) return **std::move(done);
    on_progress("the branch moved");
  }
  // The last push may have reached the branch without an answer.
  auto done = landed(job, stop);
  if (!done && is_transient(done.error())) return fail(done.error());
  if (done && *done) return **std::move(done);
  return receipt(
      job, JobReceipt::Outcome::kConflict, "conflict.branch_moved",
      "the branch moved " + std::to_string(kMostAttempts) + " times while the change was judged");
}

}  // namespace galley
