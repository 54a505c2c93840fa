#include "tools/standard_tools.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "tools/call_arguments.h"
#include "tools/json_input.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Operations = std::vector<Operation>;

struct ParsedOperations final : ParsedArguments {
  Operations operations;
};

/// Appends the intent of another operation of the call.
void add(Intent more, Intent& intent) {
  const auto append = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(more.reads, intent.reads);
  append(more.writes, intent.writes);
  append(more.programs, intent.programs);
  intent.is_open_ended |= more.is_open_ended;
}

/// A row of the catalogue as a tool. It translates a call to operations, and perform() does them. A
/// call does all of its operations or none.
class CatalogueTool final : public Tool {
 public:
  CatalogueTool(const CatalogueRow& row, std::shared_ptr<const ToolSetting> setting)
      : row_(row), setting_(std::move(setting)) {}

  [[nodiscard]] const ToolInfo& info() const override { return row_.info; }

  Result<Intent> intent(const json& args, const PathOrigin& origin) const override {
    auto parsed = std::make_shared<ParsedOperations>();
    GALLEY_ASSIGN(parsed->operations, plan(args, origin));
    Intent all;
    for (size_t i = 0; i < parsed->operations.size(); ++i) {
      GALLEY_ASSIGN(Intent one, intent_of(parsed->operations[i]));
      if (i == 0) {
        all = std::move(one);
      } else {
        add(std::move(one), all);
      }
    }
    all.parsed = std::move(parsed);
    return all;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (row_.with != nullptr && row_.with->admit != nullptr) {
      const auto admitted = row_.with->admit(context.agent, *setting_);
      if (!admitted) return failure(admitted.error());
    }
    if (const auto* known = dynamic_cast<const ParsedOperations*>(context.parsed.get())) {
      return run(known->operations, args, context);
    }
    const auto operations = plan(args, context.origin());
    if (!operations) return failure(operations.error());
    return run(*operations, args, context);
  }

  Result<void> check_workspace(const Directory& files, const std::string& root) const override {
    if (row_.with == nullptr || row_.with->check_workspace == nullptr) return {};
    return row_.with->check_workspace(files, root, *setting_);
  }

 private:
  static ToolResult failure(const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  }

  Result<Operations> plan(const json& args, const PathOrigin& origin) const {
    if (row_.with != nullptr) return row_.with->plan({args, origin, *setting_});
    return operations_of(*row_.steps, args, origin);
  }

  ToolResult run(const Operations& operations, const json& args, ToolContext& context) const {
    Overlay::Entries before;
    if (operations.size() > 1) before = context.overlay.entries();
    std::vector<JsonDocument> results;
    context.args = operations.size() == 1 ? &args : nullptr;
    for (const Operation& operation : operations) {
      ToolResult result = perform(operation, context);
      if (!result.ok) {
        if (!results.empty()) context.overlay.restore(std::move(before));
        return result;
      }
      results.push_back(std::move(result.data));
    }
    if (row_.with != nullptr && row_.with->answer != nullptr) {
      const PathOrigin origin = context.origin();
      auto answer = row_.with->answer({args, origin, *setting_}, *results.front());
      return answer ? ToolResult::success(*std::move(answer)) : failure(answer.error());
    }
    if (row_.answer != nullptr) return ToolResult::success(answer_of(*row_.answer, results));
    ToolResult result;
    result.ok = true;
    result.data = std::move(results.front());
    return result;
  }

  const CatalogueRow& row_;
  std::shared_ptr<const ToolSetting> setting_;
};

Result<void> add_rows(ToolRegistry& registry, bool is_standard, ToolSetting setting) {
  const auto shared = std::make_shared<const ToolSetting>(std::move(setting));
  for (const CatalogueRow& row : catalogue()) {
    const bool is_refused =
        registry.mode() == ToolRegistry::Mode::kReadOnly && !row.info.annotations.read_only;
    if (row.is_standard != is_standard || is_refused) continue;
    ToolPrecedence precedence;
    precedence.depends_only_on_contents = row.depends_only_on_contents;
    GALLEY_TRY(registry.add(std::make_unique<CatalogueTool>(row, shared), std::move(precedence)));
  }
  return {};
}

// --- members ----------------------------------------------------------------------------------

// A value of another type than the member's counts as missing: the schema has already refused it.

void set(const json& value, bool& out) {
  if (value.is_boolean()) out = value.get<bool>();
}
void set(const json& value, std::string& out) {
  if (value.is_string()) out = value.get<std::string>();
}
void set(const json& value, std::vector<std::string>& out) {
  for (const json& one : value) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
}
void set(const json& value, uint64_t& out) {
  if (value.is_number_integer()) out = clamped_count(value);
}
void set(const json& value, std::optional<uint64_t>& out) {
  if (value.is_number_integer()) out = clamped_count(value);
}
void set(const json& value, std::optional<std::chrono::milliseconds>& out) {
  if (value.is_number_integer()) out = std::chrono::milliseconds(clamped_count(value));
}
void set(const json& value, SearchText::Output& out) {
  if (value == "content") out = SearchText::Output::kContent;
  if (value == "count") out = SearchText::Output::kCount;
}

template <class Verb, class Value>
Value& member(Operation& operation, Value Verb::*which) {
  return std::get<Verb>(operation).*which;
}

/// Puts a value of a call into a member of an operation; null: the value was not given.
using Put = Result<void> (*)(Operation& operation, const json* value, const PathOrigin& origin);

template <auto kMember>
Result<void> plain(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  if (value != nullptr) set(*value, member(operation, kMember));
  return {};
}

std::string text_in(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

/// The path of a file.
template <auto kMember>
Result<void> file(Operation& operation, const json* value, const PathOrigin& origin) {
  GALLEY_ASSIGN(member(operation, kMember), file_argument(text_in(value), origin));
  return {};
}

/// The path of a directory. It may be the folder in which the call starts, which is the default.
template <auto kMember>
Result<void> folder(Operation& operation, const json* value, const PathOrigin& origin) {
  GALLEY_ASSIGN(member(operation, kMember), directory_argument(text_in(value), origin));
  return {};
}

/// Permission bits in octal.
template <auto kMember>
Result<void> mode(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  if (const auto bits = parse_octal_mode(text_in(value))) member(operation, kMember) = *bits;
  return {};
}

/// The number of an owner.
template <auto kMember>
Result<void> owner(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  if (value != nullptr && value->is_number_integer()) {
    member(operation, kMember) = static_cast<uint32_t>(clamped_count(*value));
  }
  return {};
}

/// Lines around a match.
template <auto kMember>
Result<void> context(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  constexpr uint64_t kMaxContext = 1000;
  if (value != nullptr && value->is_number_integer()) {
    member(operation, kMember) =
        static_cast<uint32_t>(std::min(kMaxContext, clamped_count(*value)));
  }
  return {};
}

/// Lines are counted from 1. Callers that count from 0 may send 0.
Result<void> first_line(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  uint64_t& line = std::get<ReadFile>(operation).first_line;
  if (value != nullptr) set(*value, line);
  line = std::max<uint64_t>(1, line);
  return {};
}

/// A command line for the shell.
Result<void> shell(Operation& operation, const json* value, const PathOrigin& /*origin*/) {
  auto& run = std::get<RunCommand>(operation);
  run.argv = {"sh", "-c", text_in(value)};
  run.is_shell = true;
  return {};
}

// --- verbs ------------------------------------------------------------------------------------

struct Verb {
  std::string_view name;
  Operation blank;
  std::vector<std::pair<std::string_view, Put>> members;
};

std::vector<Verb> verbs_that_read() {
  return {
      {"read",
       ReadFile(),
       {{"path", file<&ReadFile::path>},
        {"first_line", first_line},
        {"line_count", plain<&ReadFile::line_count>}}},
      {"list",
       ListDirectory(),
       {{"path", folder<&ListDirectory::path>},
        {"tree", plain<&ListDirectory::is_tree>},
        {"details", plain<&ListDirectory::with_details>}}},
      {"info",
       FileInfo(),
       {{"path", folder<&FileInfo::path>}, {"stat", plain<&FileInfo::with_stat>}}},
      {"measure", MeasureUsage(), {{"path", folder<&MeasureUsage::path>}}},
      {"find",
       FindFiles(),
       {{"under", folder<&FindFiles::under>},
        {"pattern", plain<&FindFiles::pattern>},
        {"excluded", plain<&FindFiles::excluded>},
        {"include_ignored", plain<&FindFiles::include_ignored>}}},
      {"search",
       SearchText(),
       {{"under", folder<&SearchText::under>},
        {"pattern", plain<&SearchText::pattern>},
        {"glob", plain<&SearchText::glob>},
        {"type", plain<&SearchText::type>},
        {"output", plain<&SearchText::output>},
        {"lines_before", context<&SearchText::lines_before>},
        {"lines_after", context<&SearchText::lines_after>},
        {"show_numbers", plain<&SearchText::show_numbers>},
        {"ignore_case", plain<&SearchText::ignore_case>},
        {"only_matching", plain<&SearchText::only_matching>},
        {"multiline", plain<&SearchText::multiline>},
        {"include_ignored", plain<&SearchText::include_ignored>},
        {"head_limit", plain<&SearchText::head_limit>}}},
      {"references",
       FindReferences(),
       {{"under", folder<&FindReferences::under>},
        {"symbol", plain<&FindReferences::symbol>},
        {"glob", plain<&FindReferences::glob>}}},
      {"imports", ListImports(), {{"under", folder<&ListImports::under>}}},
  };
}

std::vector<Verb> verbs_that_change() {
  return {
      {"write",
       WriteFile(),
       {{"path", file<&WriteFile::path>}, {"content", plain<&WriteFile::content>}}},
      {"remove",
       RemovePath(),
       {{"path", file<&RemovePath::path>}, {"recursive", plain<&RemovePath::recursive>}}},
      {"move", MovePath(), {{"from", file<&MovePath::from>}, {"to", file<&MovePath::to>}}},
      {"copy",
       CopyPath(),
       {{"from", file<&CopyPath::from>},
        {"to", file<&CopyPath::to>},
        {"recursive", plain<&CopyPath::recursive>}}},
      {"chmod",
       ChangeMode(),
       {{"path", file<&ChangeMode::path>}, {"mode", mode<&ChangeMode::mode>}}},
      {"chown",
       ChangeOwner(),
       {{"path", file<&ChangeOwner::path>},
        {"user", owner<&ChangeOwner::user>},
        {"group", owner<&ChangeOwner::group>}}},
      {"symlink",
       MakeSymlink(),
       {{"path", file<&MakeSymlink::path>},
        {"target", plain<&MakeSymlink::target>},
        {"must_be_new", plain<&MakeSymlink::must_be_new>}}},
      {"make_directory",
       MakeDirectory(),
       {{"path", file<&MakeDirectory::path>}, {"mode", mode<&MakeDirectory::mode>}}},
      {"run",
       RunCommand(),
       {{"shell", shell},
        {"directory", folder<&RunCommand::directory>},
        {"timeout", plain<&RunCommand::timeout>}}},
  };
}

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = [] {
    std::vector<Verb> all = verbs_that_read();
    for (Verb& verb : verbs_that_change()) all.push_back(std::move(verb));
    return all;
  }();
  return table;
}

/// Evaluates a value of a row for one call; null when the argument was not given.
const json* given(const json& value, const json& args, json& scratch) {
  if (value.is_array()) {
    for (const json& one : value) {
      if (const json* found = given(one, args, scratch)) return found;
    }
    return nullptr;
  }
  if (value.is_object()) {
    const json* flag = given(value.at("not"), args, scratch);
    if (flag == nullptr || !flag->is_boolean()) return nullptr;
    scratch = !flag->get<bool>();
    return &scratch;
  }
  if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('$')) return &value;
  const auto found = args.find(value.get_ref<const std::string&>().substr(1));
  return found == args.end() ? nullptr : &*found;
}

/// An unknown word in the catalogue is a bug.
template <class Rows, class Name>
const auto& known(const Rows& rows, const std::string& word, Name name_of) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return name_of(row) == word; });
  if (found == rows.end()) {
    check_failed(("the catalogue says '" + word + "'").c_str(), __FILE__, __LINE__);
  }
  return *found;
}

Result<Operation> operation_of(const json& step, const json& args, const PathOrigin& origin) {
  const auto said = step.begin();
  const Verb& verb = known(verbs(), said.key(), [](const Verb& one) { return one.name; });
  Operation operation = verb.blank;
  json scratch;
  for (const auto& [name, value] : said->items()) {
    const auto& member = known(verb.members, name, [](const auto& one) { return one.first; });
    GALLEY_TRY(member.second(operation, given(value, args, scratch), origin));
  }
  return operation;
}

std::optional<ordered_json> said_by(const ordered_json& form,
                                    const std::vector<JsonDocument>& results) {
  if (form.is_object()) {
    ordered_json answer = object_with_room(form.size());
    for (const auto& [name, value] : form.get_ref<const ordered_json::object_t&>()) {
      if (auto said = said_by(value, results)) answer[name] = *std::move(said);
    }
    return answer;
  }
  if (!form.is_string() || !form.get_ref<const std::string&>().starts_with('$')) return form;
  const std::string& text = form.get_ref<const std::string&>();
  const ordered_json& result = *results.at(static_cast<size_t>(text.at(1) - '0'));
  if (text.size() == 2) return result;
  const auto found = result.find(std::string_view(text).substr(3));
  if (found == result.end()) return {};
  return *found;
}

}  // namespace

Result<void> add_standard_tools(ToolRegistry& registry) { return add_rows(registry, true, {}); }

Result<void> add_dialect_tools(ToolRegistry& registry, ToolSetting setting) {
  return add_rows(registry, false, std::move(setting));
}

Result<std::vector<Operation>> operations_of(const json& steps, const json& args,
                                             const PathOrigin& origin) {
  std::vector<Operation> operations;
  for (const json& step : steps) {
    GALLEY_ASSIGN(Operation operation, operation_of(step, args, origin));
    operations.push_back(std::move(operation));
  }
  return operations;
}

ordered_json answer_of(const ordered_json& form, const std::vector<JsonDocument>& results) {
  return said_by(form, results).value_or(nullptr);
}

}  // namespace galley
