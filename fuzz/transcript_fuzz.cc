// Reads any bytes as a transcript. Reading ends, and every call in the result has the members that
// replay relies on.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"
#include "engine/calls/transcript.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto calls = galley::read_transcript(input);
  if (!calls) return 0;
  for (const galley::TranscriptCall& call : *calls) {
    GALLEY_CHECK(call.arguments && call.arguments->is_object());
    GALLEY_CHECK(call.result && call.result->is_object() && call.result->contains("ok"));
    GALLEY_CHECK(call.line > 1);
  }
  return 0;
}
