#include "engine/git_hooks/hook_files.h"

#include <algorithm>

namespace galley {
namespace {

constexpr uint32_t kHookMode = 0755;

RelPath name_of(const std::string& hook) { return RelPath::parse(hook).value(); }

RelPath kept_name_of(const std::string& hook) { return name_of(kept_hook_name(hook)); }

/// Of the file that is made whole before it takes the hook's name.
RelPath new_name_of(const std::string& hook) { return name_of(hook + ".galley-new"); }

bool is_same_object(const FileStat& a, const FileStat& b) {
  return a.kind != FileKind::kAbsent && a.inode == b.inode && a.device == b.device;
}

Error changed_since(const std::string& hook) {
  return {ErrorKind::kRefused, "hook.changed",
          "the hook '" + hook +
              "' was written by Galley and changed since; save what was added elsewhere and remove "
              "the file, then say this again",
          "", 0};
}

}  // namespace

/// What is there of one hook.
struct HookFiles::Found {
  FileStat hook;
  FileStat kept;
  HookAuthor author = HookAuthor::kOther;
  bool is_current = false;  ///< the text that this version writes
  /// An installation was cut short after it had given the hook its second name.
  [[nodiscard]] bool is_half_kept() const { return is_same_object(hook, kept); }
};

Result<HookFiles::Found> HookFiles::look_at(const HookKind& kind) const {
  const std::string hook(kind.name);
  Found found;
  GALLEY_ASSIGN(found.hook, directory_->stat(name_of(hook)));
  GALLEY_ASSIGN(found.kept, directory_->stat(kept_name_of(hook)));
  const FileKind what = found.hook.kind;
  if (what == FileKind::kAbsent || what == FileKind::kSymlink) return found;
  if (what != FileKind::kRegular) {
    return fail(ErrorKind::kRefused, "hook.no_file",
                "the hook '" + hook + "' is no file, so git cannot run it; move it away first");
  }
  // One that is larger or cannot be read is not ours.
  if (found.hook.size > kMaxHookScriptBytes) return found;
  const auto text = read_file(*directory_, name_of(hook), kMaxHookScriptBytes);
  if (!text) return found;
  found.author = hook_author(*text);
  found.is_current = *text == hook_script(kind);
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
      // A kept one without a hook runs first again.
    } else if (found.author == HookAuthor::kChanged) {
      return fail(changed_since(hook));
    } else if (found.author == HookAuthor::kGalley) {
      const bool can_run = (found.hook.mode & kHookMode) == kHookMode;
      change.step = found.is_current && can_run ? HookStep::kNothing : HookStep::kRenew;
    } else if (found.kept.kind == FileKind::kAbsent || found.is_half_kept()) {
      change.step = HookStep::kWriteAndKeep;
    } else {
      return fail(ErrorKind::kRefused, "hook.kept_exists",
                  "the hook '" + hook + "' cannot be kept as '" + kept_hook_name(hook) +
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
    HookChange change{hook, HookStep::kNothing};
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

/// The new file is whole, and the old one has its second name, before the rename.
Result<void> HookFiles::write(const HookChange& change) const {
  const RelPath fresh = new_name_of(change.hook);
  GALLEY_TRY(remove_tree(*directory_, fresh));
  {
    GALLEY_ASSIGN(const auto file,
                  directory_->open_writable_file(fresh, OpenMode::kCreateNew, kHookMode));
    GALLEY_TRY(file->write_at(0, hook_script(*find_hook_kind(change.hook))));
    GALLEY_TRY(file->set_mode(kHookMode));
    GALLEY_TRY(file->sync());
  }
  if (change.step == HookStep::kWriteAndKeep) {
    const auto kept = directory_->stat(kept_name_of(change.hook));
    const bool is_kept = kept && kept->kind != FileKind::kAbsent;
    if (!is_kept) {
      GALLEY_TRY(
          directory_->make_hard_link(name_of(change.hook), *directory_, kept_name_of(change.hook)));
    }
  }
  return directory_->rename(fresh, *directory_, name_of(change.hook), RenameMode::kReplace);
}

Result<void> HookFiles::carry_out(const std::vector<HookChange>& changes) const {
  for (const HookChange& change : changes) {
    const RelPath hook = name_of(change.hook);
    const RelPath kept = kept_name_of(change.hook);
    if (change.step == HookStep::kNothing) continue;
    if (change.step == HookStep::kRemove) {
      GALLEY_TRY(directory_->remove_file(hook));
    } else if (change.step == HookStep::kRestore) {
      GALLEY_TRY(directory_->rename(kept, *directory_, hook, RenameMode::kReplace));
      // rename(2) leaves both names of one inode as they are.
      GALLEY_ASSIGN(const FileStat left, directory_->stat(kept));
      if (left.kind != FileKind::kAbsent) GALLEY_TRY(directory_->remove_file(kept));
    } else {
      GALLEY_TRY(write(change));
    }
  }
  return directory_->sync();
}

Result<bool> HookFiles::keeps_any() const {
  for (const HookKind& kind : hook_kinds()) {
    GALLEY_ASSIGN(const FileStat kept, directory_->stat(kept_name_of(std::string(kind.name))));
    if (kept.kind != FileKind::kAbsent) return true;
  }
  return false;
}

}  // namespace galley
