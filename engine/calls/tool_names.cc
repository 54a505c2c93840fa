#include "engine/calls/tool_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "staging/overlay/change_set.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

/// The standard tools with one effect.
struct Row {
  ToolEffect effect;
  std::array<std::string_view, 12> tools;
};

// apply_patch can create, change, move and remove files. A tool that writes files can change them.
constexpr std::array<Row, 10> kRows = {{
    {ToolEffect::kEdit,
     {"Edit", "MultiEdit", "replace", "edit_file", "Write", "write_file", "apply_patch",
      "str_replace_based_edit_tool", "str_replace_editor", "fs.write", "filesystem"}},
    {ToolEffect::kWrite,
     {"Write", "write_file", "apply_patch", "str_replace_based_edit_tool", "str_replace_editor",
      "fs.write", "filesystem"}},
    {ToolEffect::kDelete, {"Delete", "apply_patch", "fs.delete", "filesystem"}},
    {ToolEffect::kMove, {"Move", "move_file", "apply_patch", "fs.move"}},
    {ToolEffect::kCopy,
     {"Copy", "Write", "write_file", "apply_patch", "str_replace_based_edit_tool",
      "str_replace_editor", "fs.copy", "fs.write", "filesystem"}},
    {ToolEffect::kChmod, {"Chmod", "fs.chmod"}},
    {ToolEffect::kChown, {"fs.chown"}},
    {ToolEffect::kSymlink, {"Symlink", "fs.symlink"}},
    {ToolEffect::kMakeDirectory, {"MakeDirectory", "create_directory", "fs.mkdir"}},
    {ToolEffect::kRun, {"Bash", "run_command", "run_shell_command"}},
}};

void add_tools(ToolEffect effect, std::vector<std::string>& names) {
  for (const Row& row : kRows) {
    if (row.effect != effect) continue;
    for (const std::string_view name : row.tools) {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
        names.emplace_back(name);
      }
    }
  }
}

bool has_ancestor(const RelPath& path, const RelPath& directory) {
  const std::string& text = path.str();
  const std::string& start = directory.str();
  return text.size() > start.size() && text.starts_with(start) && text[start.size()] == '/';
}

/// Whether anything except directories was created or removed in the directory as well.
bool goes_with_files(const RelPath& directory, const Overlay::Entries& now, bool is_made) {
  for (auto at = now.upper_bound(directory); at != now.end() && has_ancestor(at->first, directory);
       ++at) {
    const Node& node = is_made ? at->second.now : at->second.before;
    const Node& other = is_made ? at->second.before : at->second.now;
    if (node.kind != FileKind::kDirectory && node.kind != FileKind::kAbsent &&
        other.kind == FileKind::kAbsent) {
      return true;
    }
  }
  return false;
}

class EffectCollector {
 public:
  EffectCollector(const Overlay::Entries& before, const Overlay::Entries& now)
      : before_(before), now_(now) {}

  void add(const RelPath& path) {
    const auto at = now_.find(path);
    const auto was = before_.find(path);
    if (at == now_.end()) return put(path, ToolEffect::kEdit);  // restored to the version on disk
    const Overlay::Entry& entry = at->second;
    const Node& old_node = was == before_.end() ? entry.before : was->second.now;
    const Node& node = entry.now;
    if (node.kind == FileKind::kDirectory || old_node.kind == FileKind::kDirectory) {
      add_directory(path, old_node, node);
    }
    if (node.kind == FileKind::kSymlink) return put(path, ToolEffect::kSymlink);
    if (node.kind == FileKind::kDirectory) return;
    if (node.kind == FileKind::kAbsent) {
      if (old_node.kind == FileKind::kDirectory) return;
      return put(path, is_moved_away(path) ? ToolEffect::kMove : ToolEffect::kDelete);
    }
    if (old_node.kind != FileKind::kRegular) {
      return put(path, entry.renamed_from  ? ToolEffect::kMove
                       : entry.copied_from ? ToolEffect::kCopy
                                           : ToolEffect::kWrite);
    }
    if (node.content != old_node.content) put(path, ToolEffect::kEdit);
    if (node.mode != old_node.mode) put(path, ToolEffect::kChmod);
    if (changes_owner(old_node, node)) put(path, ToolEffect::kChown);
  }

  std::vector<StagedEffect> take() { return std::move(effects_); }

 private:
  /// Scans the staged entries once, and only if something was deleted.
  bool is_moved_away(const RelPath& path) {
    if (!moved_away_) {
      moved_away_.emplace();
      for (const auto& [_, entry] : now_) {
        if (entry.renamed_from) moved_away_->insert(*entry.renamed_from);
      }
    }
    return moved_away_->contains(path);
  }

  void put(const RelPath& path, ToolEffect effect) { effects_.push_back({path, effect}); }

  void add_directory(const RelPath& path, const Node& old_node, const Node& node) {
    if (node.kind == old_node.kind) {
      if (changes_owner(old_node, node)) put(path, ToolEffect::kChown);
      if (node.mode != old_node.mode) put(path, ToolEffect::kChmod);
      return;
    }
    const bool is_made = node.kind == FileKind::kDirectory;
    if (goes_with_files(path, now_, is_made)) return;
    put(path, is_made ? ToolEffect::kMakeDirectory : ToolEffect::kDelete);
  }

  const Overlay::Entries& before_;
  const Overlay::Entries& now_;
  std::optional<std::set<RelPath>> moved_away_;
  std::vector<StagedEffect> effects_;
};

}  // namespace

std::vector<std::string> tools_with_effect(ToolEffect effect) {
  std::vector<std::string> names;
  if (effect != ToolEffect::kChange) {
    add_tools(effect, names);
    return names;
  }
  for (const Row& row : kRows) {
    if (row.effect != ToolEffect::kRun) add_tools(row.effect, names);
  }
  return names;
}

std::vector<StagedEffect> staged_effects(const Overlay::Entries& before,
                                         const Overlay::Entries& now) {
  EffectCollector effects(before, now);
  for (const RelPath& path : restaged_paths(before, now)) effects.add(path);
  return effects.take();
}

}  // namespace galley
