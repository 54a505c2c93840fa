#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/shell_word.h"
#include "cli/commands.h"
#include "cli/hook_judgement.h"
#include "cli/person.h"
#include "engine/git_hooks/hook_files.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

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
