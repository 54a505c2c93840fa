#include "tools/call_arguments.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/contains.h"
#include "base/text.h"
#include "staging/fs/host_file.h"
#include "tools/json_input.h"
#include "tools/tool.h"

namespace galley {
namespace {

using nlohmann::json;

/// Whether a relative path leads out of the workspace by its `..`, from a folder.
bool leads_out(std::string_view text, const RelPath& cwd) {
  int64_t depth = 0;
  for (RelPath at = cwd; !at.is_root(); at = at.parent()) ++depth;
  while (!text.empty() && depth >= 0) {
    const std::string_view part = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
  }
  return depth < 0;
}

/// Removes `./` and `../` from the front of a relative path and moves `from` accordingly. `from`
/// becomes empty if they lead out of the workspace. A `..` at any other place is invalid.
std::string_view climb(std::string_view text, std::optional<RelPath>& from) {
  if (!from || from->is_root()) return text;
  for (;;) {
    const bool is_here = text == "." || text.starts_with("./");
    const bool is_up = text == ".." || text.starts_with("../");
    if (!is_here && !is_up) return text;
    if (is_up && from->is_root()) {
      from.reset();
      return text;
    }
    if (is_up) from = from->parent();
    text.remove_prefix(std::min(text.size(), is_up ? size_t{3} : size_t{2}));
  }
}

Result<RelPath> below_cwd(std::string_view text, const RelPath& cwd) {
  if (leads_out(text, cwd)) {
    return fail(ErrorKind::kRefused, "path.outside",
                "the path '" + std::string(text) + "' leads out of the workspace" +
                    (cwd.is_root() ? "" : " from '" + cwd.str() + "', where the call starts"),
                std::string(text));
  }
  if (cwd.is_root()) return RelPath::parse(text);
  std::optional<RelPath> from = cwd;
  const std::string_view rest = climb(text, from);
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(rest));
  return from->join(path);
}

using Names = std::vector<std::string_view>;

/// The names that usual tools give to one argument.
const std::vector<Names>& all_synonyms() {
  static const std::vector<Names> kNames = {
      {"file_path", "filePath", "file", "path", "filename", "file_name", "fileName",
       "absolute_path"},
      {"old_string", "old_str", "oldText", "old_text", "oldString", "oldStr"},
      {"new_string", "new_str", "newText", "new_text", "newString", "newStr"},
      {"content", "contents", "file_text", "file_content"},
      {"command", "cmd"}};
  return kNames;
}

/// The names that a usual tool gives to the argument `name`; null if it is not known.
const Names* synonyms_of(std::string_view name) {
  const std::vector<Names>& all = all_synonyms();
  const auto found =
      std::ranges::find_if(all, [&](const Names& names) { return contains(names, name); });
  return found == all.end() ? nullptr : &*found;
}

/// Whether the schema needs one of these arguments, and never two of them.
bool are_alternatives(const json& schema, const Names& names) {
  size_t count = 0;
  for (const json& branch : schema.value("anyOf", json::array())) {
    const json required = branch.value("required", json::array());
    const auto needed =
        std::ranges::count_if(required, [&](const json& one) { return contains(names, one); });
    if (needed > 1) return false;
    count += static_cast<size_t>(needed);
  }
  return count >= names.size();
}

/// Gives the members of `value` their names in the schema. Returns false if one is not clear.
bool name_members(const json& schema, json& value, std::string& notes) {
  if (!schema.is_object()) return true;
  if (value.is_array()) {
    const json items = schema.value("items", json());
    return std::ranges::all_of(value, [&](json& item) { return name_members(items, item, notes); });
  }
  if (!value.is_object() || !schema.contains("properties")) return true;
  const json& known = schema["properties"];
  std::vector<std::string> others;
  for (const auto& [name, member] : value.items()) {
    if (!known.contains(name)) others.push_back(name);
  }
  for (const std::string& name : others) {
    const Names* synonyms = synonyms_of(name);
    if (synonyms == nullptr) return false;
    Names meant;
    for (const std::string_view synonym : *synonyms) {
      if (synonym != name && value.contains(synonym)) return false;
      if (known.contains(synonym)) meant.push_back(synonym);
    }
    if (meant.empty() || (meant.size() > 1 && !are_alternatives(schema, meant))) return false;
    json member = std::move(value[name]);
    value.erase(name);
    value[std::string(meant.front())] = std::move(member);
    const std::string note = "; '" + name + "' is called '" + std::string(meant.front()) + "' here";
    if (notes.find(note) == std::string::npos) notes += note;
  }
  for (auto& [name, member] : value.items()) {
    if (known.contains(name) && !name_members(known[name], member, notes)) return false;
  }
  return true;
}

/// The types that a schema allows for a member; empty if it does not restrict them.
std::vector<std::string> type_names(const json& schema) {
  if (!schema.is_object() || !schema.contains("type")) return {};
  const json& type = schema["type"];
  std::vector<std::string> out;
  if (type.is_string()) out.push_back(type);
  if (type.is_array()) {
    for (const json& each : type) {
      if (each.is_string()) out.push_back(each);
    }
  }
  return out;
}

bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == (value.is_object() ? "object" : value.is_array() ? "array" : value.type_name());
}

}  // namespace

std::optional<json> with_known_names(const json& schema, const json& args, std::string& notes) {
  json out = args;
  const bool is_clear = name_members(schema, out, notes);
  return is_clear && out != args ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> contradiction(const std::string& schema, const json& args) {
  if (!args.is_object()) return {};
  std::map<const Names*, Names> by_synonyms;
  for (const auto& [name, value] : args.get_ref<const json::object_t&>()) {
    if (const Names* names = synonyms_of(name)) by_synonyms[names].push_back(name);
  }
  for (const auto& [names, given] : by_synonyms) {
    const auto other = std::ranges::find_if(given, [&](std::string_view name) {
      return args[std::string(name)] != args[std::string(given.front())];
    });
    if (other == given.end() || !are_alternatives(json::parse(schema, nullptr, false), given)) {
      continue;
    }
    return "'" + std::string(given.front()) + "' and '" + std::string(*other) +
           "' are two names of one argument and have different values: give one of them";
  }
  return {};
}

std::string first_of(const json& args, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (args.contains(key)) return text_member(args, key);
  }
  return {};
}

bool flag_of(const json& args, const char* key, bool otherwise) {
  const auto field = args.find(key);
  return field != args.end() && field->is_boolean() ? field->get<bool>() : otherwise;
}

std::optional<uint64_t> count_of(const json& args, const char* key) {
  const auto field = args.find(key);
  if (field == args.end() || !field->is_number_integer()) return {};
  return clamped_count(*field);
}

uint64_t clamped_count(const json& integer) {
  return static_cast<uint64_t>(std::max<int64_t>(0, integer.get<int64_t>()));
}

std::optional<uint32_t> parse_octal_mode(const std::string& text) {
  constexpr int kOctal = 8;
  if (text.empty()) return {};
  return static_cast<uint32_t>(std::stoul(text, nullptr, kOctal));
}

std::vector<std::string> texts_of(const json& args, const char* key) {
  std::vector<std::string> texts;
  const auto field = args.find(key);
  if (field == args.end() || !field->is_array()) return texts;
  for (const json& one : *field) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

CallIds take_call_ids(const ToolInfo& info, json& args) {
  CallIds ids;
  for (const auto& [name, id] :
       {std::pair("sessionId", &ids.session_id), std::pair("callId", &ids.call_id)}) {
    const auto given = args.find(name);
    if (given == args.end() || !given->is_string()) continue;
    const json schema = json::parse(info.input_schema, nullptr, false);
    if (schema.value("properties", json::object()).contains(name)) continue;
    *id = given->get<std::string>();
    args.erase(given);
  }
  return ids;
}

Result<json> argument_of_text(const json& schema, const std::string& name,
                              const std::string& text) {
  constexpr size_t kMaxQuotedBytes = 80;
  std::vector<std::string> types;
  if (schema.contains("properties") && schema["properties"].contains(name)) {
    types = type_names(schema["properties"][name]);
  }
  if (types.empty() || contains(types, "string")) {
    return json(text);
  }
  auto value = parse_json(trim(text, kPlainSpaces));
  if (value &&
      std::ranges::any_of(types, [&](const auto& type) { return has_type(*value, type); })) {
    return value;
  }
  return fail(ErrorKind::kInvalid, "call_text.value",
              "the value of '" + name.substr(0, kMaxQuotedBytes) + "' is no " + types.front() +
                  (value ? "" : ": " + value.error().message));
}

Result<RelPath> file_argument(const std::string& text, const PathOrigin& origin) {
  if (text.empty() || text.front() != '/') return below_cwd(text, origin.cwd);
  if (!origin.root.empty()) {
    return RelPath::parse_within(without_entered_link(text, origin.root), origin.root);
  }
  return fail(ErrorKind::kRefused, "path.outside",
              "the path '" + text + "' is absolute; name files relative to the workspace root",
              text);
}

Result<RelPath> directory_argument(const std::string& text, const PathOrigin& origin) {
  const std::string real = without_entered_link(text, origin.root);
  std::string_view rest = real;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest == "." || rest == "./") return origin.cwd;
  const bool is_root = origin.root.empty()
                           ? rest == "/"
                           : rest.starts_with('/') && normalized_path(real) == origin.root;
  if (is_root) return RelPath::root();
  std::optional<RelPath> above = origin.cwd;
  const std::string_view below = climb(rest, above);
  if (above && below.empty()) return *above;
  return file_argument(std::string(rest), origin);
}

}  // namespace galley
