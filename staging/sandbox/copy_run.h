#pragma once

#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/layer.h"
#include "staging/sandbox/layer_home.h"
#include "staging/sandbox/tree_copy.h"

namespace galley {

/// One command's copy of the proposed tree, in a private place that goes with this object.
///
///     tree/   the copy, where the command runs      tmp/   its TMPDIR, with its home
///     upper/  what it changed, after extract()
///
/// Ownership: owns all of it. Threads: confined to one thread.
class CopyRun {
 public:
  static Result<CopyRun> make(Overlay& overlay, const WritableDirectory& scratch,
                              const std::string& workspace);

  /// Turns a request for the namespaces into one for this copy.
  void adapt(SandboxRequest& request) const;
  /// Collects what changed; afterwards upper() can be absorbed.
  Result<std::vector<RelPath>> extract() { return copy_.extract_changes(*upper_); }
  [[nodiscard]] const WritableDirectory& upper() const { return *upper_; }

 private:
  CopyRun(LayerHome home, std::unique_ptr<WritableDirectory> tree,
          std::unique_ptr<WritableDirectory> upper, TreeCopy copy)
      : home_(std::move(home)),
        tree_(std::move(tree)),
        upper_(std::move(upper)),
        copy_(std::move(copy)) {}

  LayerHome home_;
  std::unique_ptr<WritableDirectory> tree_;
  std::unique_ptr<WritableDirectory> upper_;
  TreeCopy copy_;
};

}  // namespace galley
