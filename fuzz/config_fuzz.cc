// Reads any bytes as galley.toml, then as a policy test. The result is a configuration, or one
// error that names the file.
#include <string_view>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = galley::parse_config(text, "galley.toml");
  if (!config) {
    GALLEY_CHECK(config.error().message.starts_with("galley.toml"));
    GALLEY_CHECK(!config.error().reason.empty());
    return 0;
  }
  const galley::Policy policy(*config);
  const auto path = galley::RelPath::parse("src/gen/a.c");
  GALLEY_CHECK(path.has_value());
  for (const char* agent : {"", "bot"}) {
    const auto explanation = policy.explain(*path, galley::PathOperation::kModify, agent);
    const auto judgement = policy.judge_path(*path, galley::PathOperation::kModify, agent);
    GALLEY_CHECK(explanation.judgement.decision == judgement.decision);
    GALLEY_CHECK(judgement.decision == galley::Decision::kAllow || !judgement.message.empty());
  }
  const auto tested = policy.test(text, "test.toml");
  GALLEY_CHECK(tested.has_value() || !tested.error().message.empty());
  return 0;
}
