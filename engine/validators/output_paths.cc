#include "engine/validators/output_paths.h"

namespace galley {

std::string OutputPaths::resolve(const std::string& shown) {
  if (shown.empty()) return {};
  const auto known = known_.find(shown);
  if (known != known_.end()) return known->second;
  return known_.emplace(shown, find(shown)).first->second;
}

bool OutputPaths::exists(std::string_view path) const {
  const auto parsed = RelPath::parse(path);
  if (!parsed || parsed->is_root()) return false;
  const auto node = tree_->node(*parsed);
  return node && node->kind == FileKind::kRegular;
}

std::string OutputPaths::find(std::string_view shown) const {
  while (shown.starts_with("./")) shown.remove_prefix(2);
  if (!shown.starts_with('/')) return exists(shown) ? std::string(shown) : std::string();
  while (!shown.empty()) {
    const size_t slash = shown.find('/');
    if (slash == shown.npos) break;
    shown.remove_prefix(slash + 1);
    if (exists(shown)) return std::string(shown);
  }
  return {};
}

}  // namespace galley
