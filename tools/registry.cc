#include "tools/registry.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "tools/call_arguments.h"
#include "tools/json_input.h"
#include "tools/redactor.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

constexpr size_t kMaxShownNameBytes = 64;
/// The names of Galley's tools for transactions begin with it. Other tools cannot use it, because
/// agents trust the answers of these tools.
constexpr std::string_view kOwnToolPrefix = "galley";
constexpr std::string_view kSeparators = "._-";

tl::unexpected<Error> bad_schema(const std::string& tool, const char* which, const Error& why) {
  return fail(ErrorKind::kInvalid, "tool.schema",
              "the " + std::string(which) + " schema of the tool '" + tool +
                  "' cannot be used: " + why.message);
}

Result<JsonSchema> compile_for(const std::string& tool, const char* which,
                               const std::string& text) {
  auto schema = JsonSchema::compile(text);
  if (schema) return std::move(*schema);
  return bad_schema(tool, which, schema.error());
}

bool names_a_pattern(const std::vector<std::string>& agents) {
  return std::any_of(agents.begin(), agents.end(), [](const std::string& agent) {
    return agent.find_first_of("*?") != std::string::npos;
  });
}

/// Whether two tools of one name are equal in rank for some agent.
bool is_ambiguous(const ToolPrecedence& one, const ToolPrecedence& other) {
  if (one.priority != other.priority) return false;
  const auto& mine = one.availability.agents;
  const auto& theirs = other.availability.agents;
  if (mine.empty() != theirs.empty()) return false;  // the one that names agents goes first
  if (mine.empty() || names_a_pattern(mine) || names_a_pattern(theirs)) return true;
  return std::any_of(mine.begin(), mine.end(), [&](const std::string& agent) {
    return std::find(theirs.begin(), theirs.end(), agent) != theirs.end();
  });
}

bool is_before(const ToolRegistry::EntryPointer& one, const ToolRegistry::EntryPointer& other) {
  const bool names_agents = !one->precedence.availability.agents.empty();
  const bool other_names_agents = !other->precedence.availability.agents.empty();
  if (names_agents != other_names_agents) return names_agents;
  return one->precedence.priority > other->precedence.priority;
}

/// Whether the names are the same without case and separators.
bool are_alike(std::string_view one, std::string_view other) {
  size_t i = 0;
  size_t j = 0;
  for (;; ++i, ++j) {
    while (i < one.size() && kSeparators.find(one[i]) != kSeparators.npos) ++i;
    while (j < other.size() && kSeparators.find(other[j]) != kSeparators.npos) ++j;
    if (i == one.size() || j == other.size()) return i == one.size() && j == other.size();
    if (to_lower(one.substr(i, 1)) != to_lower(other.substr(j, 1))) return false;
  }
}

/// Whether it begins with kOwnToolPrefix, without case and separators.
bool is_like_an_own_tool(std::string_view name) {
  std::string bare = to_lower(name);
  std::erase_if(bare, [](char c) { return kSeparators.find(c) != kSeparators.npos; });
  return bare.starts_with(kOwnToolPrefix);
}

struct NameOrder {
  bool operator()(const ToolRegistry::EntryPointer& entry, std::string_view name) const {
    return entry->tool->info().name < name;
  }
  bool operator()(std::string_view name, const ToolRegistry::EntryPointer& entry) const {
    return name < entry->tool->info().name;
  }
};

std::vector<ToolRegistry::EntryPointer> in_order_of_registration(
    std::vector<ToolRegistry::EntryPointer> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& one, const auto& other) { return one->number < other->number; });
  return entries;
}

/// The tool with its compiled schemas.
Result<ToolRegistry::Entry> compiled_entry(std::unique_ptr<const Tool> tool) {
  const uint64_t peak_before = peak_resident_bytes();
  const ToolInfo& info = tool->info();
  GALLEY_ASSIGN(JsonSchema input, compile_for(info.name, "input", info.input_schema));
  GALLEY_ASSIGN(JsonSchema output, compile_for(info.name, "output", info.output_schema));
  if (needs_sanitizer(info.category) && !tool->sanitizer()) {
    return fail(ErrorKind::kRefused, "tool.no_output_sanitizer",
                "the tool '" + info.name +
                    "' calls other services (category api or mcp), so their answers must be "
                    "sanitized; set `sanitize`, for example to `sanitized_text`");
  }
  GALLEY_TRY(check_definition(info, input));
  auto defaults = SchemaDefaults::compile(info.input_schema);
  if (!defaults) return bad_schema(info.name, "input", defaults.error());
  return ToolRegistry::Entry{std::move(tool), std::move(input), std::move(output),
                             *std::move(defaults), peak_resident_bytes() - peak_before};
}

}  // namespace

Error unknown_tool(std::string_view name, const std::vector<std::string>& names) {
  return {ErrorKind::kUsage, "tool.unknown",
          "there is no tool named '" + std::string(name.substr(0, kMaxShownNameBytes)) + "'" +
              did_you_mean(name, names)};
}

Result<void> ToolRegistry::add(std::unique_ptr<const Tool> tool, ToolPrecedence precedence) {
  GALLEY_ASSIGN(Entry entry, compiled_entry(std::move(tool)));
  entry.precedence = std::move(precedence);
  return take(std::move(entry));
}

Result<void> ToolRegistry::add(ToolFactory factory, ToolPrecedence precedence) {
  if (!factory.make) {
    return fail(ErrorKind::kInvalid, "tool.no_function",
                "the tool '" + factory.info.name + "' has no function that makes it");
  }
  auto made = std::make_unique<FactoryTool>(std::move(factory), dependencies_);
  const FactoryTool* tool = made.get();
  GALLEY_ASSIGN(Entry entry, compiled_entry(std::move(made)));
  entry.precedence = std::move(precedence);
  entry.factory = tool;
  return take(std::move(entry));
}

Result<void> ToolRegistry::take(Entry entry) {
  const ToolInfo& info = entry.tool->info();
  if (is_like_an_own_tool(info.name)) {
    return fail(ErrorKind::kInvalid, "tool.exists",
                "a tool cannot be named '" + info.name + "': names that begin with " +
                    std::string(kOwnToolPrefix) +
                    ", in any case and with any separators, are those of Galley's own tools");
  }
  const std::unique_lock lock(mutex_);
  for (const EntryPointer& other : ranked(info.name)) {
    if (!is_ambiguous(entry.precedence, other->precedence)) continue;
    return fail(ErrorKind::kInvalid, "tool.exists",
                "a tool named '" + info.name + "' of priority " +
                    std::to_string(entry.precedence.priority) +
                    " is registered already; remove it first, or give this one another priority");
  }
  if (mode_ == Mode::kReadOnly && !info.annotations.read_only) {
    return fail(ErrorKind::kRefused, "tool.not_read_only",
                "the registry is read-only and the tool '" + info.name + "' is not");
  }
  entry.number = ++last_number_;
  const auto place = std::upper_bound(entries_.begin(), entries_.end(), info.name, NameOrder());
  entries_.insert(place, std::make_shared<const Entry>(std::move(entry)));
  return {};
}

Result<void> ToolRegistry::check_distinct(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  for (const EntryPointer& entry : entries_) {
    const std::string& other = entry->tool->info().name;
    if (other == name || !are_alike(other, name)) continue;
    return fail(ErrorKind::kInvalid, "tool.exists",
                "the tool '" + std::string(name) + "' could be taken for '" + other +
                    "': give it a name that differs in more than case, dots, dashes and "
                    "underscores");
  }
  return {};
}

void ToolRegistry::set_dependencies(ToolDependencies dependencies) {
  dependencies_ = std::make_shared<const ToolDependencies>(std::move(dependencies));
}

/// The caller must hold the lock.
std::vector<ToolRegistry::EntryPointer> ToolRegistry::ranked(std::string_view name) const {
  const auto [begin, end] = std::equal_range(entries_.begin(), entries_.end(), name, NameOrder());
  std::vector<EntryPointer> found(begin, end);
  std::stable_sort(found.begin(), found.end(), is_before);
  return found;
}

std::vector<ToolRegistry::EntryPointer> ToolRegistry::all_named(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  return ranked(name);
}

Result<ToolRegistry::EntryPointer> ToolRegistry::get(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = ranked(name);
  if (!found.empty()) return found.front();
  std::vector<std::string> names;
  for (const EntryPointer& entry : in_order_of_registration(entries_)) {
    names.push_back(entry->tool->info().name);
  }
  return fail(unknown_tool(name, names));
}

bool ToolRegistry::has(std::string_view name) const { return !all_named(name).empty(); }

bool ToolRegistry::remove(std::string_view name) {
  const std::vector<EntryPointer> gone = all_named(name);
  {
    const std::unique_lock lock(mutex_);
    std::erase_if(entries_, [&](const auto& entry) { return entry->tool->info().name == name; });
  }
  // This runs without the lock, because close() of a tool may use the registry.
  for (const EntryPointer& entry : gone) {
    if (entry->factory != nullptr) entry->factory->drain();
  }
  return !gone.empty();
}

void ToolRegistry::clear() {
  std::vector<EntryPointer> gone;
  {
    const std::unique_lock lock(mutex_);
    gone.swap(entries_);
  }
  for (const EntryPointer& entry : gone) {
    if (entry->factory != nullptr) entry->factory->drain();
  }
}

void ToolRegistry::set_enabled(const std::string& name, bool is_enabled) {
  const std::unique_lock lock(mutex_);
  if (is_enabled) {
    disabled_.erase(name);
  } else {
    disabled_.insert(name);
  }
}

bool ToolRegistry::is_enabled(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  return !disabled_.contains(name);
}

std::vector<ToolInfo> ToolRegistry::list() const {
  const std::shared_lock lock(mutex_);
  std::vector<ToolInfo> out;
  std::set<std::string_view> seen;
  for (const EntryPointer& entry : in_order_of_registration(entries_)) {
    const std::string& name = entry->tool->info().name;
    if (disabled_.contains(name) || !seen.insert(name).second) continue;
    out.push_back(ranked(name).front()->tool->info());
  }
  return out;
}

std::vector<ToolRegistry::Status> ToolRegistry::statuses() const {
  const std::shared_lock lock(mutex_);
  std::vector<Status> out;
  for (const EntryPointer& entry : in_order_of_registration(entries_)) {
    const ToolInfo& info = entry->tool->info();
    out.push_back({info, entry->precedence, !disabled_.contains(info.name),
                   entry->factory != nullptr ? entry->factory->phase() : ToolPhase::kReady});
  }
  return out;
}

nlohmann::ordered_json ToolRegistry::schemas() const {
  nlohmann::ordered_json out;
  out["schema"] = "galley.tools/1";
  out["tools"] = nlohmann::ordered_json::array();
  for (const ToolInfo& info : list()) {
    out["tools"].push_back(definition_json(info));
  }
  return out;
}

std::vector<SchemaViolation> check_arguments(const ToolRegistry::Entry& entry,
                                             std::string_view json_arguments,
                                             const std::string& root) {
  auto args = parse_json(json_arguments);
  if (!args) return {{"", args.error().message}};
  (void)take_call_ids(entry.tool->info(), *args);
  std::vector<SchemaViolation> violations = entry.input.check(*args);
  if (!violations.empty() || entry.factory != nullptr) return violations;
  const auto filled = entry.defaults.fill(*args);
  if (!filled) return {{"", filled.error().message}};
  const auto intent = entry.tool->intent(*filled ? **filled : *args, {root});
  if (!intent) violations.push_back({"", intent.error().message});
  return violations;
}

}  // namespace galley
