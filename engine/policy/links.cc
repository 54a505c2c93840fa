#include "engine/policy/links.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace galley {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's MAXSYMLINKS
constexpr size_t kMaxSteps = 4096;

void push_front(std::deque<std::string>& todo, std::string_view path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  todo.insert(todo.begin(), parts.begin(), parts.end());
}

std::string joined_path(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

/// One walk along a link's target, a component at a time, as the kernel does.
class LinkWalk {
 public:
  LinkWalk(const ProposedTree& tree, const RelPath& link, std::string_view target) : tree_(tree) {
    const RelPath parent = link.parent();
    for (const auto part : parent.components()) here_.emplace_back(part);
    push_front(todo_, target);
  }

  Result<LinkEnd> end() {
    for (size_t steps = 0; !todo_.empty(); ++steps) {
      if (steps > kMaxSteps) return LinkEnd::kLoop;
      GALLEY_ASSIGN(const auto known, step());
      if (known) return *known;
    }
    return is_missing_ ? LinkEnd::kMissing : LinkEnd::kInside;
  }

 private:
  /// Takes the next component; returns a value when it decides where the link ends.
  Result<std::optional<LinkEnd>> step() {
    const std::string part = todo_.front();
    todo_.pop_front();
    if (part.empty() || part == ".") return std::nullopt;
    if (part == "..") {
      if (here_.empty()) return LinkEnd::kOutside;
      here_.pop_back();
      return std::nullopt;
    }
    here_.push_back(part);
    return enter();
  }

  /// Looks at the object that `here_` names now.
  Result<std::optional<LinkEnd>> enter() {
    const auto path = RelPath::parse(joined_path(here_));
    if (!path) {
      is_missing_ = true;  // a name that Galley does not allow, so no object of ours has it
      return std::nullopt;
    }
    if (path->is_protected()) return LinkEnd::kProtected;
    const auto node = tree_.node(*path);
    if (!node && node.error().kind != ErrorKind::kRefused) return fail(node.error());
    if (!node || node->kind == FileKind::kAbsent) {
      is_missing_ = true;
      return std::nullopt;
    }
    if (node->kind != FileKind::kSymlink) return std::nullopt;
    if (++links_ > kMaxLinks) return LinkEnd::kLoop;
    GALLEY_ASSIGN(const std::string next, tree_.read_link(*path));
    if (next.starts_with('/')) return LinkEnd::kOutside;
    here_.pop_back();
    push_front(todo_, next);
    return std::nullopt;
  }

  const ProposedTree& tree_;
  std::vector<std::string> here_;
  std::deque<std::string> todo_;
  int links_ = 1;
  bool is_missing_ = false;
};

}  // namespace

Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                            std::string_view target) {
  if (target.empty() || target.starts_with('/')) return LinkEnd::kOutside;
  return LinkWalk(tree, link, target).end();
}

}  // namespace galley
