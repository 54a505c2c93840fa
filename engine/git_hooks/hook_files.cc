#include "engine/git_hooks/hook_files.h"

#include <cerrno>
#include <string_view>
#include <vector>

#include "staging/fs/host_file.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"

namespace galley {

namespace {

constexpr uint32_t kHookMode = 0755;

RelPath name_of(const std::string& hook) { return RelPath::parse(hook).value(); }

std::string legacy_name(const std::string& hook) { return hook + ".legacy"; }

RelPath earlier_name_of(const std::string& hook) { return name_of(earlier_hook_name(hook)); }

/// Makes the file that is completed before it gets the hook's name.
Result<ScratchFile> make_new_hook(const WritableDirectory& directory, const std::string& hook) {
  const std::string ending = ".galley-new";
  GALLEY_TRY(clear_scratch_name(directory, name_of(hook + ending)));
  return make_scratch(directory, hook, ending, kHookMode);
}

bool is_same_object(const FileStat& a, const FileStat& b) {
  return a.kind != FileKind::kAbsent && a.inode == b.inode && a.device == b.device;
}

Error changed_since(const std::string& hook) {
  return {ErrorKind::kRefused, "hook.changed",
          "the hook '" + hook +
              "' was written by Galley and changed since; save the added lines elsewhere and "
              "remove the file, then run this command again",
          "", 0};
}

}  // namespace

/// The present state of one hook.
struct HookFiles::Found {
  FileStat hook;
  FileStat kept;
  FileStat legacy;  ///< Galley's hook that pre-commit (the framework) keeps and runs
  HookAuthor author = HookAuthor::kOther;
  bool is_current = false;  ///< Galley's hook has the text that this version writes
  [[nodiscard]] bool is_legacy() const { return legacy.kind == FileKind::kRegular; }
  /// An installation was interrupted after it had given the hook its second name.
  [[nodiscard]] bool is_half_kept() const { return is_same_object(hook, kept); }
};

Result<HookFiles::Found> HookFiles::look_at(const HookKind& kind) const {
  const std::string hook(kind.name);
  Found found;
  GALLEY_ASSIGN(found.hook, directory_->stat(name_of(hook)));
  GALLEY_ASSIGN(found.kept, directory_->stat(earlier_name_of(hook)));
  const FileKind what = found.hook.kind;
  if (what == FileKind::kAbsent || what == FileKind::kSymlink) return found;
  if (what != FileKind::kRegular) {
    return fail(ErrorKind::kRefused, "hook.no_file",
                "the hook '" + hook + "' is not a file, so git cannot run it; move it away first");
  }
  // A larger or unreadable file is not ours.
  if (found.hook.size > kMaxHookScriptBytes) return found;
  const auto text = read_file(*directory_, name_of(hook), kMaxHookScriptBytes);
  if (!text) return found;
  found.author = hook_author(*text);
  found.is_current = *text == hook_script(kind);
  constexpr uint32_t kOwnerRuns = 0100;
  const bool is_of_pre_commit = found.author == HookAuthor::kOther &&
                                (found.hook.mode & kOwnerRuns) != 0 &&
                                text->find("hook-impl") != std::string::npos;
  const std::string kept = legacy_name(hook);
  const auto legacy = read_file(*directory_, name_of(kept), kMaxHookScriptBytes);
  if (!is_of_pre_commit || !legacy) return found;
  const HookAuthor author = hook_author(*legacy);
  if (author == HookAuthor::kChanged) return fail(changed_since(kept));
  if (author == HookAuthor::kOther) return found;
  GALLEY_ASSIGN(found.legacy, directory_->stat(name_of(kept)));
  found.is_current = *legacy == hook_script(kind);
  return found;
}

Result<std::vector<HookChange>> HookFiles::plan_install(
    const std::vector<const HookKind*>& kinds) const {
  std::vector<HookChange> changes;
  for (const HookKind* kind : kinds) {
    const std::string hook(kind->name);
    GALLEY_ASSIGN(const Found found, look_at(*kind));
    HookChange change{hook, HookStep::kWrite};
    if (found.hook.kind == FileKind::kAbsent) {
      // If the hook file is missing, the kept hook runs first again.
    } else if (found.author == HookAuthor::kChanged) {
      return fail(changed_since(hook));
    } else if (found.author == HookAuthor::kGalley || found.is_legacy()) {
      change.is_legacy = found.is_legacy();
      const FileStat& file = change.is_legacy ? found.legacy : found.hook;
      const bool can_run = (file.mode & kHookMode) == kHookMode;
      change.step = found.is_current && can_run ? HookStep::kNothing : HookStep::kRenew;
    } else if (found.kept.kind == FileKind::kAbsent || found.is_half_kept()) {
      change.step = HookStep::kWriteAndKeep;
    } else {
      return fail(ErrorKind::kRefused, "hook.kept_exists",
                  "the hook '" + hook + "' cannot be kept as '" + earlier_hook_name(hook) +
                      "': there is another file of that name; move one of them away first");
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

Result<std::vector<HookChange>> HookFiles::plan_uninstall(
    const std::vector<const HookKind*>& kinds) const {
  std::vector<HookChange> changes;
  for (const HookKind* kind : kinds) {
    const std::string hook(kind->name);
    GALLEY_ASSIGN(const Found found, look_at(*kind));
    HookChange change{hook, HookStep::kNothing, found.is_legacy()};
    if (found.author == HookAuthor::kChanged) return fail(changed_since(hook));
    const bool is_ours = found.author == HookAuthor::kGalley;
    const bool is_kept = found.kept.kind != FileKind::kAbsent;
    const bool is_free = is_ours || found.hook.kind == FileKind::kAbsent || found.is_half_kept();
    if (is_kept && is_free) {
      change.step = HookStep::kRestore;
    } else if (is_ours) {
      change.step = HookStep::kRemove;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

/// Gives the existing hook its second name, unless another process did that meanwhile.
Result<void> HookFiles::keep(const std::string& hook) const {
  auto kept = directory_->make_hard_link(name_of(hook), *directory_, earlier_name_of(hook));
  if (!kept && kept.error().os_error != EEXIST) return kept;
  return {};
}

/// Before the rename, the new file is complete and the old one has its second name.
Result<void> HookFiles::write(const HookChange& change) const {
  const std::string file = change.is_legacy ? legacy_name(change.hook) : change.hook;
  GALLEY_ASSIGN(const ScratchFile fresh, make_new_hook(*directory_, file));
  GALLEY_TRY(fresh.file->write_at(0, hook_script(*find_hook_kind(change.hook))));
  GALLEY_TRY(fresh.file->set_mode(kHookMode));
  GALLEY_TRY(fresh.file->sync());
  if (change.step == HookStep::kWriteAndKeep) GALLEY_TRY(keep(change.hook));
  return directory_->rename(fresh.name, *directory_, name_of(file), RenameMode::kReplace);
}

/// Removes a file that another process may remove meanwhile.
Result<void> HookFiles::remove(const RelPath& name) const {
  auto removed = directory_->remove_file(name);
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  return {};
}

Result<void> HookFiles::carry_out(const std::vector<HookChange>& changes) const {
  for (const HookChange& change : changes) {
    const RelPath hook = name_of(change.hook);
    const RelPath kept = earlier_name_of(change.hook);
    if (change.step == HookStep::kNothing) continue;
    if (change.step == HookStep::kRemove) {
      GALLEY_TRY(remove(hook));
    } else if (change.step == HookStep::kRestore) {
      const auto restored = directory_->rename(kept, *directory_, hook, RenameMode::kReplace);
      const bool is_there = restored || restored.error().kind == ErrorKind::kNotFound;
      if (!is_there) return restored;
      // rename(2) does nothing when both names are one inode.
      GALLEY_TRY(remove(kept));
    } else {
      GALLEY_TRY(write(change));
    }
  }
  return directory_->sync();
}

Result<bool> HookFiles::keeps_any() const {
  for (const HookKind& kind : hook_kinds()) {
    GALLEY_ASSIGN(const FileStat kept, directory_->stat(earlier_name_of(std::string(kind.name))));
    if (kept.kind != FileKind::kAbsent) return true;
  }
  return false;
}

namespace {

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t end = text.find('\0'); end != text.npos; end = text.find('\0')) {
    fields.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return fields;
}

/// The effective setting in the configuration. A setting on a command line applies to that command
/// only, and GitProgram sets it itself.
struct HooksPath {
  std::optional<std::string> value;
  std::string scope;
};

Result<HooksPath> hooks_path(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"config", "--show-scope", "-z", "--type=path",
                                                     "--get-all", "core.hooksPath"}));
  HooksPath found;
  const auto fields = fields_of(said.output);
  for (size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i] == "command") continue;
    found = {std::string(fields[i + 1]), std::string(fields[i])};
  }
  return found;
}

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

/// lefthook moves a hook that it did not write to NAME.old, and does not run it. Returns the files
/// of its configuration that exist.
std::vector<std::string> lefthook_files(const std::string& work_tree) {
  std::vector<std::string> files;
  for (const std::string folder : {"/", "/.config/"}) {
    for (const std::string name : {"lefthook", ".lefthook", "lefthook-local", ".lefthook-local"}) {
      for (const char* ending : {".yml", ".yaml", ".toml", ".json", ".jsonc"}) {
        const auto path = absolute_path(work_tree + folder + name + ending);
        if (path) files.push_back(*path);
      }
    }
  }
  return files;
}

/// The text of a hook or of a list of hooks; empty if it cannot be read. Never waits for a FIFO.
std::string hook_text(const std::string& path) {
  return read_own_file(path, kMaxHookScriptBytes, effective_user()).value_or("");
}

/// git follows a link, so the files are written to its target.
void follow_link(HookPlace& place, const GitLayout& layout, const std::string& work_tree) {
  const size_t slash = place.directory.rfind('/');
  const auto parent = absolute_path(place.directory.substr(0, slash + 1));
  const auto end = absolute_path(place.directory);
  if (!parent || !end || *end == *parent + place.directory.substr(slash)) return;
  place.leads_to = *end;
  const auto common = absolute_path(layout.common_directory);
  const auto top = absolute_path(work_tree);
  if (common && is_below(*end, *common)) return;
  place.is_in_work_tree = !place.is_bare && top && is_below(*end, *top);
  const bool is_of_others = place.reach == HookPlace::Reach::kRepository && !place.is_in_work_tree;
  if (is_of_others) place.reach = HookPlace::Reach::kLink;
}

}  // namespace

Result<HookPlace> hook_place(const GitProgram& git) {
  GALLEY_ASSIGN(const GitLayout layout, git.layout());
  GALLEY_ASSIGN(const HooksPath path, hooks_path(git));
  HookPlace place;
  // GitLayout finds a work tree only from inside it.
  GALLEY_ASSIGN(const std::string bare, git.run({"rev-parse", "--is-bare-repository"}));
  place.is_bare = bare.starts_with("true");
  // Relative to the folder in which git runs hooks (githooks(5)).
  std::string start = layout.git_directory;
  if (!place.is_bare) {
    GALLEY_ASSIGN(start, git.run({"rev-parse", "--show-toplevel"}));
    if (start.ends_with('\n')) start.pop_back();
    place.lefthook_files = lefthook_files(start);
  }
  place.usual_directory = layout.common_directory + "/hooks";
  if (!path.value) {
    place.directory = place.usual_directory;
    follow_link(place, layout, start);
    return place;
  }
  // git puts a slash before the name of a hook, also behind an empty value.
  const bool is_absolute = path.value->empty() || path.value->starts_with('/');
  place.directory = (is_absolute ? "" : start + "/") + *path.value;
  while (place.directory.ends_with('/')) place.directory.pop_back();
  if (place.directory.empty()) place.directory = "/";
  place.reach = path.scope == "local" || path.scope == "worktree" ? HookPlace::Reach::kRepository
                                                                  : HookPlace::Reach::kUser;
  const std::string named = normalized_path(place.directory);
  place.is_in_work_tree =
      !place.is_bare && is_below(named, start) && !is_below(named, layout.common_directory);
  place.is_of_husky = place.directory.ends_with("/.husky/_");
  follow_link(place, layout, start);
  return place;
}

Result<IdleHooks> idle_hooks(const GitProgram& git) {
  IdleHooks idle;
  GALLEY_ASSIGN(idle.place, hook_place(git));
  const std::string& here = idle.place.directory;
  const std::string& own = idle.place.usual_directory;
  const auto real = absolute_path(own);
  const auto real_here = absolute_path(here);
  const bool is_elsewhere = real && (!real_here || *real_here != *real);
  std::string lefthook;
  for (const std::string& file : idle.place.lefthook_files) lefthook += hook_text(file);
  for (const HookKind& kind : hook_kinds()) {
    const std::string name(kind.name);
    const std::string call = "galley hook run " + name;
    std::string now = hook_text(here + "/" + name);
    if (idle.place.is_of_husky) {
      if (name != "pre-commit" && name != "commit-msg" && name != "pre-push") continue;
      // Its folder `_` has the same script for each hook, which runs the file above.
      now = hook_text(here.substr(0, here.rfind('/') + 1) + name);
    }
    if (now.find(call) != now.npos) continue;
    const auto is_ours = [](const std::string& text) {
      return hook_author(text) != HookAuthor::kOther;
    };
    if (lefthook.find(call) == lefthook.npos && is_ours(hook_text(here + "/" + name + ".old"))) {
      idle.moved.push_back(name);
    } else if (is_elsewhere && is_ours(hook_text(own + "/" + name))) {
      idle.outside.push_back(name);
    }
  }
  return idle;
}

}  // namespace galley
