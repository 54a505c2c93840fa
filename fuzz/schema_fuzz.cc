// Reads a schema, a NUL byte and a document. Compiling and judging end, and judging twice gives the
// same result. If only the schema library judges the document, it gives that result, too.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/json_input.h"
#include "tools/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = input.find('\0');
  const auto schema = galley::JsonSchema::compile(input.substr(0, nul));
  if (!schema || nul == input.npos) return 0;
  const auto document = galley::parse_json(input.substr(nul + 1));
  if (!document) return 0;
  const auto violations = schema->check(*document);
  GALLEY_CHECK(violations == schema->check(*document));
  // PlainSchema does not know `allOf`.
  const std::string wrapped = R"({"allOf":[)" + std::string(input.substr(0, nul)) + "]}";
  const auto library = galley::JsonSchema::compile(wrapped);
  if (library) GALLEY_CHECK(library->check(*document).empty() == violations.empty());
  for (const auto& violation : violations) GALLEY_CHECK(!violation.message.empty());
  return 0;
}
