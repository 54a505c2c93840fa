#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/change_set_layer.h"
#include "staging/sandbox/layer_home.h"

namespace galley {

/// The layers that show change sets. Commands that run on the same change set share one.
///
/// Invariant: a layer is not written to while a command holds it.
/// Ownership: borrows the home and the workspace.
/// Threads:   safe to share.
class LayerCache {
 public:
  struct Layer {
    ChangeSetLayer layer;
    std::string path;  ///< absolute
  };

  LayerCache(const LayerHome& home, const Directory& workspace)
      : home_(&home), workspace_(&workspace) {}

  /// Returns a layer that shows what `overlay` proposes, or null when it proposes nothing. The
  /// layer stays as it is while the pointer is held.
  Result<std::shared_ptr<const Layer>> layer_of(const Overlay& overlay);

 private:
  Result<std::shared_ptr<Layer>> make_layer();

  const LayerHome* home_;
  const Directory* workspace_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Layer>> layers_;
  uint64_t next_number_ = 1;
};

}  // namespace galley
