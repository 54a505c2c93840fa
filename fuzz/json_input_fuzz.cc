// Reads any bytes with parse_json. It ends, and an accepted value is read back unchanged from its
// own text.
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"
#include "tools/json_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto document = galley::parse_json(input);
  if (!document) return 0;
  const auto again = galley::parse_json(galley::json_text(*document));
  GALLEY_CHECK(again.has_value());
  GALLEY_CHECK(*again == *document);
  return 0;
}
