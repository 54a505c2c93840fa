// Reads any JSON as an edit document and as the arguments of every editing tool. Accepted edits are
// placed without a crash or a broken invariant.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/standard_tools.h"

namespace {

constexpr std::string_view kFile = "int f() {\n  a();\n  b();\n}\n\nint g() {\n  a();\n  b();\n}\n";
constexpr std::array<std::string_view, 6> kTools = {
    "Edit", "MultiEdit", "apply_patch", "str_replace_based_edit_tool", "replace", "edit_file"};

const galley::ToolRegistry& tools() {
  static const galley::ToolRegistry* const kRegistry = [] {
    auto* registry = new galley::ToolRegistry();  // never freed, on purpose
    GALLEY_CHECK(galley::add_standard_tools(*registry).has_value());
    return registry;
  }();
  return *kRegistry;
}

void place_all(const galley::EditSet& set) {
  for (const galley::FileEdit& edit : set.files) {
    const galley::PlacedEdits placed = galley::place_edits(kFile, edit, {});
    const std::string after = placed.splices.apply(kFile);
    GALLEY_CHECK(placed.splices.inverse(kFile).apply(after) == kFile);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto set = galley::parse_edits_json(input);
  if (set) place_all(*set);
  const auto answer = galley::read_edits(std::string(input), galley::EditFormat::kAuto, {},
                                         galley::parse_edits_json);
  if (answer) place_all(*answer);
  const auto args = galley::parse_json(input);
  if (!args) return 0;
  for (const std::string_view name : kTools) {
    const auto entry = tools().get(name);
    GALLEY_CHECK(entry.has_value());
    if (!(*entry)->input.check(*args).empty()) continue;
    const auto& rows = galley::catalogue();
    const auto row =
        std::ranges::find_if(rows, [&](const auto& one) { return one.info.name == name; });
    const auto operations = row->with->plan({*args, {"/w"}, {}});
    if (!operations) {
      GALLEY_CHECK(!operations.error().message.empty());
      continue;
    }
    for (const galley::Operation& operation : *operations) {
      if (const auto* edit = std::get_if<galley::EditFiles>(&operation)) place_all(edit->edits);
    }
  }
  return 0;
}
