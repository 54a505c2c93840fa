#include "base/ignore_rules.h"

#include <algorithm>
#include <optional>

namespace galley {
namespace {

constexpr size_t kPatternsBetweenLooks = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The patterns of an ignore file that can match anything.
GlobList rules_in(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> patterns;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (Glob::parse(line)) patterns.emplace_back(line);
  }
  auto list = GlobList::parse(patterns);
  return list ? std::move(*list) : GlobList();
}

/// Whether the last pattern that matches takes the path in or out; nothing when none does.
Result<std::optional<bool>> decide(const GlobList& list, std::string_view path, bool is_directory,
                                   const IgnoreRules::ShouldStop& should_stop) {
  const std::vector<Glob>& globs = list.globs();
  for (size_t i = globs.size(); i-- > 0;) {
    if (i % kPatternsBetweenLooks == kPatternsBetweenLooks - 1 && should_stop()) {
      return fail(ErrorKind::kTimeout, "ignore.stopped",
                  "matching git's ignore rules took too long");
    }
    if (globs[i].matches(path, is_directory)) return std::optional(!globs[i].is_negated());
  }
  return std::optional<bool>();
}

}  // namespace

void IgnoreRules::add_outer(std::string_view text) { outer_.push_back(rules_in(text)); }

const GlobList& IgnoreRules::rules_of(std::string_view directory) {
  std::string key(directory);
  const auto known = rules_.find(key);
  if (known != rules_.end()) return known->second;
  const auto path =
      directory.empty() ? Result<RelPath>(RelPath::root()) : RelPath::parse(directory);
  const std::string text = path ? read_(*path).substr(0, kMaxFileBytes) : std::string();
  if (kept_bytes_ + text.size() > kMaxKeptBytes) {
    rules_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += text.size();
  return rules_.emplace(std::move(key), rules_in(text)).first->second;
}

Result<bool> IgnoreRules::matches(std::string_view path, bool is_directory,
                                  const ShouldStop& should_stop) {
  for (size_t slash = path.rfind('/');; slash = path.rfind('/', slash - 1)) {
    const bool is_top = slash == path.npos;
    const std::string_view directory = is_top ? std::string_view() : path.substr(0, slash);
    const std::string_view below = is_top ? path : path.substr(slash + 1);
    GALLEY_ASSIGN(const auto decided,
                  decide(rules_of(directory), below, is_directory, should_stop));
    if (decided) return *decided;
    if (is_top) break;
  }
  for (const GlobList& list : outer_) {
    GALLEY_ASSIGN(const auto decided, decide(list, path, is_directory, should_stop));
    if (decided) return *decided;
  }
  return false;
}

Result<bool> IgnoreRules::is_ignored(const RelPath& path, bool is_directory,
                                     const ShouldStop& should_stop) {
  const std::string_view text = path.str();
  if (text.empty()) return false;
  for (size_t end = text.find('/');; end = text.find('/', end + 1)) {
    const bool is_whole = end == text.npos;
    const std::string_view part = text.substr(0, end);
    const bool is_folder = !is_whole || is_directory;
    std::string key(is_folder ? part : std::string_view());
    if (const auto known = directories_.find(key); is_folder && known != directories_.end()) {
      if (known->second || is_whole) return known->second;
      continue;
    }
    GALLEY_ASSIGN(const bool ignored, matches(part, is_folder, should_stop));
    if (is_folder) directories_.emplace(std::move(key), ignored);
    if (ignored || is_whole) return ignored;
  }
}

Result<IgnoreAnswer> IgnoreRules::answer(const RelPath& path, bool is_directory,
                                         const ShouldStop& should_stop) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, is_directory, should_stop));
  if (!ignored) return IgnoreAnswer::kCounts;
  if (!tracked_) tracked_ = read_tracked_ ? read_tracked_() : TrackedPaths();
  // A submodule is a folder that is tracked itself.
  if (tracked_->has(path.str())) return IgnoreAnswer::kCounts;
  const bool holds = is_directory && tracked_->has_below(path.str());
  return holds ? IgnoreAnswer::kHoldsTracked : IgnoreAnswer::kIgnored;
}

}  // namespace galley
