// Reads any bytes as the `calls` of a stage. Readable input is written back unchanged.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "staging/overlay/staged_step.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(galley::tail_of_steps(input));
  const auto steps = galley::decode_steps(input);
  if (!steps) return 0;
  const auto again = galley::decode_steps(galley::encode_steps(*steps));
  GALLEY_CHECK(again.has_value() && again->size() == steps->size());
  for (size_t i = 0; i < steps->size(); ++i) {
    GALLEY_CHECK(again->at(i).execution_id == steps->at(i).execution_id);
    GALLEY_CHECK(again->at(i).changes == steps->at(i).changes);
  }
  return 0;
}
