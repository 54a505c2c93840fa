#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/policy/proposed_tree.h"

namespace galley {

/// Finds which file of the proposed tree a program means: programs print paths relative to where
/// they ran, or absolute ones of a view that does not exist outside the sandbox.
class OutputPaths {
 public:
  explicit OutputPaths(const ProposedTree& tree) : tree_(&tree) {}

  /// The workspace path, or empty when the tree has no such file. Of an absolute path the longest
  /// tail that exists counts.
  [[nodiscard]] std::string resolve(const std::string& shown);

 private:
  [[nodiscard]] std::string find(std::string_view shown) const;
  [[nodiscard]] bool exists(std::string_view path) const;

  const ProposedTree* tree_;
  std::map<std::string, std::string> known_;
};

}  // namespace galley
