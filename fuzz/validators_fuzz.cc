// Reads any bytes as a changed file for every built-in validator, as a rule file, and as the output
// of a command. Nothing crashes or throws, and findings point into the file.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doubles/memory_directory.h"
#include "engine/policy/proposed_tree.h"
#include "engine/validators/factory.h"
#include "engine/validators/output_parsers.h"
#include "engine/validators/secret_rules.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

Config every_builtin() {
  std::string text;
  for (const auto& name : builtin_validator_names()) {
    text += "[[validator]]\nbuiltin = \"" + name + "\"\npaths = [\"*\"]\n";
    if (name == "forbidden_text") text += "patterns = ['a+b', 'todo']\n";
  }
  auto config = parse_config(text, "galley.toml");
  GALLEY_CHECK(config.has_value());
  return std::move(*config);
}

void judge(std::string_view before, std::string_view after) {
  static const Config config = every_builtin();
  static const auto workspace = make_memory_directory();
  static const auto validators = make_validators(config, *workspace, nullptr, nullptr);
  GALLEY_CHECK(validators.has_value());
  const SystemClock clock;
  const auto path = RelPath::parse("file");
  const auto store = make_memory_store();
  const auto node_of = [&](std::string_view text) {
    const auto id = store->put(std::string(text));
    GALLEY_CHECK(id.has_value());
    return Node{FileKind::kRegular, 0755, *id, text.size()};
  };
  Change change;
  change.path = *path;
  if (!before.empty()) change.before = node_of(before);
  change.after = node_of(after);
  const Proposal proposal = Proposal::from({change}, store);
  const ProposedTree tree(proposal, *workspace);
  const auto lines = static_cast<uint32_t>(std::count(after.begin(), after.end(), '\n') + 1);
  for (const auto& validator : *validators) {
    if (!validator->concerns(proposal.changes(), "")) continue;
    const auto report = validator->validate({tree, clock, {}, {}});
    GALLEY_CHECK(report.has_value());
    for (const Finding& finding : report->findings) {
      GALLEY_CHECK(finding.line <= lines);
      GALLEY_CHECK(!finding.message.empty());
    }
  }
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t half = std::min(input.find("\n--8<--\n"), input.size());
  galley::judge(half < input.size() ? input.substr(0, half) : std::string_view(),
                half < input.size() ? input.substr(half + 8) : input);
  const auto rules = galley::SecretRules::parse(input, "rules.toml");
  if (rules) static_cast<void>(rules->find("a/b", input));
  static_cast<void>(galley::read_sarif(input));
  static_cast<void>(galley::read_junit(input));
  return 0;
}
