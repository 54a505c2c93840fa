#include "engine/validators/visible_inputs.h"

#include <fmt/core.h>

#include <vector>

namespace galley {
namespace {

constexpr uint64_t kMaxHashedFileBytes = uint64_t{256} << 10U;
constexpr uint64_t kMaxHashedBytes = uint64_t{32} << 20U;
constexpr int64_t kRacyNs = 2'000'000'000;  // a younger file may change again within one timestamp

class TreeHasher {
 public:
  TreeHasher(const ValidatorContext& context, const VisibleInputs& visible)
      : context_(context), visible_(visible) {}

  Result<ContentId> run() {
    std::vector<RelPath> todo = {RelPath::root()};
    while (!todo.empty()) {
      const RelPath directory = todo.back();
      todo.pop_back();
      GALLEY_TRY(visit(directory, todo));
    }
    return hasher_.finish();
  }

 private:
  Result<void> visit(const RelPath& directory, std::vector<RelPath>& todo) {
    if (context_.should_stop()) {
      return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
    }
    GALLEY_ASSIGN(const auto entries, context_.tree.list(directory));
    for (const DirectoryEntry& entry : entries) {
      const auto name = RelPath::parse(entry.name);
      if (!name) continue;  // a name that change sets and findings cannot contain
      GALLEY_ASSIGN(const RelPath path, directory.join(*name));
      const bool is_directory = entry.kind == FileKind::kDirectory;
      if (visible_.ignored.selects(path, is_directory)) continue;
      if (is_directory) {
        todo.push_back(path);
      } else if (visible_.inputs.is_empty() || visible_.inputs.selects(path)) {
        GALLEY_TRY(add(path, entry.kind));
      }
    }
    return {};
  }

  Result<void> add(const RelPath& path, FileKind kind) {
    if (++count_ > kMaxInputs) {
      return fail(ErrorKind::kQuota, "limit.validator_inputs",
                  fmt::format("it can see more than {} files; name its `inputs`", kMaxInputs));
    }
    hasher_.update(fmt::format("{}:{} {} ", path.str().size(), path.str(), static_cast<int>(kind)));
    if (const Change* change = context_.tree.change(path)) {
      hasher_.update(fmt::format("{:o} ", change->after.mode));
      add_id(change->after.content);
      return {};
    }
    if (kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(const std::string target, context_.tree.read_link(path));
      add_id(ContentId::of(target));
      return {};
    }
    return add_unchanged(path);
  }

  Result<void> add_unchanged(const RelPath& path) {
    GALLEY_ASSIGN(const FileStat stat, context_.tree.workspace().stat(path));
    hasher_.update(fmt::format("{:o} ", stat.mode & 0777U));
    // In such a tree, the stamp is derived from the content id.
    if (!context_.tree.base_name().empty()) {
      hasher_.update(fmt::format("n{} {} {} ", stat.size, stat.inode, stat.mtime_ns));
      return {};
    }
    const bool is_young = context_.clock.wall_ns() - stat.ctime_ns < kRacyNs;
    const bool is_small =
        stat.size <= kMaxHashedFileBytes && hashed_bytes_ + stat.size <= kMaxHashedBytes;
    if (stat.kind == FileKind::kRegular && (is_small || is_young)) {
      GALLEY_ASSIGN(const Content content, context_.tree.read(path));
      hashed_bytes_ += is_small ? content->size() : 0;
      add_id(ContentId::of(*content));
      return {};
    }
    hasher_.update(
        fmt::format("s{} {} {} {} ", stat.size, stat.inode, stat.mtime_ns, stat.ctime_ns));
    return {};
  }

  void add_id(const ContentId& id) {
    const auto& bytes = id.bytes();
    hasher_.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const ValidatorContext& context_;
  const VisibleInputs& visible_;
  ContentHasher hasher_;
  size_t count_ = 0;
  uint64_t hashed_bytes_ = 0;
};

}  // namespace

Result<ContentId> hash_visible(const ValidatorContext& context, const VisibleInputs& visible) {
  const std::string& base = context.tree.base_name();
  if (!base.empty() && visible.inputs.is_empty()) {
    return ContentId::of("tree " + base + " " + context.tree.proposal().id().hex());
  }
  return TreeHasher(context, visible).run();
}

}  // namespace galley
