#include "staging/overlay/staged_step.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/hash.h"
#include "staging/overlay/node_text.h"
#include "staging/printing/git_diff.h"
#include "staging/printing/rename.h"

namespace galley {
namespace {

constexpr std::string_view kCallsFirstLine = "galley calls 2\n";
constexpr std::string_view kCall = "call ";
constexpr std::string_view kCallsLastLine = "end ";
constexpr size_t kPathFields = 3;
/// Maximum number of lines. A file has up to twice as many paths as are kept (StoredStage), in the
/// worst case each in its own block.
constexpr size_t kMaxLines = 3 * 3 * kMaxStepPaths;

/// Replaces tabs and newlines, which a valid id or tool name does not have.
std::string one_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

tl::unexpected<Error> damaged_calls(size_t line) {
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "the file 'calls' of this transaction is damaged at line " + std::to_string(line) +
                  ": what single calls changed is no longer known");
}

bool read_call(std::string_view line, std::vector<StagedStep>& steps) {
  const auto fields = split_fields(line, '\t');
  if (fields.size() != 2) return false;
  steps.push_back({std::string(fields[0].substr(kCall.size())), std::string(fields[1]), {}});
  return true;
}

bool read_change(std::string_view line, std::vector<StagedStep>& steps) {
  const auto fields = split_fields(line, '\t');
  if (steps.empty() || fields.size() != kPathFields) return false;
  auto path = read_path_name(fields[0]);
  if (!path || path->is_protected()) return false;
  Change change;
  change.path = *std::move(path);
  if (!read_node(fields[1], change.before) || !read_node(fields[2], change.after)) return false;
  steps.back().changes.push_back(std::move(change));
  return true;
}

/// The line that closes a block.
std::string last_line(std::string_view line_before, std::string_view block, size_t paths) {
  const std::string count = std::to_string(paths);
  ContentHasher hasher;
  hasher.update(line_before);
  hasher.update(block);
  hasher.update(count);
  return std::string(kCallsLastLine) + count + " " + hasher.finish().hex() + "\n";
}

/// If there are more pairs than the square of this number, only equal contents are paired: a
/// command may move a whole tree.
constexpr size_t kMaxSimilarRenames = 200;

RenameEnd end_of(const RelPath& path, const Node& node) {
  return {path.str(), node.kind == FileKind::kSymlink ? git_mode::kSymlink : git_mode::kRegular,
          node.size, node.content};
}

/// The paths that disappeared and appeared since `before`.
struct Ends {
  std::vector<RenameEnd> gone;
  std::vector<RenameEnd> made;
  /// The path in the workspace of each of `gone`; nothing for a file that was staged as new.
  std::vector<std::optional<RelPath>> origins;
  std::vector<RelPath> targets;
  uint64_t bytes = 0;
};

Ends ends_since(const Overlay::Entries& before, const Overlay::Entries& after) {
  Ends ends;
  const auto add = [&ends](const RelPath& path, const Overlay::Entry* known,
                           const Overlay::Entry* now) {
    if (now == nullptr) return;
    const Overlay::Entry& entry = *now;
    const Node& then = known == nullptr ? entry.before : known->now;
    const bool is_gone = is_file_or_link(then) && entry.now.kind == FileKind::kAbsent;
    const bool is_made = then.kind == FileKind::kAbsent && is_file_or_link(entry.now) &&
                         entry.before.kind == FileKind::kAbsent;
    if (is_gone) {
      std::optional<RelPath> origin;
      if (known != nullptr) origin = known->renamed_from;
      if (!origin && is_file_or_link(entry.before)) origin = path;
      ends.gone.push_back(end_of(path, then));
      ends.origins.push_back(std::move(origin));
    } else if (is_made) {
      ends.made.push_back(end_of(path, entry.now));
      ends.targets.push_back(path);
    } else {
      return;
    }
    ends.bytes += is_gone ? then.size : entry.now.size;
  };
  Overlay::Entries::differences(before, after, add);
  return ends;
}

}  // namespace

bool StagedStep::concerns(const RelPath& path) const {
  return std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
    return change.path == path || change.path.is_below(path) || path.is_below(change.path);
  });
}

ChangeSet StepScope::finish() {
  Overlay* const overlay = std::exchange(overlay_, nullptr);
  return overlay != nullptr ? overlay->end_step(begun_) : ChangeSet();
}

void bound_steps(std::vector<StagedStep>& steps) {
  size_t paths = 0;
  size_t kept = 0;
  while (kept < steps.size()) {
    paths += std::max<size_t>(1, steps[steps.size() - 1 - kept].changes.size());
    if (paths > kMaxStepPaths) break;
    ++kept;
  }
  steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(kept));
}

std::string encode_steps(const std::vector<StagedStep>& steps) {
  return std::string(kCallsFirstLine) + encode_more_steps({std::string(kCallsFirstLine), 0}, steps);
}

std::string encode_more_steps(StepsTail tail, const std::vector<StagedStep>& steps) {
  std::string out;
  for (const StagedStep& step : steps) {
    std::string block = std::string(kCall) + one_field(step.execution_id);
    block.append("\t").append(one_field(step.tool)).push_back('\n');
    for (const Change& change : step.changes) {
      append_name(block, change.path.str());
      block.push_back('\t');
      append_node(block, change.before);
      block.push_back('\t');
      append_node(block, change.after);
      block.push_back('\n');
    }
    tail.paths += step.changes.size();
    tail.line = last_line(tail.line, block, tail.paths);
    out.append(block).append(tail.line);
  }
  return out;
}

std::optional<StepsTail> tail_of_steps(std::string_view text) {
  if (!text.ends_with('\n')) return {};
  const size_t before = text.substr(0, text.size() - 1).rfind('\n');
  const std::string_view line = before == std::string_view::npos ? text : text.substr(before + 1);
  if (line == kCallsFirstLine) return StepsTail{std::string(line), 0};
  if (!line.starts_with(kCallsLastLine)) return {};
  StepsTail tail{std::string(line), 0};
  const char* const end = line.data() + line.size();
  const auto read = std::from_chars(line.data() + kCallsLastLine.size(), end, tail.paths);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ' ') return {};
  return tail;
}

Result<std::vector<StagedStep>> decode_steps(std::string_view text) {
  if (!text.starts_with(kCallsFirstLine)) return damaged_calls(1);
  std::vector<StagedStep> steps;
  std::string_view last = kCallsFirstLine;  // the last line that closed a block
  size_t block = kCallsFirstLine.size();    // where the block begins
  size_t paths = 0;
  size_t line_number = 2;
  for (size_t start = block; start < text.size(); ++line_number) {
    const size_t end = text.find('\n', start);
    if (end == std::string_view::npos || line_number > kMaxLines) return damaged_calls(line_number);
    const std::string_view line = text.substr(start, end - start);
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    if (line.starts_with(kCallsLastLine) && tabs == 0) {
      const std::string wanted = last_line(last, text.substr(block, start - block), paths);
      if (start == block || text.substr(start, end + 1 - start) != wanted) break;
      last = text.substr(start, end + 1 - start);
      block = end + 1;
    } else if (line.starts_with(kCall) && tabs == 1) {
      // A line of a path may begin with `call `, too, but has two tabs.
      if (start != block || !read_call(line, steps)) break;
    } else {
      if (start == block || !read_change(line, steps)) break;
      ++paths;
    }
    start = end + 1;
  }
  if (block != text.size()) return damaged_calls(line_number);
  return steps;
}

std::vector<RelPath> restaged_paths(const Overlay::Entries& before, const Overlay::Entries& now) {
  std::vector<RelPath> paths;
  Overlay::Entries::differences(
      before, now, [&paths](const RelPath& path, const auto* was, const auto* is) {
        const bool was_changed = was != nullptr && was->before != was->now;
        const bool is_changed = is != nullptr && is->before != is->now;
        if (!was_changed && !is_changed) return;
        const Node& old_node = was != nullptr ? was->now : is->before;
        const Node& new_node = is != nullptr ? is->now : was->before;
        if (old_node != new_node) paths.push_back(path);
      });
  return paths;
}

Proposal staged_since(const Overlay::Entries& before, const Overlay& overlay) {
  const Overlay::Entries& entries = overlay.entries();
  ChangeSet changes;
  for (const RelPath& path : restaged_paths(before, entries)) {
    const auto was = before.find(path);
    const auto now = entries.find(path);
    Change change;
    change.path = path;
    change.before = was == before.end() ? now->second.before : was->second.now;
    change.after = now == entries.end() ? was->second.before : now->second.now;
    changes.push_back(std::move(change));
  }
  return Proposal::from(std::move(changes), overlay.store());
}

Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay) {
  const Ends ends = ends_since(before, overlay.entries());
  if (ends.gone.empty() || ends.made.empty()) return {};
  RenameOptions options;
  options.limit = ends.bytes > kMaxInferredRenameBytes ? 0 : kMaxSimilarRenames;
  Content held;
  const auto load = [&](const RenameEnd& end) -> Result<std::string_view> {
    GALLEY_ASSIGN(held, overlay.store()->get(end.content));
    return std::string_view(*held);
  };
  GALLEY_ASSIGN(const auto renames, find_renames(ends.gone, ends.made, options, load));
  if (renames.empty()) return {};
  Overlay::Entries entries = overlay.entries();
  for (const Rename& rename : renames) {
    const RelPath& to = ends.targets[rename.to];
    const std::optional<RelPath>& from = ends.origins[rename.from];
    if (from && *from != to) entries.change(to).renamed_from = from;
  }
  overlay.restore(std::move(entries));
  return {};
}

ShownPaths::ShownPaths(const Overlay::Entries& entries) {
  for (const auto& [path, entry] : entries) add(path, entry.before, entry.now);
}

ShownPaths::ShownPaths(const ChangeSet& changes) {
  for (const Change& change : changes) add(change.path, change.before, change.after);
}

size_t ShownPaths::count() const {
  const auto alone = std::count_if(folders_.begin(), folders_.end(), [this](const RelPath& folder) {
    return !parents_.contains(folder);
  });
  return others_ + static_cast<size_t>(alone);
}

void ShownPaths::add(const RelPath& path, const Node& before, const Node& after) {
  if (before == after) return;
  const bool is_directory =
      before.kind == FileKind::kDirectory || after.kind == FileKind::kDirectory;
  const bool is_absent = before.kind == FileKind::kAbsent || after.kind == FileKind::kAbsent;
  if (is_directory && is_absent) {
    folders_.insert(path);
  } else {
    ++others_;
  }
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    if (!parents_.insert(above).second) return;
  }
}

}  // namespace galley
