#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/text/lines.h"
#include "tools/json_input.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxReadBytes = size_t{16} << 20U;  // of one answer
constexpr size_t kMaxListed = 10'000;                // entries of one answer
constexpr size_t kMaxTreeDepth = 50;  // each level takes two levels of JSON, which are limited
constexpr size_t kNumberWidth = 6;

/// Puts a name into JSON. A name that is not UTF-8 is added in base64 too.
void put_name(ordered_json& out, const char* key, const std::string& name) {
  out[key] = name;
  if (!is_utf8(name)) out[std::string(key) + "Base64"] = base64(name);
}

std::string numbered(const Lines& lines, size_t begin, size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    const std::string number = std::to_string(i + 1);
    if (number.size() < kNumberWidth) out.append(kNumberWidth - number.size(), ' ');
    out.append(number).append("\t").append(lines[i]);
  }
  return out;
}

struct Window {
  size_t begin = 0;
  size_t end = 0;
};

Window window_of(const ReadFile& read, size_t lines) {
  if (read.last_lines) return {lines - std::min<size_t>(lines, *read.last_lines), lines};
  const size_t begin = std::min<size_t>(lines, read.first_line - 1);
  const size_t count = std::min<uint64_t>(lines - begin, read.line_count.value_or(lines));
  return {begin, begin + count};
}

/// Adds size and mode of an entry, unless its name is not a path or the caller may not read it.
Result<void> put_details(ordered_json& out, const RelPath& directory, const DirectoryEntry& entry,
                         ToolContext& context) {
  const auto name = RelPath::parse(entry.name);
  const auto path = name ? directory.join(*name) : name;
  if (!path || (context.may_read && !context.may_read(*path))) return {};
  GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(*path));
  out["size"] = node.size;
  out["mode"] = octal_mode(node.mode);
  return {};
}

class TreeBuilder {
 public:
  explicit TreeBuilder(ToolContext& context) : context_(context) {}

  Result<ordered_json> children(const RelPath& directory, size_t depth = 1) {
    if (context_.is_over()) return fail(context_.interruption("name a smaller directory"));
    const auto entries = context_.overlay.list(directory);
    ordered_json out = ordered_json::array();
    if (!entries && depth > 1 && note_unreadable(entries.error(), directory, context_)) return out;
    if (!entries) return fail(entries.error());
    for (const DirectoryEntry& entry : *entries) {
      if (++count_ > kMaxListed) {
        return fail(ErrorKind::kQuota, "limit.listed",
                    "the tree has more than " + std::to_string(kMaxListed) +
                        " entries; name a smaller directory, or use Glob");
      }
      ordered_json item;
      put_name(item, "name", entry.name);
      item["type"] = kind_name(entry.kind);
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? directory.join(*name) : name;  // an unusable name is a leaf
      const bool has_children = entry.kind == FileKind::kDirectory && path;
      if (has_children && depth < kMaxTreeDepth) {
        GALLEY_ASSIGN(item["children"], children(*path, depth + 1));
      } else if (has_children) {
        item["truncated"] = true;
      }
      out.push_back(std::move(item));
    }
    return out;
  }

 private:
  ToolContext& context_;
  size_t count_ = 0;
};

}  // namespace

Result<void> check_read_size(const RelPath& path, const Node& node) {
  if (node.kind != FileKind::kRegular || node.size <= kMaxDiffedBytes) return {};
  return fail(ErrorKind::kQuota, "limit.read_bytes",
              "'" + path.str() + "' has " + std::to_string(node.size) + " bytes, more than the " +
                  std::to_string(kMaxDiffedBytes) +
                  " of a file that is read here; let a command read or change a part of it",
              path.str());
}

Performed perform_read(const ReadFile& read, ToolContext& context) {
  // An agent that sees a part of a save would write over the rest of it.
  const auto shows_all = [](std::string_view text) {
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    return text.size() + (lines * (kNumberWidth + 1)) <= kMaxUncutBytes;
  };
  const bool is_whole = !read.last_lines && !read.line_count && read.first_line <= 1;
  if (is_whole) GALLEY_TRY(context.overlay.take_save(read.path, shows_all));
  GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(read.path));
  if (read.takes_directory && node.kind == FileKind::kDirectory) {
    return perform_list({read.path}, context);
  }
  GALLEY_TRY(check_read_size(read.path, node));
  GALLEY_ASSIGN(const Content content, context.overlay.read(read.path));
  const Lines lines(*content);
  const Window window = window_of(read, lines.size());
  std::string_view shown = lines.span(window.begin, window.end);
  if (shown.size() > kMaxReadBytes) {
    return fail(ErrorKind::kQuota, "limit.read_bytes",
                "'" + read.path.str() + "' has " + std::to_string(shown.size()) +
                    " bytes there, more than the " + std::to_string(kMaxReadBytes) +
                    " of one answer; ask for fewer lines (offset and limit)",
                read.path.str());
  }
  ordered_json data = object_with_room(6);
  if (is_utf8(shown)) {
    data["content"] =
        read.numbered ? numbered(lines, window.begin, window.end) : std::string(shown);
  } else {
    data["content"] = base64(shown);
    data["encoding"] = "base64";
  }
  data["filePath"] = read.path.str();
  data["startLine"] = lines.size() == 0 ? 0 : window.begin + 1;
  data["numLines"] = window.end - window.begin;
  data["totalLines"] = lines.size();
  return data;
}

Performed perform_list(const ListDirectory& list, ToolContext& context) {
  ordered_json data;
  if (list.is_tree) {
    GALLEY_ASSIGN(data["tree"], TreeBuilder(context).children(list.path));
    return data;
  }
  GALLEY_ASSIGN(const auto entries, context.overlay.list(list.path));
  data["path"] = list.path.is_root() ? "." : list.path.str();
  ordered_json& out = data["entries"] = ordered_json::array();
  for (const DirectoryEntry& entry : entries) {
    if (out.size() == kMaxListed) {
      data["truncated"] = true;
      break;
    }
    ordered_json item;
    put_name(item, "name", entry.name);
    item["type"] = kind_name(entry.kind);
    if (list.with_details) GALLEY_TRY(put_details(item, list.path, entry, context));
    out.push_back(std::move(item));
  }
  data["numEntries"] = entries.size();
  return data;
}

Performed perform_find(const FindFiles& find, ToolContext& context) {
  GALLEY_ASSIGN(const PathFilter wanted, PathFilter::parse(find.pattern));
  std::vector<PathFilter> excluded;
  for (const std::string& pattern : find.excluded) {
    GALLEY_ASSIGN(PathFilter filter, PathFilter::parse(pattern));
    excluded.push_back(std::move(filter));
  }
  const size_t skip = find.under.is_root() ? 0 : find.under.str().size() + 1;
  ordered_json names = ordered_json::array();
  bool is_cut = false;
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    GALLEY_ASSIGN(const RelPath below, RelPath::parse(path.str().substr(skip)));
    const bool is_directory = kind == FileKind::kDirectory;
    for (const PathFilter& filter : excluded) {
      if (filter.selects(below, is_directory)) return WalkStep::kSkipDirectory;
    }
    if (is_directory || !wanted.selects(below)) return WalkStep::kGoOn;
    if (names.size() == kMaxListed) {
      is_cut = true;
      return WalkStep::kStop;
    }
    names.push_back(path.str());
    return WalkStep::kGoOn;
  };
  GALLEY_TRY(walk(context, find.under, find.include_ignored, visit));
  ordered_json data;
  data["numFiles"] = names.size();
  data["filenames"] = std::move(names);
  data["truncated"] = is_cut;
  return data;
}

namespace {

tl::unexpected<Error> nothing_at(const RelPath& path) {
  return fail(ErrorKind::kNotFound, "path.not_found", "there is nothing at '" + path.str() + "'",
              path.str());
}

/// The disk's stat of a path that the transaction did not make or replace. Other paths return
/// nullopt: they get times and an owner only at the commit.
Result<std::optional<FileStat>> stat_of(const RelPath& path, const Node& node,
                                        ToolContext& context) {
  const auto entry = context.overlay.entries().find(path);
  const bool is_changed = entry != context.overlay.entries().end() &&
                          (entry->second.before.kind != entry->second.now.kind ||
                           entry->second.before.content != entry->second.now.content);
  if (is_changed) return std::optional<FileStat>();
  GALLEY_ASSIGN(const FileStat stat, context.overlay.workspace().stat(path));
  if (stat.kind != node.kind) return std::optional<FileStat>();
  return std::optional<FileStat>(stat);
}

/// Returns null when the file system does not store this time.
ordered_json time_text(int64_t time_ns) {
  return time_ns == 0 ? ordered_json() : ordered_json(rfc3339_utc(time_ns));
}

void put_stat(const std::optional<FileStat>& stat, const std::optional<Node::Owner>& staged,
              ordered_json& data) {
  data["modified"] = stat ? time_text(stat->mtime_ns) : ordered_json();
  data["changed"] = stat ? time_text(stat->ctime_ns) : ordered_json();
  data["created"] = stat ? time_text(stat->birth_ns) : ordered_json();
  data["uid"] = staged ? ordered_json(staged->uid) : stat ? ordered_json(stat->uid) : nullptr;
  data["gid"] = staged ? ordered_json(staged->gid) : stat ? ordered_json(stat->gid) : nullptr;
}

}  // namespace

std::string octal_mode(uint32_t mode) {
  constexpr uint32_t kDigitBits = 3;
  std::string text = "0";
  for (const uint32_t shift : {2 * kDigitBits, kDigitBits, 0U}) {
    text += static_cast<char>('0' + (mode >> shift & 7U));
  }
  return text;
}

Performed perform_info(const FileInfo& info, ToolContext& context) {
  GALLEY_ASSIGN(const Node node, context.overlay.node(info.path));
  if (node.kind == FileKind::kAbsent) return nothing_at(info.path);
  ordered_json data = object_with_room(11);
  data["path"] = info.path.is_root() ? "." : info.path.str();
  data["type"] = kind_name(node.kind);
  data["size"] = node.size;
  data["mode"] = octal_mode(node.mode);
  if (node.kind == FileKind::kRegular) data["sha256"] = node.content.hex();
  if (node.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(data["target"], context.overlay.read_link(info.path));
  }
  if (!info.with_stat) return data;
  GALLEY_ASSIGN(const auto stat, stat_of(info.path, node, context));
  put_stat(stat, node.owner, data);
  return data;
}

Performed perform_usage(const MeasureUsage& usage, ToolContext& context) {
  GALLEY_ASSIGN(const Node top, context.overlay.node_without_content(usage.path));
  if (top.kind == FileKind::kAbsent) return nothing_at(usage.path);
  uint64_t bytes = top.kind == FileKind::kDirectory ? 0 : top.size;
  uint64_t files = top.kind == FileKind::kDirectory ? 0 : 1;
  uint64_t directories = 0;
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    if (kind == FileKind::kDirectory) {
      ++directories;
      return WalkStep::kGoOn;
    }
    if (kind != FileKind::kRegular && kind != FileKind::kSymlink) return WalkStep::kGoOn;
    GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(path));
    bytes += node.size;
    ++files;
    return WalkStep::kGoOn;
  };
  if (top.kind == FileKind::kDirectory) GALLEY_TRY(walk(context, usage.path, true, visit));
  ordered_json data;
  data["path"] = usage.path.is_root() ? "." : usage.path.str();
  data["bytes"] = bytes;
  data["files"] = files;
  data["directories"] = directories;
  return data;
}

}  // namespace galley
