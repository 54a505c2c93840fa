#include "staging/sandbox/layer_cache.h"

#include <algorithm>
#include <utility>

#include "base/file_mode.h"

namespace galley {

Result<std::shared_ptr<const LayerCache::Layer>> LayerCache::layer_of(const Overlay& overlay) {
  const ChangeSet changes = overlay.changes();
  if (changes.empty()) return std::shared_ptr<const Layer>();
  const ContentId id = change_set_id(changes);
  const std::lock_guard lock(mutex_);
  for (const auto& layer : layers_) {
    if (layer->layer.shown() == id) return layer;
  }
  // One that no command runs on is changed: mostly little differs from what it shows.
  const auto free = std::find_if(layers_.begin(), layers_.end(),
                                 [](const auto& layer) { return layer.use_count() == 1; });
  std::shared_ptr<Layer> layer;
  if (free != layers_.end()) {
    layer = *free;
    layers_.erase(free);  // put back only if it shows all of the change set
  } else {
    GALLEY_ASSIGN(layer, make_layer());
  }
  GALLEY_TRY(layer->layer.show(changes, *overlay.store()));
  layers_.push_back(layer);
  return layer;
}

Result<std::shared_ptr<LayerCache::Layer>> LayerCache::make_layer() {
  GALLEY_ASSIGN(const RelPath place, RelPath::parse("changes/" + std::to_string(next_number_++)));
  GALLEY_TRY(home_->directory().make_directory(place, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, home_->directory().open_writable_directory(place));
  return std::make_shared<Layer>(
      Layer{ChangeSetLayer(std::move(directory), *workspace_), home_->path() + "/" + place.str()});
}

}  // namespace galley
