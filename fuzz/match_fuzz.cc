// Splits the input at the first NUL into a patch and a file. Placing the patch keeps every
// invariant for any input.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace galley;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t split = all.find('\0');
  if (split == std::string_view::npos) return 0;
  const std::string_view file = all.substr(split + 1);
  const auto set = read_edits(std::string(all.substr(0, split)), EditFormat::kAuto, {});
  if (!set) return 0;
  for (const FileEdit& edit : set->files) {
    MatchOptions options;
    options.indentation_is_syntax = file.size() % 2 == 0;
    const PlacedEdits placed = place_edits(file, edit, options);
    GALLEY_CHECK(placed.splices.base_size() == file.size());
    const std::string after = placed.splices.apply(file);
    GALLEY_CHECK(placed.splices.inverse(file).apply(after) == file);
  }
  return 0;
}
