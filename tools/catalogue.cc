#include "tools/catalogue.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

void check_row(bool holds, const std::string& tool, const std::string& what) {
  if (!holds) check_failed(("the catalogue's '" + tool + "': " + what).c_str(), __FILE__, __LINE__);
}

/// Takes a member out of a row. Returns false when the row lacks it.
template <class Value>
bool take_member(ordered_json& row, const char* key, Value& out) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  if constexpr (std::is_same_v<Value, ordered_json>) {
    out = std::move(*found);
  } else {
    found->get_to(out);
  }
  row.erase(found);
  return true;
}

/// The same for a schema, which a definition stores as text.
bool take_schema(ordered_json& row, const char* key, const ordered_json& more, std::string& out) {
  ordered_json schema;
  if (!take_member(row, key, schema)) return false;
  if (!more.is_null()) schema["properties"].update(more);
  out = json_text(schema);
  return true;
}

/// Reads the hints and derives the defaults of the members that depend on them.
void take_hints(ordered_json& row, ToolInfo& info) {
  constexpr std::array<std::pair<std::string_view, bool ToolAnnotations::*>, 4> kHints = {
      {{"read_only", &ToolAnnotations::read_only},
       {"destructive", &ToolAnnotations::destructive},
       {"idempotent", &ToolAnnotations::idempotent},
       {"open_world", &ToolAnnotations::open_world}}};
  std::vector<std::string> hints;
  if (!take_member(row, "hints", hints)) return;
  info.annotations = {};
  for (const std::string& hint : hints) {
    const auto* known =
        std::ranges::find_if(kHints, [&](const auto& one) { return one.first == hint; });
    check_row(known != kHints.end(), info.name, "there is no hint '" + hint + "'");
    info.annotations.*(known->second) = true;
  }
  const bool reads = info.annotations.read_only;
  const bool runs = info.annotations.open_world;
  info.capabilities = {runs ? "exec" : reads ? "fs:read" : "fs:write"};
  info.category = runs ? ToolInfo::Category::kSystem : ToolInfo::Category::kDirect;
  info.risk_level = reads ? ToolInfo::Risk::kLow : ToolInfo::Risk::kMedium;
  info.security_tier = reads ? ToolInfo::Tier::kStandard : ToolInfo::Tier::kElevated;
  info.is_reversible = !reads;
  info.timeout = usual_timeout(info.category);
}

void take_limits(ordered_json& row, ToolInfo& info) {
  std::string risk;
  if (take_member(row, "risk", risk)) {
    check_row(risk_named(risk).has_value(), info.name, "there is no risk '" + risk + "'");
    info.risk_level = *risk_named(risk);
  }
  int64_t timeout_ms = 0;
  if (take_member(row, "timeout_ms", timeout_ms)) {
    info.timeout = std::chrono::milliseconds(timeout_ms);
  }
  uint64_t memory = 0;
  if (take_member(row, "max_memory_bytes", memory)) info.max_memory_bytes = memory;
}

/// Reads `do`, `with` and `answer`. A row with `do` or `with` inherits no call from another row.
void take_call(ordered_json& row, CatalogueRow& out) {
  ordered_json steps;
  std::string with;
  const bool has_steps = take_member(row, "do", steps);
  const bool has_name = take_member(row, "with", with);
  if (has_steps || has_name) {
    out.steps = has_steps ? std::make_shared<const nlohmann::json>(steps) : nullptr;
    out.with = nullptr;
    out.answer = nullptr;
  }
  if (has_name) {
    const auto& all = named_calls();
    const auto named = std::ranges::find_if(all, [&](const auto& one) { return one.name == with; });
    check_row(named != all.end(), out.info.name, "there is no function '" + with + "'");
    out.with = &*named;
  }
  ordered_json answer;
  if (take_member(row, "answer", answer)) {
    out.answer = std::make_shared<const ordered_json>(std::move(answer));
  }
  check_row((out.steps == nullptr) != (out.with == nullptr), out.info.name,
            "a call is either 'do' or 'with'");
}

const CatalogueRow& row_named(const std::vector<CatalogueRow>& rows, const std::string& name) {
  const auto found =
      std::ranges::find_if(rows, [&](const auto& row) { return row.info.name == name; });
  check_row(found != rows.end(), name, "another row is like it, and it does not stand before that");
  return *found;
}

/// `changes` has the members that are in the output of each tool that changes the tree.
CatalogueRow read_row(ordered_json row, const ordered_json& changes, CatalogueRow out) {
  ToolInfo& info = out.info;
  take_member(row, "name", info.name);
  take_member(row, "title", info.title);
  take_member(row, "description", info.description);
  take_member(row, "version", info.version);
  take_hints(row, info);
  take_member(row, "namespace", info.namespace_name);
  take_member(row, "needs", info.capabilities);
  take_member(row, "reversible", info.is_reversible);
  take_member(row, "rollback", info.rollback_tool);
  take_member(row, "context_aware", info.is_context_aware);
  take_limits(row, info);
  take_member(row, "follows_from_contents", out.depends_only_on_contents);
  take_member(row, "verb", out.verb);
  out.profiles.clear();
  take_member(row, "profiles", out.profiles);
  take_schema(row, "input", {}, info.input_schema);
  bool shows_changes = false;
  take_member(row, "shows_changes", shows_changes);
  take_schema(row, "output", shows_changes ? changes : ordered_json(), info.output_schema);
  take_call(row, out);
  ordered_json examples;
  if (take_member(row, "examples", examples)) {
    info.examples.clear();
    std::ranges::transform(examples, std::back_inserter(info.examples),
                           [](const ordered_json& one) { return json_text(one); });
  }
  check_row(row.empty(), info.name, "unknown members: " + json_text(row));
  return out;
}

std::vector<CatalogueRow> read_catalogue() {
  using namespace catalogue_text;
  std::vector<CatalogueRow> rows;
  ordered_json changes;
  for (const std::string_view text : {kNative, kPeers, kAios, kNachos, kGemini, kTenex, kGit}) {
    ordered_json file = ordered_json::parse(text);
    take_member(file, "changes", changes);
    for (ordered_json& row : file["tools"]) {
      CatalogueRow begun;
      std::string like;
      if (take_member(row, "like", like)) {
        begun = row_named(rows, like);
      } else {
        begun.info.namespace_name = file.value("namespace", "");
      }
      begun.is_standard = text == kNative || text == kPeers;
      rows.push_back(read_row(std::move(row), changes, std::move(begun)));
    }
  }
  return rows;
}

}  // namespace

std::string setting_or(const ToolSetting& setting, std::string_view tool, std::string_view key,
                       std::string otherwise) {
  std::string value = setting ? setting(tool, key) : std::string();
  return value.empty() ? otherwise : value;
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string_view piece = trim(text.substr(0, end), " ");
    if (!piece.empty()) pieces.emplace_back(piece);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

const std::vector<NamedCall>& named_calls() {
  static const std::vector<NamedCall> table = [] {
    std::vector<NamedCall> all = edit_calls();
    for (const auto& more : {file_calls(), git_calls(), tenex_calls()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return table;
}

const std::vector<CatalogueRow>& catalogue() {
  static const std::vector<CatalogueRow> rows = read_catalogue();
  return rows;
}

}  // namespace galley
