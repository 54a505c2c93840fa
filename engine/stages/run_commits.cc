#include "engine/stages/run_commits.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "base/file_mode.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr uint64_t kMaxRefBytes = 4096;
constexpr uint64_t kMaxRefsBytes = uint64_t{16} << 20U;
constexpr int kMaxRefDepth = 16;
constexpr size_t kMaxReadRefs = 200'000;
constexpr size_t kMaxRunRefs = 1000;

using RefNames = std::map<std::string, std::string>;  // the id of each name

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_object_id(std::string_view text) {
  constexpr size_t kSha1 = 40;
  constexpr size_t kSha256 = 64;
  return (text.size() == kSha1 || text.size() == kSha256) && is_hex(text);
}

bool is_pack_file(std::string_view name) {
  if (!name.starts_with("pack-")) return false;
  name.remove_prefix(5);
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view ending = name.substr(dot);
  return is_object_id(name.substr(0, dot)) && (ending == ".pack" || ending == ".idx");
}

/// Moves the wanted files of a folder below `objects`. Returns their number.
Result<size_t> move_files(const WritableDirectory& objects, const std::string& folder,
                          const WritableDirectory& stage,
                          const std::function<bool(std::string_view)>& is_wanted) {
  GALLEY_ASSIGN(const auto from, objects.open_writable_directory(chosen_path(folder)));
  GALLEY_ASSIGN(const auto entries, from->list());
  std::unique_ptr<WritableDirectory> to;
  size_t count = 0;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != FileKind::kRegular || !is_wanted(entry.name)) continue;
    if (to == nullptr) {
      const RelPath place = chosen_path("git/objects/" + folder);
      GALLEY_TRY(make_directories(stage, place, kPrivateDirectory));
      GALLEY_ASSIGN(to, stage.open_writable_directory(place));
    }
    const RelPath name = chosen_path(entry.name);
    GALLEY_TRY(from->rename(name, *to, name, RenameMode::kReplace));
    ++count;
  }
  return count;
}

Result<size_t> move_objects(const WritableDirectory& repository, const WritableDirectory& stage) {
  const auto objects = repository.open_writable_directory(chosen_path("objects"));
  if (!objects) return 0;  // missing, or not a folder
  GALLEY_ASSIGN(const auto entries, (*objects)->list());
  size_t count = 0;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != FileKind::kDirectory) continue;
    const std::string head = entry.name;
    const bool is_loose = head.size() == 2 && is_hex(head);
    if (!is_loose && head != "pack") continue;
    GALLEY_ASSIGN(const size_t moved,
                  move_files(**objects, head, stage, [&](std::string_view name) {
                    return is_loose ? is_object_id(head + std::string(name)) : is_pack_file(name);
                  }));
    count += moved;
  }
  return count;
}

void add_ref(const std::string& name, std::string_view id, RefNames& refs) {
  while (id.ends_with('\n')) id.remove_suffix(1);
  if (is_object_id(id) && refs.size() < kMaxReadRefs) refs[name] = id;
}

void add_file(const Directory& directory, const RelPath& file, const std::string& name,
              RefNames& refs) {
  const auto text = read_file(directory, file, kMaxRefBytes);
  if (text) add_ref(name, *text, refs);
}

void add_below(const Directory& directory, const std::string& name, int depth, RefNames& refs) {
  const auto entries = directory.list();
  if (!entries || depth > kMaxRefDepth) return;
  for (const DirectoryEntry& entry : *entries) {
    const auto path = RelPath::parse(entry.name);
    if (!path) continue;
    if (entry.kind == FileKind::kRegular) add_file(directory, *path, name + entry.name, refs);
    if (entry.kind != FileKind::kDirectory) continue;
    const auto below = directory.open_directory(*path);
    if (below) add_below(**below, name + entry.name + "/", depth + 1, refs);
  }
}

/// git-pack-refs(1): <id> SP <name>; `#` and `^` begin other lines.
void add_lines(std::string_view text, RefNames& refs) {
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    add_ref(std::string(line.substr(space + 1)), line.substr(0, space), refs);
  }
}

bool is_tag(const std::string& name) { return name.starts_with("refs/tags/"); }

bool is_ours(const std::string& name) {
  return name == "HEAD" || name.starts_with("refs/heads/") || is_tag(name) ||
         name.starts_with("refs/stash");
}

RefNames refs_of(const Directory& repository) {
  RefNames refs;
  if (const auto packed = read_file(repository, chosen_path("packed-refs"), kMaxRefsBytes)) {
    add_lines(*packed, refs);
  }
  for (const char* folder : {"refs/heads", "refs/tags"}) {
    const auto directory = repository.open_directory(chosen_path(folder));
    if (directory) add_below(**directory, std::string(folder) + "/", 0, refs);
  }
  add_file(repository, chosen_path("refs/stash"), "refs/stash", refs);
  add_file(repository, chosen_path("HEAD"), "HEAD", refs);
  const auto trees = repository.open_directory(chosen_path("worktrees"));
  const auto entries =
      trees ? (*trees)->list() : Result<std::vector<DirectoryEntry>>(trees.error());
  if (!entries) return refs;
  for (const DirectoryEntry& entry : *entries) {
    const auto path = RelPath::parse(entry.name + "/HEAD");
    if (path) add_file(**trees, *path, "HEAD", refs);
  }
  return refs;
}

/// The name under which an earlier commit is kept. A resumed run does not see the commits of the
/// run before it, so it may give the name to another one, which does not contain them.
std::string name_beside(const std::string& name, const std::string& id, const RefNames& made) {
  constexpr size_t kShortId = 12;
  const auto other = made.find(name);
  if (other == made.end() || other->second == id) return name;
  return (name == "HEAD" ? "refs/heads/HEAD" : name) + "-" + id.substr(0, kShortId);
}

Result<RefNames> kept_refs(const Directory& stage, const std::string& file) {
  RefNames refs;
  const auto text = read_file(stage, chosen_path(file), kMaxRefsBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return refs;
  if (!text) return fail(text.error());
  add_lines(*text, refs);
  return refs;
}

/// The lines of the first `most` references that may be kept.
std::string lines_of(const RefNames& refs, size_t most) {
  std::string text;
  for (const auto& [name, id] : refs) {
    if (!is_ours(name)) continue;
    if (most == 0) break;
    --most;
    text += id + " " + name + "\n";
  }
  return text;
}

}  // namespace

std::string refs_at_start(const Directory& own, const Directory& common) {
  const auto head = read_file(own, chosen_path("HEAD"), kMaxRefBytes);
  return head ? *head + lines_of(refs_of(common), kMaxReadRefs) : std::string();
}

std::optional<RunRef> switched_head(const Directory& layer, const Directory& own) {
  const auto text = read_file(layer, chosen_path("HEAD"), kMaxRefBytes);
  const auto before = read_file(own, chosen_path("HEAD"), kMaxRefBytes);
  if (!text || !before || *text == *before) return std::nullopt;
  constexpr std::string_view kBranch = "ref: refs/heads/";
  std::string_view head = *text;
  while (head.ends_with('\n')) head.remove_suffix(1);
  if (!head.starts_with(kBranch)) {
    if (!is_object_id(head)) return std::nullopt;
    return RunRef{"HEAD", std::string(head)};
  }
  RunRef found{std::string(head.substr(kBranch.find("refs"))), ""};
  const RefNames refs = refs_of(layer);
  if (const auto set = refs.find(found.name); set != refs.end()) found.id = set->second;
  return found;
}

Result<KeptRefs> keep_run_commits(const WritableDirectory& repository,
                                  const WritableDirectory& stage, std::string_view start) {
  RefNames made = refs_of(repository);
  RefNames at_start;
  add_lines(start, at_start);
  // git pack-refs writes the references that the run did not move, too.
  std::erase_if(made, [&](const auto& ref) {
    const auto was = at_start.find(ref.first);
    return was != at_start.end() && was->second == ref.second;
  });
  GALLEY_ASSIGN(const size_t moved, move_objects(repository, stage));
  GALLEY_ASSIGN(const RefNames refs, kept_refs(stage, "git/refs"));
  GALLEY_ASSIGN(RefNames before, kept_refs(stage, "git/before"));
  // Objects without refs are those of a process that was killed right here. A lightweight tag has
  // no object.
  GALLEY_ASSIGN(const FileStat objects, stage.stat(chosen_path("git/objects")));
  const bool has_tag = std::ranges::any_of(made, [](const auto& ref) { return is_tag(ref.first); });
  if (moved == 0 && !has_tag && refs.empty() && objects.kind == FileKind::kAbsent) {
    return KeptRefs();
  }
  GALLEY_TRY(make_directories(stage, chosen_path("git/objects"), kPrivateDirectory));
  for (const auto& [name, id] : made) {
    before.erase(name);
    if (const auto was = at_start.find(name); was != at_start.end()) before.insert(*was);
  }
  for (const auto& [name, id] : refs) made.emplace(name_beside(name, id, made), id);
  const std::string text = lines_of(made, kMaxRunRefs);
  GALLEY_TRY(replace_file(stage, "git/before", lines_of(before, kMaxRunRefs)));
  GALLEY_TRY(replace_file(stage, "git/refs", text));
  KeptRefs kept{static_cast<size_t>(std::count(text.begin(), text.end(), '\n'))};
  const auto all =
      std::count_if(made.begin(), made.end(), [](const auto& ref) { return is_ours(ref.first); });
  kept.left_out = static_cast<size_t>(all) - kept.count;
  return kept;
}

namespace {

/// The name of a submodule may have several parts.
void add_submodules(const Directory& modules, const std::string& above, int depth,
                    std::vector<std::string>& names) {
  const auto entries = modules.list();
  if (!entries || depth > kMaxRefDepth) return;
  for (const DirectoryEntry& entry : *entries) {
    const auto path = RelPath::parse(entry.name);
    const auto one = path ? modules.open_directory(*path) : fail(path.error());
    if (!one) continue;
    const auto objects = (*one)->stat(chosen_path("objects"));
    if (objects && objects->kind == FileKind::kDirectory) {
      names.push_back(above + entry.name);
    } else {
      add_submodules(**one, above + entry.name + "/", depth + 1, names);
    }
  }
}

}  // namespace

std::vector<std::string> changed_submodules(const Directory& repository) {
  std::vector<std::string> names;
  const auto modules = repository.open_directory(chosen_path("modules"));
  if (modules) add_submodules(**modules, "", 0, names);
  return names;
}

Result<std::vector<RunRef>> run_refs(const Directory& stage) {
  GALLEY_ASSIGN(const RefNames kept, kept_refs(stage, "git/refs"));
  GALLEY_ASSIGN(RefNames before, kept_refs(stage, "git/before"));
  std::vector<RunRef> refs;
  for (const auto& [name, id] : kept) refs.push_back({name, id, before[name]});
  return refs;
}

}  // namespace galley
