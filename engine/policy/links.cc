#include "engine/policy/links.h"

#include <deque>
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

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

}  // namespace

Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                            std::string_view target) {
  if (target.empty() || target.starts_with('/')) return LinkEnd::kOutside;
  std::vector<std::string> here;
  for (const auto part : link.parent().components()) here.emplace_back(part);
  std::deque<std::string> todo;
  push_front(todo, target);
  int links = 1;
  bool is_missing = false;
  for (size_t steps = 0; !todo.empty(); ++steps) {
    if (steps > kMaxSteps) return LinkEnd::kLoop;
    const std::string part = todo.front();
    todo.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (here.empty()) return LinkEnd::kOutside;
      here.pop_back();
      continue;
    }
    here.push_back(part);
    const auto path = RelPath::parse(joined(here));
    if (!path) {
      is_missing = true;  // a name that Galley would not make; nothing of ours can be there
      continue;
    }
    if (path->is_protected()) return LinkEnd::kProtected;
    const auto node = tree.node(*path);
    if (!node && node.error().kind != ErrorKind::kRefused) return fail(node.error());
    if (!node || node->kind == FileKind::kAbsent) {
      is_missing = true;
      continue;
    }
    if (node->kind != FileKind::kSymlink) continue;
    if (++links > kMaxLinks) return LinkEnd::kLoop;
    GALLEY_ASSIGN(const std::string next, tree.read_link(*path));
    if (next.starts_with('/')) return LinkEnd::kOutside;
    here.pop_back();
    push_front(todo, next);
  }
  return is_missing ? LinkEnd::kMissing : LinkEnd::kInside;
}

}  // namespace galley
