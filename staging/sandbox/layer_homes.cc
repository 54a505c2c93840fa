#include "staging/sandbox/layer_homes.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/file_mode.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

bool is_inside(const std::string& path, const std::string& workspace) {
  char canonical[PATH_MAX];
  if (realpath(path.c_str(), canonical) == nullptr) return false;
  return std::string_view(canonical).starts_with(workspace + "/");
}

Result<void> make_folder(const LayerHome& home, const char* name) {
  return make_directories(home.directory(), *RelPath::parse(name), kPrivateDirectory);
}

Result<void> empty_folder(const LayerHome& home, const char* name) {
  GALLEY_ASSIGN(const auto folder, home.directory().open_writable_directory(*RelPath::parse(name)));
  GALLEY_ASSIGN(const auto entries, folder->list());
  for (const DirectoryEntry& entry : entries) {
    GALLEY_ASSIGN(const RelPath left, RelPath::parse(entry.name));
    GALLEY_TRY(erase_layer(*folder, left));
  }
  return {};
}

}  // namespace

Result<LayerHomes> LayerHomes::open(const SandboxOptions& options, LayerUse use) {
  GALLEY_ASSIGN(LayerHome upper, LayerHome::open(options.layer_home, use));
  LayerHomes homes(std::move(upper));
  if (!options.scratch_home.empty() || is_inside(homes.upper_.path(), options.workspace)) {
    GALLEY_ASSIGN(LayerHome lower, LayerHome::open(options.scratch_home, use));
    homes.lower_.emplace(std::move(lower));
  }
  return homes;
}

Result<void> LayerHomes::prepare(const Directory& workspace, LayerUse use) const {
  for (const char* name : {"run", "keep"}) GALLEY_TRY(make_folder(upper_, name));
  for (const char* name : {"changes", "scratch"}) GALLEY_TRY(make_folder(lower(), name));
  GALLEY_TRY(empty_folder(upper_, "run"));
  GALLEY_TRY(empty_folder(lower(), "changes"));
  GALLEY_ASSIGN(const auto scratch, open_scratch());
  GALLEY_TRY(imitate_root(*scratch, workspace));
  if (use == LayerUse::kCopy) return {};
  auto hidden = make_whiteout(*scratch, *RelPath::parse(".galley"));
  if (!hidden && hidden.error().os_error == EEXIST) return {};
  return hidden;
}

Result<std::unique_ptr<WritableDirectory>> LayerHomes::open_scratch() const {
  return lower().directory().open_writable_directory(*RelPath::parse("scratch"));
}

}  // namespace galley
