// Reads any bytes as the manifest and as the answer of a custom tool. The parsers return a value or
// an error, and a value keeps its invariants.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "tools/custom_manifest.h"
#include "tools/custom_tool.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto manifest = galley::CustomManifest::parse(text, "manifest.json")) {
    GALLEY_CHECK(!manifest->info.description.empty());
    GALLEY_CHECK(manifest->info.timeout.has_value());
    GALLEY_CHECK(galley::RelPath::parse(manifest->executable).has_value());
    GALLEY_CHECK(manifest->writes || manifest->writable.empty());
  }
  if (const auto answer = galley::CustomAnswer::read(text)) {
    GALLEY_CHECK(!answer->ok || (answer->data != nullptr && answer->data->is_object()));
  }
  return 0;
}
