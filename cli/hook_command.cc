#include "cli/hook_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/shell_word.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/render.h"
#include "engine/check/git_check.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/git_hooks/hook_files.h"
#include "engine/git_hooks/ref_updates.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {

// --- judging ------------------------------------------------------------------------------------

namespace {

/// Room for this many references with the longest names.
constexpr uint64_t kMaxInputBytes = uint64_t{64} << 20U;
/// The first refused references of a push are named.
constexpr size_t kMostNamed = 10;

/// The text of one judgement, and whether it approves.
struct HookAnswer {
  bool is_yes = false;
  bool is_about_nothing = false;  ///< no file changes
  std::string text;               ///< with the notices; may be empty
  Json document;
};

/// Without `repository`, judges the current one.
Result<HookAnswer> judge_source(Session& session, const CheckSource& source,
                                std::optional<GitAccess> repository = {}) {
  CheckOptions options;
  options.repository = std::move(repository);
  options.who = session.transaction_options();
  options.config_file = session.arguments().global.config;
  options.approver = approver_at_terminal(session);
  session.terminal().work_on("reading the repository");
  GALLEY_ASSIGN(const auto check, GitCheck::open(source, std::move(options)));
  GALLEY_ASSIGN(const Preview preview, check->judge(session.gate_progress()));
  HookAnswer answer;
  answer.is_yes = preview.verdict.is_approved();
  answer.is_about_nothing = preview.proposal.is_empty();
  for (const std::string& notice : check->notices()) {
    answer.text += "galley: " + printable_line(notice) + "\n";
  }
  const bool is_told = !answer.is_yes || !preview.verdict.findings.empty();
  if (is_told) {
    answer.text +=
        session.with_hints(verdict_text(preview.verdict, session.terminal().has_error_color()));
  }
  answer.document = verdict_json(preview.verdict);
  return answer;
}

void say(Session& session, const std::string& text) {
  if (!session.is_json()) session.terminal().print_message(text);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// pre-commit (the framework) reads the lines itself and describes the push in the environment.
/// Without PRE_COMMIT_TO_REF everything is new to the remote.
Result<std::vector<RefUpdate>> updates_of_framework(const GitProgram& git) {
  std::string to = variable("PRE_COMMIT_TO_REF");
  if (to.empty()) to = variable("PRE_COMMIT_LOCAL_BRANCH");
  if (to.empty()) to = "HEAD";
  GALLEY_ASSIGN(const std::string id, git.run({"rev-parse", "--verify", to + "^{commit}"}));
  std::string ref = variable("PRE_COMMIT_REMOTE_BRANCH");
  if (ref.empty()) ref = to;
  return std::vector<RefUpdate>{
      {ref, variable("PRE_COMMIT_FROM_REF"), id.substr(0, id.find('\n'))}};
}

bool is_in_framework() {
  return variable("PRE_COMMIT") == "1" && !variable("PRE_COMMIT_REMOTE_NAME").empty();
}

/// The updates of this push, and the commits that the remote has.
struct Push {
  std::vector<RefUpdate> updates;
  KnownCommits known;
};

Result<Push> read_push(Session& session, const GitProgram& git) {
  const Arguments& arguments = session.arguments();
  Push push;
  push.known = known_on_server();
  if (arguments.name == "update") {
    GALLEY_ASSIGN(RefUpdate update, parse_update(arguments.words));
    push.updates.push_back(std::move(update));
    return push;
  }
  const bool is_client = arguments.name == "pre-push";
  if (is_client) {
    const bool is_named = !arguments.words.empty();
    GALLEY_ASSIGN(push.known, known_of_remote(git, is_named ? arguments.words.front()
                                                            : variable("PRE_COMMIT_REMOTE_NAME")));
  }
  if (is_client && is_in_framework()) {
    GALLEY_ASSIGN(push.updates, updates_of_framework(git));
    return push;
  }
  GALLEY_ASSIGN(const std::string lines,
                session.read_input("-", "the updated references", kMaxInputBytes));
  GALLEY_ASSIGN(push.updates, is_client ? parse_pushed_refs(lines) : parse_received_refs(lines));
  return push;
}

CheckSource push_source(const PushRange& range) {
  CheckSource source;
  source.kind = CheckSource::Kind::kRange;
  source.from = range.from;
  source.to = range.to;
  source.rules = range.rules;
  source.is_direct = true;
  source.known = range.known;
  source.same = range.same;
  return source;
}

/// Prints one heading per reference, and its text below it.
void tell(Session& session, const std::string& ref, bool is_yes, const std::string& text) {
  if (text.empty()) return;
  say(session,
      fmt::format("galley: {}{}\n{}", printable_line(ref), is_yes ? "" : " is refused", text));
}

}  // namespace

Result<bool> is_merging(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"rev-parse", "--verify", "--quiet", "MERGE_HEAD"}));
  return said.status == 0;
}

namespace {

/// The commits that `git merge` is merging. It writes MERGE_HEAD after the hook pre-merge-commit.
/// A hook of a merge in another repository passes on the commits of that merge, too.
Result<std::vector<std::string>> commits_of_merge(const GitProgram& git) {
  constexpr std::string_view kName = "GITHEAD_";
  std::vector<std::string> commits;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name =
        std::string_view(*one).substr(0, std::string_view(*one).find('='));
    if (!name.starts_with(kName)) continue;
    const std::string id(name.substr(kName.size()));
    const bool is_id = (id.size() == 40 || id.size() == 64) &&
                       id.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_id) continue;
    GALLEY_ASSIGN(const PipedOutput found,
                  git.try_run({"rev-parse", "--verify", "--quiet", id + "^{commit}"}));
    if (found.status == 0) commits.push_back(id);
  }
  return commits;
}

/// Judges what pre-commit (the framework) was given: in CI a range, else the index.
Result<HookAnswer> judge_commit(Session& session) {
  CheckSource source;
  if (session.arguments().name == "pre-merge-commit") {
    GALLEY_ASSIGN(source.known, commits_of_merge(GitProgram()));
  }
  // git gives its hooks an index, also for a commit without changes.
  const bool is_commit = variable("PRE_COMMIT") != "1" || !variable("GIT_INDEX_FILE").empty();
  if (!is_commit && !variable("PRE_COMMIT_TO_REF").empty()) {
    source.kind = CheckSource::Kind::kRange;
    source.from = variable("PRE_COMMIT_FROM_REF");
    source.to = variable("PRE_COMMIT_TO_REF");
  }
  GALLEY_ASSIGN(HookAnswer answer, judge_source(session, source));
  if (!answer.is_about_nothing || is_commit || source.kind != CheckSource::Kind::kStaged) {
    return answer;
  }
  say(session, answer.text);
  return fail(ErrorKind::kRefused, "hook.nothing_staged",
              "nothing is staged, so nothing was judged; give pre-commit a range: --from-ref A "
              "--to-ref B, or run: galley check --range A..B. To leave this hook out, set "
              "SKIP=galley");
}

/// pre-commit, pre-merge-commit, pre-applypatch: judges the changes in git's index.
Result<int> judge_staged(Session& session) {
  if (session.arguments().name == "pre-applypatch") {
    // `git rebase --apply` runs this hook; other rebases do not run one.
    GALLEY_ASSIGN(std::string mark, GitProgram().run({"rev-parse", "--path-format=absolute",
                                                      "--git-path", "rebase-apply/rebasing"}));
    while (mark.ends_with('\n')) mark.pop_back();
    if (absolute_path(mark)) return kExitDone;
  }
  GALLEY_ASSIGN(const HookAnswer answer, judge_commit(session));
  if (session.is_json()) {
    session.print(
        Json{{"schema", "galley.hook-run/1"},
             {"ok", answer.is_yes},
             {"hook", session.arguments().name},
             {"judged", Json::array({Json{{"ok", answer.is_yes}, {"verdict", answer.document}}})}});
  } else {
    say(session, answer.text);
  }
  return answer.is_yes ? kExitDone : kExitNo;
}

/// pre-push, pre-receive and update: judges all updated references of a push before it returns. One
/// refusal refuses the push.
Result<int> judge_push(Session& session) {
  GALLEY_ASSIGN(const GitAccess repository, GitAccess::open(GitProgram()));
  GALLEY_ASSIGN(const Push push, read_push(session, repository.git));
  GALLEY_ASSIGN(const auto ranges, ranges_of(repository, push.updates, push.known));
  std::vector<std::pair<PushRange, HookAnswer>> judged;
  Json document = {{"schema", "galley.hook-run/1"},
                   {"ok", true},
                   {"hook", session.arguments().name},
                   {"judged", Json::array()}};
  size_t refused = 0;
  const auto tell_of = [&](const std::string& ref, bool is_yes, const std::string& text) {
    refused += is_yes ? 0 : 1;
    if (is_yes || refused <= kMostNamed) tell(session, ref, is_yes, text);
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    const PushRange& range = ranges[i];
    Json entry = {{"ref", printable_line(range.ref)}, {"ok", true}};
    if (range.to.empty()) {
      entry["note"] = range.note;
      document["judged"].push_back(std::move(entry));
      continue;
    }
    auto known = std::find_if(judged.begin(), judged.end(),
                              [&](const auto& one) { return one.first.is_same_work(range); });
    if (known == judged.end()) {
      GALLEY_ASSIGN(HookAnswer answer, judge_source(session, push_source(range), repository));
      const bool is_unknown = push.known.main_branch.empty() && push.updates[i].old_id.empty();
      if (!answer.is_yes && is_unknown) {
        answer.text +=
            "  content that the other side already has may count as new; to prevent it: " +
            push.known.remedy + "\n";
      }
      tell_of(range.ref, answer.is_yes, answer.text);
      judged.emplace_back(range, std::move(answer));
      known = judged.end() - 1;
    } else if (!known->second.is_yes) {
      tell_of(range.ref, false, "  for the same commits as " + known->first.ref + "\n");
    }
    entry["ok"] = known->second.is_yes;
    entry["verdict"] = known->second.document;
    document["judged"].push_back(std::move(entry));
  }
  if (refused > kMostNamed) {
    say(session, fmt::format("galley: and {} more are refused\n", refused - kMostNamed));
  }
  document["ok"] = refused == 0;
  if (session.is_json()) session.print(document);
  return refused == 0 ? kExitDone : kExitNo;
}

}  // namespace

Result<bool> judge_update(Session& session, const RefUpdate& update, const std::string& directory) {
  GALLEY_ASSIGN(const GitAccess repository, GitAccess::open(directory));
  GALLEY_ASSIGN(const auto ranges, ranges_of(repository, {update}, known_on_server()));
  const PushRange& range = ranges.front();
  if (range.to.empty()) return true;
  GALLEY_ASSIGN(const HookAnswer answer, judge_source(session, push_source(range), repository));
  tell(session, range.ref, answer.is_yes, answer.text);
  return answer.is_yes;
}

namespace {

/// Returns the transactions whose changes a commit contains; none without a history of Galley.
Result<std::vector<ContributingTransaction>> contributors(
    Session& session, const GitProgram& git, const std::vector<GitRawChange>& changes) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open_without_recovery());
  if (persistent_of(*workspace).state() == nullptr) return std::vector<ContributingTransaction>();
  return contributing_transactions(History(*persistent_of(*workspace).state()), git, changes);
}

Result<int> put_trailers(Session& session) {
  const auto& words = session.arguments().words;
  if (words.empty()) {
    return fail(ErrorKind::kUsage, "hook.arguments",
                "the hook '" + session.arguments().name + "' is given the file of the message");
  }
  const GitProgram git;
  // The changes of a merge come from other authors.
  GALLEY_ASSIGN(const bool merges, is_merging(git));
  if (merges) return kExitDone;
  GALLEY_ASSIGN(const auto changes, staged_changes(git));
  GALLEY_ASSIGN(const auto transactions, contributors(session, git, changes));
  GALLEY_TRY(add_trailers(git, words.front(), transactions));
  return kExitDone;
}

Result<int> link_commit(Session& session) {
  const GitProgram git;
  GALLEY_ASSIGN(std::string head, git.run({"rev-parse", "--verify", "HEAD^{commit}"}));
  while (head.ends_with('\n')) head.pop_back();
  GALLEY_ASSIGN(const auto changes, committed_changes(git, head));
  GALLEY_ASSIGN(const auto transactions, contributors(session, git, changes));
  if (transactions.empty()) return kExitDone;
  GALLEY_ASSIGN(const Workspace* workspace, session.open_without_recovery());
  GALLEY_TRY(record_commit_links(*workspace, head, transactions));
  return kExitDone;
}

/// Hooks that only take notes must not prevent a commit.
Result<int> without_refusal(Session& session, const Result<int>& status) {
  const bool is_failure = !status && status.error().kind != ErrorKind::kUsage;
  if (!is_failure) return status;
  session.print_error_lines("galley: the hook " + session.arguments().name +
                            " recorded nothing: " + printable_line(status.error().message) + "\n");
  return kExitDone;
}

/// `galley hook run NAME [ARGUMENT...]`: does the work of the git hook of this name, with the
/// arguments and standard input that git passes.
Result<int> run_git_hook(Session& session) {
  const std::string& name = session.arguments().name;
  if (name == "prepare-commit-msg" || name == "commit-msg") {
    return without_refusal(session, put_trailers(session));
  }
  if (name == "post-commit") return without_refusal(session, link_commit(session));
  const bool is_commit = name.starts_with("pre-") && name != "pre-push" && name != "pre-receive";
  return is_commit ? judge_staged(session) : judge_push(session);
}

// --- installing ---------------------------------------------------------------------------------

constexpr uint32_t kDirectoryMode = 0755;

struct StepWords {
  std::string_view name;
  std::string_view text;  ///< what was done
};

const StepWords& words_of(HookStep step) {
  static const std::map<HookStep, StepWords> kWords = {
      {HookStep::kWrite, {"write", "installed"}},
      {HookStep::kWriteAndKeep,
       {"write_and_keep", "installed; the hook that was there runs first, kept as "}},
      {HookStep::kRenew, {"renew", "renewed: another version of Galley had written it"}},
      {HookStep::kRemove, {"remove", "removed"}},
      {HookStep::kRestore, {"restore", "removed; the hook that was there before is back"}},
      {HookStep::kNothing, {"nothing", ""}},
  };
  return kWords.at(step);
}

std::string step_text(const HookChange& change, bool is_install) {
  if (change.is_legacy && !is_install) {
    return "not removed: pre-commit keeps it as " + change.hook +
           ".legacy; run first: pre-commit uninstall --hook-type " + change.hook;
  }
  std::string text(words_of(change.step).text);
  if (change.step == HookStep::kWriteAndKeep) text += earlier_hook_name(change.hook);
  if (!text.empty()) return text;
  return is_install ? "is installed already" : "none of Galley's is there";
}

/// Returns the kinds that --hook names; without it the usual ones to install, or all to remove.
std::vector<const HookKind*> wanted_kinds(const Arguments& arguments, const HookPlace& place) {
  std::vector<const HookKind*> kinds;
  for (const std::string& name : arguments.words) kinds.push_back(find_hook_kind(name));
  if (!kinds.empty()) return kinds;
  const bool is_install = arguments.subcommand == "install";
  for (const HookKind& kind : hook_kinds()) {
    const bool is_usual = kind.is_usual && kind.is_of_server == place.is_bare;
    if (is_usual || !is_install) kinds.push_back(&kind);
  }
  return kinds;
}

constexpr std::string_view kHuskyLines = R"(
  .husky/pre-commit: galley hook run pre-commit
  .husky/commit-msg: galley hook run commit-msg -- "$1"
  .husky/pre-push: galley hook run pre-push -- "$@")";

constexpr std::string_view kLefthookLines = R"(
  pre-commit: {commands: {galley: {run: galley hook run pre-commit}}}
  commit-msg: {commands: {galley: {run: "galley hook run commit-msg -- {1}"}}}
  post-commit: {commands: {galley: {run: galley hook run post-commit}}}
  pre-push: {commands: {galley: {run: "galley hook run pre-push -- {1} {2}", use_stdin: true}}})";

Result<void> check_place(const HookPlace& place, const Arguments& arguments) {
  if (place.directory == "/dev/null" || place.directory == "/") {
    return fail(ErrorKind::kRefused, "hook.switched_off",
                "core.hooksPath is " + std::string(place.directory == "/" ? "empty" : "/dev/null") +
                    ", which switches hooks off; take it away first: git config --unset "
                    "core.hooksPath");
  }
  if (place.is_of_husky) {
    return fail(ErrorKind::kRefused, "hook.husky",
                "the hooks here are husky's, which writes '" + place.directory +
                    "' anew at each installation; add a line to each of these files instead:" +
                    std::string(kHuskyLines));
  }
  if (arguments.force) return {};
  std::vector<Error> reasons;  // all of them, because one --force answers all
  if (place.reach == HookPlace::Reach::kUser) {
    reasons.push_back(
        {ErrorKind::kRefused, "hook.every_repository",
         "core.hooksPath is '" + place.directory +
             "' for every repository, so a hook there runs in all of them; add --force if you mean "
             "that, or set core.hooksPath for this one: git config core.hooksPath "
             "\"$(git rev-parse --path-format=absolute --git-common-dir)/hooks\"",
         "", 0});
  }
  if (place.reach == HookPlace::Reach::kLink) {
    reasons.push_back(
        {ErrorKind::kRefused, "hook.linked",
         "'" + place.directory + "' is a link to '" + place.leads_to +
             "', outside of this repository, so a hook there runs for every repository that uses "
             "it; add --force if you mean that, or make it a folder of this repository first",
         "", 0});
  }
  if (!place.lefthook_files.empty()) {
    reasons.push_back(
        {ErrorKind::kRefused, "hook.lefthook",
         "lefthook moves the hooks of others to NAME.old when it writes its own; add this "
         "to its configuration instead, here as lefthook.yml, and then remove NAME.old of "
         "Galley. If you do not use lefthook, add --force:" +
             std::string(kLefthookLines),
         "", 0});
  }
  if (reasons.empty()) return {};
  for (size_t i = 1; i < reasons.size(); ++i) reasons[0].message += "\n" + reasons[i].message;
  return fail(reasons[0]);
}

Json changes_document(const HookPlace& place, const std::vector<HookChange>& changes,
                      bool dry_run) {
  Json document = {{"schema", "galley.hook/1"},
                   {"ok", true},
                   {"directory", place.directory},
                   {"dry_run", dry_run},
                   {"hooks", Json::array()}};
  if (!place.leads_to.empty()) document["leads_to"] = place.leads_to;
  for (const HookChange& change : changes) {
    Json entry = {{"hook", change.hook}, {"step", words_of(change.step).name}};
    const bool keeps = change.step == HookStep::kWriteAndKeep;
    if (keeps) entry["kept_as"] = earlier_hook_name(change.hook);
    document["hooks"].push_back(std::move(entry));
  }
  return document;
}

void print_hook_changes(Session& session, const HookPlace& place,
                        const std::vector<HookChange>& changes) {
  const Arguments& arguments = session.arguments();
  const bool is_install = arguments.subcommand == "install";
  std::string text;
  for (const HookChange& change : changes) {
    text += fmt::format("{:<19} {}\n", change.hook, step_text(change, is_install));
  }
  session.print(changes_document(place, changes, arguments.dry_run), text);
  session.say(fmt::format("{}in {}", arguments.dry_run ? "nothing was changed; this would be " : "",
                          place.directory) +
              (place.leads_to.empty() ? "" : ", which leads to " + place.leads_to));
  if (place.is_in_work_tree && is_install) {
    session.say(
        "core.hooksPath leads into the work tree: git sees these files as yours to commit, and "
        "other work trees and clones are not judged until they have them");
  }
  const char* const path = std::getenv("PATH");
  if (is_install && list_programs(path == nullptr ? "" : path, "galley").empty()) {
    session.say(
        "warning: galley is not on PATH, where these hooks look for it; until it is there, "
        "they refuse what they cannot judge");
  }
}

/// The parent of the folder of links to hook files, and the name of that folder in it.
struct ViewPlace {
  std::unique_ptr<WritableDirectory> parent;
  RelPath name = RelPath::root();
  FileKind kind = FileKind::kAbsent;
};

Result<ViewPlace> view_place(const HookPlace& place) {
  const std::string path = hook_view_name(place.directory);
  const size_t slash = path.rfind('/');
  GALLEY_ASSIGN(RelPath name, RelPath::parse(path.substr(slash + 1)));
  auto parent = open_writable_disk_directory(path.substr(0, slash + 1));
  if (!parent && parent.error().kind == ErrorKind::kNotFound) return ViewPlace{};
  if (!parent) return fail(parent.error());
  GALLEY_ASSIGN(const FileStat stat, (*parent)->stat(name));
  return ViewPlace{*std::move(parent), std::move(name), stat.kind};
}

/// A clone can bring a link at this place, if the hooks are in its work tree.
Result<void> refuse_linked_view(const HookPlace& place) {
  GALLEY_ASSIGN(const ViewPlace view, view_place(place));
  if (view.kind != FileKind::kSymlink) return {};
  const std::string path = hook_view_name(place.directory);
  return fail(ErrorKind::kRefused, "hook.linked_view",
              "'" + printable_line(path) +
                  "' is a link, which Galley does not follow; remove it first: rm " +
                  shell_word(path));
}

/// Whether a hook of Galley made this entry of the folder of links.
Result<bool> is_of_hooks(const WritableDirectory& view, const DirectoryEntry& entry,
                         const HookPlace& place) {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
  if (entry.kind == FileKind::kRegular && entry.name == ".gitignore") {
    const auto text = read_file(view, name, kMaxHookScriptBytes);
    return text && *text == "*\n";
  }
  if (entry.kind != FileKind::kSymlink) return false;
  GALLEY_ASSIGN(const std::string target, view.read_link(name));
  const std::string file =
      ".." + place.directory.substr(place.directory.rfind('/')) + "/" + entry.name;
  return target == file || target == earlier_hook_name(file);
}

/// Removes the folder of links to hook files when no hook needs it. Files that a hook wrote there,
/// next to itself, are moved to the hook files. A file whose name is taken there stays, and so do
/// all in a work tree, because others may have written there, too.
Result<void> remove_view(Session& session, const HookFiles& files, const WritableDirectory& hooks,
                         const HookPlace& place) {
  GALLEY_ASSIGN(const bool keeps_any, files.keeps_any());
  if (keeps_any) return {};
  GALLEY_ASSIGN(const ViewPlace found, view_place(place));
  // A file or link of that name is not Galley's.
  if (found.kind != FileKind::kDirectory) return {};
  GALLEY_ASSIGN(const auto view, found.parent->open_writable_directory(found.name));
  std::string why;
  GALLEY_ASSIGN(const auto entries, view->list());
  for (const DirectoryEntry& entry : entries) {
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
    GALLEY_ASSIGN(const bool is_ours, is_of_hooks(*view, entry, place));
    if (is_ours) {
      GALLEY_TRY(view->remove_file(name));
    } else if (place.is_in_work_tree) {
      why = "they are in the work tree, where others may have written, too";
    } else if (entry.kind == FileKind::kSymlink) {
      why = "Galley moves no links";
    } else if (const auto moved = view->rename(name, hooks, name, RenameMode::kNoReplace); !moved) {
      why = printable_line(moved.error().message);
    }
  }
  if (why.empty()) {
    const auto removed = found.parent->remove_directory(found.name);
    if (!removed) why = printable_line(removed.error().message);
  }
  if (!why.empty()) {
    session.say("files that a hook wrote next to itself are in " + hook_view_name(place.directory) +
                ", not moved: " + why);
  }
  return {};
}

Result<int> change_hooks(Session& session) {
  const Arguments& arguments = session.arguments();
  const bool is_install = arguments.subcommand == "install";
  // Git runs the files of this directory outside of every sandbox.
  GALLEY_TRY(refuse_inside_exec("hook " + arguments.subcommand));
  GALLEY_TRY(
      refuse_to_agents(arguments, "only a person may install or remove hooks: leave out --agent"));
  GALLEY_ASSIGN(const HookPlace place, hook_place(GitProgram()));
  if (is_install) {
    GALLEY_TRY(check_place(place, arguments));
    GALLEY_TRY(refuse_linked_view(place));
  }
  const auto kinds = wanted_kinds(arguments, place);
  // A missing directory means the same as an empty one: no hooks.
  auto directory = open_writable_disk_directory(place.directory);
  const bool is_missing = !directory && directory.error().kind == ErrorKind::kNotFound;
  if (is_missing && (!is_install || arguments.dry_run)) {
    std::vector<HookChange> changes;
    const HookStep step = is_install ? HookStep::kWrite : HookStep::kNothing;
    for (const HookKind* kind : kinds) changes.push_back({std::string(kind->name), step});
    print_hook_changes(session, place, changes);
    return kExitDone;
  }
  if (is_missing) directory = make_disk_directory(place.directory, kDirectoryMode);
  if (!directory) return fail(directory.error());
  const HookFiles files(**directory);
  GALLEY_ASSIGN(auto changes, is_install ? files.plan_install(kinds) : files.plan_uninstall(kinds));
  if (!arguments.dry_run) GALLEY_TRY(files.carry_out(changes));
  if (!arguments.dry_run && !is_install) {
    GALLEY_TRY(remove_view(session, files, **directory, place));
  }
  print_hook_changes(session, place, changes);
  return kExitDone;
}

}  // namespace

Result<int> run_hook(Session& session) {
  return session.arguments().subcommand == "run" ? run_git_hook(session) : change_hooks(session);
}

}  // namespace galley
