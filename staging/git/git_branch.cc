#include "staging/git/git_branch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr std::string_view kBranchPrefix = "refs/heads/";
constexpr uint64_t kMaxWorkFileBytes = uint64_t{1} << 20U;  // git's files of a rebase
constexpr uint64_t kMaxCommitBytes = uint64_t{16} << 20U;

Error not_a_branch(const std::string& name, const std::string& why) {
  return {ErrorKind::kUsage, "git.not_a_branch",
          "'" + printable_line(name) + "' " + why + "; name a branch with --ref BRANCH"};
}

/// The whole name of the branch that HEAD names.
Result<std::string> branch_of_head(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"symbolic-ref", "--quiet", "HEAD"}));
  if (said.status == 0) return std::string(trim(said.output));
  return fail(not_a_branch("HEAD", "names a commit and no branch here"));
}

/// Whether git keeps the branch in a file of its own, as a commit. Asking git needs a process.
bool is_plain_file(const GitLayout& layout, const std::string& full) {
  const auto common = open_disk_directory(layout.common_directory);
  const auto path = RelPath::parse(full);
  if (!common || !path || !full.starts_with(kBranchPrefix)) return false;
  const auto text = read_file(**common, *path, kMaxWorkFileBytes);
  return text && !text->empty() && std::isxdigit(static_cast<unsigned char>(text->front())) != 0;
}

/// Checks a whole name and follows a symbolic reference to the branch.
Result<std::string> checked_name(const GitProgram& git, const GitLayout& layout, std::string full) {
  // Without this check, `main~1` or `main@{1}` would be read as another commit.
  if (!is_ref_name(full)) return fail(not_a_branch(full, "cannot be the name of a branch"));
  if (is_plain_file(layout, full)) return full;
  GALLEY_ASSIGN(const PipedOutput target, git.try_run({"symbolic-ref", "--quiet", full}));
  if (target.status == 0) full = std::string(trim(target.output));
  constexpr std::array<std::string_view, 5> kFixed = {"refs/tags/", "refs/remotes/", "refs/notes/",
                                                      "refs/replace/", "refs/stash"};
  for (const std::string_view prefix : kFixed) {
    if (full.starts_with(prefix)) return fail(not_a_branch(full, "is not a branch"));
  }
  if (!full.starts_with("refs/")) return fail(not_a_branch(full, "is not a branch"));
  return full;
}

/// What git-push(1) with --porcelain says about its one reference:
/// `FLAG\tFROM:TO\tSUMMARY[ (WHY)]`.
struct PushedRef {
  char flag = '!';           ///< ` ` moved, `*` made, `=` there already, `!` rejected
  std::string_view summary;  ///< `OLD..NEW` if it moved
  std::string_view why;

  /// git did not send it, because the branch there has other commits than this push expects.
  [[nodiscard]] bool is_not_sent() const { return summary.starts_with("[rejected]"); }
};

PushedRef pushed_ref(std::string_view output) {
  PushedRef told;
  for (const std::string_view line : lines_of(output)) {
    if (line.size() < 2 || line[1] != '\t') continue;
    told.flag = line[0];
    // The reason is of the other side, and may have a tab.
    told.summary = line.substr(line.find('\t', 2) + 1);
    const size_t begin = told.summary.rfind('(');
    if (begin == line.npos) break;
    told.why = told.summary.substr(begin + 1, told.summary.rfind(')') - begin - 1);
    break;
  }
  return told;
}

/// What the other repository said: git's lines that begin with `remote: `.
std::string words_of_remote(std::string_view complaint, std::string_view why) {
  constexpr std::string_view kHead = "remote: ";
  std::string words;
  for (const std::string_view line : lines_of(complaint)) {
    if (!line.starts_with(kHead)) continue;
    words += (words.empty() ? "" : " ") + std::string(trim(line.substr(kHead.size())));
  }
  if (words.empty()) words = why;
  return words.empty() ? "it gave no reason" : printable_line(words);
}

/// Whether the repository there may take the same push later: another program holds a lock, or the
/// disk is full.
bool may_pass_later(std::string_view complaint, std::string_view why) {
  if (why.ends_with("hook declined")) return false;
  for (const char* words :
       {".lock': File exists", "No space left on device", "Disk quota exceeded"}) {
    if (complaint.find(words) != complaint.npos) return true;
  }
  return false;
}

Error odd_config(std::string_view key) {
  return {ErrorKind::kRefused, "push.odd_config",
          "the repository itself sets '" + printable_line(key) +
              "', which decides where or how a push goes: if you want it, set it in your own "
              "configuration (git config --global) and not there"};
}

/// The error of a push that failed and left the branch there as it was. Git's words may have the
/// password.
Error push_error(const GitRemote& address, const PipedOutput& said) {
  const PushedRef told = pushed_ref(said.output);
  if (told.summary.starts_with("[remote rejected]")) {
    const std::string words = words_of_remote(said.complaint, told.why);
    if (may_pass_later(said.complaint, told.why)) {
      return {ErrorKind::kIo, "push.failed",
              "the repository there cannot take the push now: " + words};
    }
    return {ErrorKind::kRefused, "push.remote_refused",
            "the repository there refused the push: " + words};
  }
  // GitProgram empties this key of a repository, and GIT_SSH_COMMAND goes before it.
  if (said.complaint.find("error: cannot run : ") != said.complaint.npos) {
    return {ErrorKind::kRefused, "push.odd_config",
            "git has no program for ssh, because 'core.sshCommand' of a repository is not run: "
            "set it in your own configuration (git config --global) or in GIT_SSH_COMMAND"};
  }
  Error why = GitProgram::remote_error(said.complaint);
  std::string& words = why.message;
  const std::string shown = address.shown();
  for (size_t at = words.find(address.text); at != words.npos && shown != address.text;
       at = words.find(address.text, at + shown.size())) {
    words.replace(at, address.text.size(), shown);
  }
  if (why.reason == "git.not_allowed" || why.reason == "git.protocol") return why;
  return {ErrorKind::kIo, "push.failed", words};
}

/// The absolute path of a repository. As git does, it also finds `NAME.git` by NAME.
Result<std::string> path_of_repository(std::string name) {
  auto exact = absolute_path(name);
  if (exact) return exact;
  while (name.ends_with('/')) name.pop_back();
  auto with_ending = absolute_path(name + ".git");
  return with_ending ? with_ending : exact;
}

}  // namespace

/// Passes each call on to the tree of the shown commit.
class GitBranch::Files final : public Directory {
 public:
  explicit Files(const GitBranch& branch) : branch_(&branch) {}

  Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const override {
    return branch_->tree()->open_directory(path);
  }
  Result<std::unique_ptr<File>> open_file(const RelPath& path) const override {
    return branch_->tree()->open_file(path);
  }
  Result<FileStat> stat(const RelPath& path) const override { return branch_->tree()->stat(path); }
  Result<std::string> read_link(const RelPath& path) const override {
    return branch_->tree()->read_link(path);
  }
  Result<std::vector<DirectoryEntry>> list() const override { return branch_->tree()->list(); }
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override {
    return branch_->tree()->attributes(path);
  }
  // A commit can change the files, although this object cannot.
  Result<bool> is_writable() const override { return true; }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  const GitBranch* branch_;
};

Result<GitAccess> GitAccess::open(const std::string& directory) {
  return open(GitProgram::in_named_repository(directory));
}

Result<GitAccess> GitAccess::open(GitProgram git) {
  GALLEY_ASSIGN(GitLayout layout, git.layout());
  auto objects = std::make_shared<const GitObjects>(git);
  auto trees = std::make_shared<const GitTrees>(objects);
  auto writers = std::make_shared<const GitWriters>(git);
  return GitAccess{std::move(git),   std::move(layout),  std::move(objects),
                   std::move(trees), std::move(writers), false};
}

GitBranch::GitBranch(GitAccess repository, std::string name)
    : repository_(std::move(repository)),
      name_(std::move(name)),
      files_(std::make_unique<const Files>(*this)) {}

GitBranch::~GitBranch() = default;

Result<std::unique_ptr<GitBranch>> GitBranch::open(GitAccess repository, const std::string& name) {
  std::string full = name;
  if (name == "HEAD" || name == "@") {
    GALLEY_ASSIGN(full, branch_of_head(repository.git));
  } else if (!name.starts_with("refs/")) {
    full = std::string(kBranchPrefix) + name;
  }
  GALLEY_ASSIGN(full, checked_name(repository.git, repository.layout, std::move(full)));
  std::unique_ptr<GitBranch> branch(new GitBranch(std::move(repository), std::move(full)));
  GALLEY_TRY(branch->follow());
  return branch;
}

const Directory& GitBranch::files() const { return *files_; }

std::shared_ptr<const GitTree> GitBranch::tree() const {
  const std::lock_guard lock(mutex_);
  return tree_;
}

GitTip GitBranch::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

Result<std::string> GitBranch::id_of(const RelPath& path) const {
  GALLEY_ASSIGN(GitTreeEntry found, tree()->entry(path));
  return std::move(found.id);
}

Result<GitTip> GitBranch::follow() const {
  GALLEY_ASSIGN(GitTip now, tip());
  const std::lock_guard lock(mutex_);
  if (shown_ != now) {
    tree_ = std::make_shared<const GitTree>(repository_.trees, now.tree);
    shown_ = now;
  }
  return now;
}

Result<GitTip> GitBranch::tip() const {
  GitTip tip;
  const auto head = repository_.objects->look(name_ + "^{commit}");
  if (!head && head.error().reason == "git.no_such_object") {
    return fail(ErrorKind::kNotFound, "git.no_such_branch",
                "the repository '" + repository_.layout.common_directory + "' has no branch '" +
                    printable_line(name_) +
                    "' with a commit; make it first with git branch NAME, or in "
                    "an empty repository with a first commit");
  }
  if (!head) return fail(head.error());
  tip.commit = head->id;
  GALLEY_ASSIGN(const GitObjectHead tree, repository_.objects->look(tip.commit + "^{tree}"));
  tip.tree = tree.id;
  return tip;
}

Result<GitWorkPlace> GitBranch::work_tree_with_it() const {
  GitWorkPlace place;
  if (repository_.layout.is_bare) {
    GALLEY_ASSIGN(const auto common, open_disk_directory(repository_.layout.common_directory));
    GALLEY_ASSIGN(const FileStat linked, common->stat(chosen_path("worktrees")));
    if (linked.kind == FileKind::kAbsent) return place;
  }
  GALLEY_ASSIGN(const std::string listed, repository_.git.run({"worktree", "list", "--porcelain"}));
  bool has_branch = false;
  for (const std::string_view line : lines_of(listed)) {
    constexpr std::string_view kPlace = "worktree ";
    if (line.starts_with(kPlace) && has_branch) break;
    if (line.starts_with(kPlace)) place.path = line.substr(kPlace.size());
    has_branch |= line == "branch " + name_;
    place.is_gone = has_branch && line.starts_with("prunable");
    if (place.is_gone) break;
  }
  if (has_branch) return place;
  GALLEY_ASSIGN(place.path, unfinished_work());
  return place;
}

/// Git also refuses to move a branch that a rebase or a bisection will come back to.
Result<std::string> GitBranch::unfinished_work() const {
  GALLEY_ASSIGN(const auto common, open_disk_directory(repository_.layout.common_directory));
  std::vector<std::string> places = {""};
  const auto linked = common->open_directory(chosen_path("worktrees"));
  if (linked) {
    GALLEY_ASSIGN(const auto entries, (*linked)->list());
    for (const DirectoryEntry& entry : entries) places.push_back("worktrees/" + entry.name + "/");
  }
  for (const std::string& place : places) {
    for (const char* file : {"rebase-merge/head-name", "rebase-apply/head-name",
                             "rebase-merge/update-refs", "BISECT_START"}) {
      const auto path = RelPath::parse(place + file);
      const auto text = path ? read_file(*common, *path, kMaxWorkFileBytes) : fail(path.error());
      if (!text) continue;
      for (const std::string_view line : lines_of(*text)) {
        if (line != name_ && std::string(kBranchPrefix).append(line) != name_) continue;
        return repository_.layout.common_directory + "/" + place + file;
      }
    }
  }
  return std::string();
}

Result<bool> GitBranch::contains(const std::string& commit) const {
  const auto there = repository_.objects->look(commit);
  if (!there && there.error().reason == "git.no_such_object") return false;
  if (!there) return fail(there.error());
  const auto now = tip();
  if (!now && now.error().reason == "git.no_such_branch") return false;
  if (!now) return fail(now.error());
  GALLEY_ASSIGN(const PipedOutput said,
                repository_.git.try_run({"merge-base", "--is-ancestor", commit, now->commit}));
  if (said.status > 1) return fail(GitProgram::error(said.complaint));
  return said.status == 0 || had(commit);
}

std::string GitRemote::shown() const {
  const size_t scheme = text.find("://");
  if (scheme == text.npos) return text;
  const size_t host = scheme + 3;
  const size_t at = text.substr(0, text.find('/', host)).rfind('@');
  return at == text.npos || at < host ? text : text.substr(0, host) + text.substr(at + 1);
}

Result<GitRemote> GitBranch::remote(const std::string& name) const {
  const size_t mark = name.find_first_of("/:");
  GitRemote address{name, name, name.starts_with("file://")};
  if (mark != name.npos && name[mark] == '/') {
    address.is_folder = true;
    GALLEY_ASSIGN(address.text, path_of_repository(name));  // git would begin at its own folder
  } else if (mark == name.npos && !name.starts_with('-')) {
    GALLEY_ASSIGN(const PipedOutput said,
                  repository_.git.try_run({"remote", "get-url", "--push", name}));
    address.text = said.status == 0 ? std::string(trim(said.output)) : std::string();
  }
  const bool is_one = address.text.find('\n') == address.text.npos;
  if (address.text.empty() || address.text.starts_with('-') || !is_one) {
    return fail(ErrorKind::kUsage, "push.unknown_remote",
                "there is no remote '" + printable_line(name) + "' with one address in this " +
                    "repository; name one of: git remote -v");
  }
  return address;
}

Result<GitPush> GitBranch::push(const GitRemote& remote, const std::string& expected) const {
  auto pushed = try_push(remote, expected);
  if (pushed || is_in_cache()) return pushed;
  Error why = pushed.error();
  why.message += "; the branch here keeps all its commits";
  return fail(std::move(why));
}

/// The arguments of git for a push of the commit to this branch there.
std::vector<std::string> GitBranch::push_words(const GitRemote& remote, const std::string& commit,
                                               const std::string& expected) const {
  std::vector<std::string> words = {"-c",
                                    "core.abbrev=" + std::to_string(commit.size()),
                                    "push",
                                    "--porcelain",
                                    "--no-verify",
                                    "--no-signed",
                                    "--no-follow-tags",
                                    "--recurse-submodules=no"};
  if (!expected.empty()) words.push_back("--force-with-lease=" + name_ + ":" + expected);
  // Without `+`, git sends the branch's old commit with the new one, and only if it is older: a
  // compare-and-swap. With a lease, it is the expected one.
  words.insert(words.end(), {"--", remote.text, commit + ":" + name_});
  return words;
}

/// With a lease, git would also send a commit that lacks the expected one.
Result<bool> GitBranch::is_parent(const std::string& parent, const std::string& commit) const {
  std::string text;
  const auto add = [&](std::string_view some) { text += some; };
  GALLEY_TRY(repository_.objects->read(commit, add, kMaxCommitBytes));
  text.resize(std::min(text.find("\n\n"), text.size()));  // without its message
  return ("\n" + text + "\n").find("\nparent " + parent + "\n") != text.npos;
}

Error GitBranch::remote_moved() const {
  return {ErrorKind::kConflict, "push.remote_moved",
          "the branch " + name_ +
              " there has commits that this one lacks: fetch and merge them, then push again" +
              (repository_.layout.is_shallow ? ", in a clone that is not shallow" : "")};
}

Result<GitPush> GitBranch::try_push(const GitRemote& remote, const std::string& expected) const {
  GALLEY_ASSIGN(const std::string key, repository_.git.key_that_redirects());
  if (!key.empty()) return fail(odd_config(key));
  const GitProgram git =
      repository_.git.with_protocols(remote.is_folder ? "file" : "git:http:https:ssh");
  GALLEY_ASSIGN(const GitTip now, tip());
  GitPush push{remote.shown(), {}, now.commit};
  bool is_newer = true;
  if (!expected.empty()) {
    GALLEY_ASSIGN(is_newer, is_parent(expected, now.commit));
  }
  if (!is_newer) return fail(remote_moved());
  std::vector<std::string> words = push_words(remote, now.commit, expected);
  const auto said = git.try_run(words);
  if (!said) {
    return fail(ErrorKind::kUndecided, "push.unknown",
                "git did not end, and the commits may be there: " + said.error().message +
                    "; push again to see");
  }
  const PushedRef told = pushed_ref(said->output);
  if (said->status == 0) {
    if (told.flag == '=') push.from = push.to;
    if (told.flag == ' ') push.from = told.summary.substr(0, told.summary.find('.'));
    return push;
  }
  if (said->complaint.find("transport 'file' not allowed") != std::string::npos) {
    return fail(ErrorKind::kRefused, "push.remote_is_a_folder",
                "'" + printable_line(remote.name) +
                    "' stands for a folder, whose hooks would run; if you trust it, "
                    "name it yourself instead of the remote: " +
                    printable_line(push.address));
  }
  const Error why = push_error(remote, *said);
  // The state of the branch there decides, not the words of the other side. A dry run asks the
  // same address and runs no hook there.
  words.insert(words.end() - 3, "--dry-run");
  const bool is_let_in = why.reason != "git.not_allowed" && why.reason != "git.protocol" &&
                         why.reason != "push.odd_config";
  const auto asked =
      is_let_in && !told.is_not_sent() ? git.try_run(words) : Result<PipedOutput>(PipedOutput());
  const PushedRef there = asked ? pushed_ref(asked->output) : PushedRef();
  if (asked && asked->status == 0 && there.flag == '=') {
    push.from = expected.empty() ? push.to : expected;
    return push;
  }
  if (told.is_not_sent() || there.is_not_sent()) return fail(remote_moved());
  if (why.reason == "push.remote_refused" && (!asked || asked->status != 0)) {
    return fail(ErrorKind::kIo, "push.failed",
                why.message + "; the branch there could not be asked afterwards");
  }
  return fail(why);
}

/// Whether the branch had the commit, and another program moved it back since.
bool GitBranch::had(const std::string& commit) const {
  constexpr const char* kMost = "--max-count=1000";
  const auto log =
      repository_.git.try_run({"log", "--walk-reflogs", "--format=%H", kMost, name_, "--"});
  return log && log->status == 0 &&
         ("\n" + log->output).find("\n" + commit + "\n") != log->output.npos;
}

Result<bool> GitBranch::move(const std::string& from, const std::string& to,
                             const std::string& reason) const {
  const char* fsync = repository_.is_cache ? "core.fsync=none" : "core.fsync=reference";
  const auto said =
      repository_.git.try_run({"-c", fsync, "update-ref", "--no-deref", "--create-reflog", "-m",
                               printable_line(reason), name_, to, from});
  if (said && said->status == 0) return true;
  Error error = said ? GitProgram::error(said->complaint) : said.error();
  const auto now = tip();
  if (!now && now.error().reason == "git.no_such_branch") return false;
  if (!now) {
    error.kind = ErrorKind::kUndecided;
    error.reason = "git.branch_unknown";
    error.message += "; the branch cannot be read now, and the next galley command decides";
    return fail(std::move(error));
  }
  if (now->commit != from) return contains(to);  // others may have moved it further
  if (error.reason == "git.index_locked") error.reason = "git.ref_locked";
  return fail(std::move(error));
}

}  // namespace galley
