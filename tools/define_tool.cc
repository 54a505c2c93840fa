#include <galley/define_tool.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "staging/overlay/overlay.h"
#include "tools/call_arguments.h"
#include "tools/json_input.h"
#include "tools/tool_factory.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

tl::unexpected<Error> unwritable(const std::string& name, const std::string& why) {
  return fail(ErrorKind::kInternal, "tool.output",
              "the tool's answer cannot be written: '" + name + "' " + why);
}

}  // namespace

/// Writes objects as JSON by their shape.
class ShapeWriter {
 public:
  using Shape = ToolDefinition::Shape;
  explicit ShapeWriter(const Shape& shape) : shape_(shape) {}

  Result<ordered_json> write(size_t index, const Shape::Member& member, const void* at) const {
    const Shape::Node& node = shape_.nodes_[index];
    switch (node.kind) {
      case Shape::Kind::kFlag:
        return ordered_json(*static_cast<const bool*>(at));
      case Shape::Kind::kInteger:
        return ordered_json(node.integer(at));
      case Shape::Kind::kNumber:
        if (!std::isfinite(node.number(at)))
          return unwritable(member.name, "is not a finite number");
        return ordered_json(node.number(at));
      case Shape::Kind::kText:
        if (!is_utf8(*static_cast<const std::string*>(at))) {
          return unwritable(member.name, "is not UTF-8; give bytes in base64");
        }
        return ordered_json(*static_cast<const std::string*>(at));
      case Shape::Kind::kChoice:
        for (const auto& [name, value] : member.choices) {
          if (value == node.integer(at)) return ordered_json(name);
        }
        return unwritable(member.name, "has an enumerator without a name");
      case Shape::Kind::kOptional:
      case Shape::Kind::kList:
      case Shape::Kind::kMap:
        return write_items(node, member, at);
      case Shape::Kind::kObject:
        return write_object(node, at);
    }
    return ordered_json();
  }

  /// Leaves out members that are null, such as an empty optional.
  Result<ordered_json> write_object(const Shape::Node& node, const void* at) const {
    ordered_json out = ordered_json::object();
    for (const Shape::Member& member : node.members) {
      GALLEY_ASSIGN(ordered_json value,
                    write(member.node, member, member.place(const_cast<void*>(at))));
      if (!value.is_null()) out[member.name] = std::move(value);
    }
    return out;
  }

 private:
  Result<ordered_json> write_items(const Shape::Node& node, const Shape::Member& member,
                                   const void* at) const {
    ordered_json out;
    if (node.kind == Shape::Kind::kList) out = ordered_json::array();
    if (node.kind == Shape::Kind::kMap) out = ordered_json::object();
    std::optional<Error> failure;
    node.visit(at, [&](const std::string& key, const void* item) {
      if (failure) return;
      const bool has_items = node.kind != Shape::Kind::kOptional && member.items;
      auto value = write(node.item, has_items ? *member.items : member, item);
      if (!value) {
        failure = value.error();
      } else if (node.kind == Shape::Kind::kList) {
        out.push_back(*std::move(value));
      } else if (node.kind == Shape::Kind::kMap) {
        out[key] = *std::move(value);
      } else {
        out = *std::move(value);
      }
    });
    if (failure) return fail(*std::move(failure));
    return out;
  }

  const Shape& shape_;
};

/// Makes the schema of a shape. Structs that contain themselves become `$defs`.
class ShapeSchema {
 public:
  using Shape = ToolDefinition::Shape;
  explicit ShapeSchema(const Shape& shape) : shape_(shape), writer_(shape) {}

  /// Returns text, not a document: a document would silently keep one of two members of one name.
  /// In text both are present, and the registry refuses them by name.
  std::string text_of(size_t index) {
    std::string out = object_text(shape_.nodes_[index], index);
    if (defs_.empty()) return out;
    out.pop_back();
    out += R"(,"$defs":{)";
    bool is_first = true;
    for (size_t i = 0; i < defs_.size(); ++i) {  // defs_ grows in the loop
      const size_t def = defs_[i];
      out +=
          (is_first ? "\"" : ",\"") + name_of(def) + "\":" + object_text(shape_.nodes_[def], kNone);
      is_first = false;
    }
    return out + "}}";
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  static std::string name_of(size_t index) { return "type" + std::to_string(index); }

  std::string object_text(const Shape::Node& node, size_t index) {
    if (index != kNone) open_.push_back(index);
    std::string members;
    std::vector<std::string> required;
    for (const Shape::Member& member : node.members) {
      std::string schema = member_text(member, member.node);
      if (member.has_default) add_default(node, member, schema);
      members += (members.empty() ? "" : ",") + json_text(json(member.name)) + ":" + schema;
      if (member.is_required) required.push_back(member.name);
    }
    if (index != kNone) open_.pop_back();
    std::string out = R"({"type":"object","properties":{)" + members + "}";
    if (!required.empty()) out += ",\"required\":" + json_text(json(required));
    return out + R"(,"additionalProperties":false})";
  }

  void add_default(const Shape::Node& node, const Shape::Member& member, std::string& schema) {
    const auto made = node.make();
    const auto value = writer_.write(member.node, member, member.place(made.get()));
    if (!value) return;  // an unwritable value is not a default that a caller could send
    schema.pop_back();
    schema += (schema.size() > 1 ? ",\"default\":" : "\"default\":") + json_text(*value) + "}";
  }

  /// The schema of a member, of its items, or of the value that is optional in it.
  std::string member_text(const Shape::Member& member, size_t index) {
    const Shape::Node& node = shape_.nodes_[index];
    if (node.kind == Shape::Kind::kOptional) return member_text(member, node.item);
    ordered_json own = ordered_json::object();
    if (!member.description.empty()) own["description"] = member.description;
    if (node.kind == Shape::Kind::kObject) return with(own, struct_text(index));
    own.update(constraints(node, member, index));
    if (node.kind != Shape::Kind::kList && node.kind != Shape::Kind::kMap) return json_text(own);
    const std::string item = member_text(member.items ? *member.items : Shape::Member(), node.item);
    const char* keyword = node.kind == Shape::Kind::kList ? "items" : "additionalProperties";
    std::string text = json_text(own);
    text.pop_back();
    return text + ",\"" + keyword + "\":" + item + "}";
  }

  std::string struct_text(size_t index) {
    const bool holds_itself = std::find(open_.begin(), open_.end(), index) != open_.end();
    const bool is_def = std::find(defs_.begin(), defs_.end(), index) != defs_.end();
    if (!holds_itself && !is_def) return object_text(shape_.nodes_[index], index);
    if (!is_def) defs_.push_back(index);
    return R"({"$ref":"#/$defs/)" + name_of(index) + "\"}";
  }

  static std::string with(const ordered_json& own, const std::string& object) {
    if (own.empty()) return object;
    std::string text = json_text(own);
    text.pop_back();
    return text + "," + object.substr(1);
  }

  ordered_json constraints(const Shape::Node& node, const Shape::Member& member,
                           size_t index) const {
    ordered_json out;
    switch (node.kind) {
      case Shape::Kind::kFlag:
        out["type"] = "boolean";
        break;
      case Shape::Kind::kInteger:
        out["type"] = "integer";
        add_range(node, member, out);
        break;
      case Shape::Kind::kNumber:
        out["type"] = "number";
        break;
      case Shape::Kind::kText:
        out["type"] = "string";
        if (!member.texts.empty()) out["enum"] = member.texts;
        break;
      case Shape::Kind::kChoice:
        out["type"] = "string";
        out["enum"] = nullptr;  // an enumeration without names is refused with the schema
        for (const auto& [name, value] : member.choices) out["enum"].push_back(name);
        break;
      case Shape::Kind::kList:
        out["type"] = "array";
        break;
      case Shape::Kind::kMap:
        out["type"] = "object";
        break;
      case Shape::Kind::kOptional:
      case Shape::Kind::kObject:
        break;
    }
    for (const auto& [keyword, value] : member.bounds) {
      const auto whole = static_cast<int64_t>(value);
      if (node.kind == Shape::Kind::kInteger && out.contains(keyword)) continue;  // by add_range
      const bool is_whole = static_cast<double>(whole) == value;
      out[keyword] = is_whole ? ordered_json(whole) : ordered_json(value);
    }
    for (const auto& [keyword, value] : member.words) out[keyword] = value;
    if (member.is_unique) out["uniqueItems"] = true;
    for (const auto& example : member.examples) {
      const auto value = writer_.write(index, member, example.get());
      if (value) out["examples"].push_back(*value);
    }
    return out;
  }

  /// Adds the narrower of the member's bounds and the range of its type.
  static void add_range(const Shape::Node& node, const Shape::Member& member, ordered_json& out) {
    double least = static_cast<double>(node.least);
    double most = static_cast<double>(node.most);
    for (const auto& [keyword, value] : member.bounds) {
      if (keyword == "minimum") least = std::max(least, std::ceil(value));
      if (keyword == "maximum") most = std::min(most, std::floor(value));
    }
    constexpr double kTwoTo63 = 9223372036854775808.0;
    if (least > -kTwoTo63) out["minimum"] = static_cast<int64_t>(least);
    if (most < kTwoTo63) out["maximum"] = static_cast<int64_t>(most);
  }

  const Shape& shape_;
  ShapeWriter writer_;
  std::vector<size_t> open_;  ///< structs whose schema is being written
  std::vector<size_t> defs_;
};

/// Fills objects from JSON by their shape.
class ShapeReader {
 public:
  using Shape = ToolDefinition::Shape;
  explicit ShapeReader(const Shape& shape) : shape_(shape) {}

  Result<void> read(size_t index, const Shape::Member& member, const json& value, void* at,
                    const std::string& where) const {
    const Shape::Node& node = shape_.nodes_[index];
    switch (node.kind) {
      case Shape::Kind::kFlag:
        if (!value.is_boolean()) return unfit(where, "wanted a boolean");
        *static_cast<bool*>(at) = value.get<bool>();
        return {};
      case Shape::Kind::kInteger:
        if (!value.is_number_integer()) return unfit(where, "wanted an integer");
        if (value.is_number_unsigned() ? std::cmp_greater(value.get<uint64_t>(), node.most)
                                       : value.get<int64_t>() < node.least) {
          return unfit(where, "is outside of its range");
        }
        if (value.get<int64_t>() > node.most) return unfit(where, "is outside of its range");
        node.set_integer(at, value.get<int64_t>());
        return {};
      case Shape::Kind::kNumber:
        if (!value.is_number()) return unfit(where, "wanted a number");
        node.set_number(at, value.get<double>());
        return {};
      case Shape::Kind::kText:
        if (!value.is_string()) return unfit(where, "wanted a string");
        *static_cast<std::string*>(at) = value.get<std::string>();
        return {};
      case Shape::Kind::kChoice:
        for (const auto& [name, choice] : member.choices) {
          if (value != name) continue;
          node.set_integer(at, choice);
          return {};
        }
        return unfit(where, "is not one of its names");
      case Shape::Kind::kOptional:
        return read(node.item, member, value, node.add(at, {}), where);
      case Shape::Kind::kList:
      case Shape::Kind::kMap:
        return read_items(node, member, value, at, where);
      case Shape::Kind::kObject:
        return read_object(node, value, at, where);
    }
    return {};
  }

 private:
  static tl::unexpected<Error> unfit(const std::string& where, const std::string& why) {
    return fail(ErrorKind::kInvalid, "args.schema",
                (where.empty() ? "the argument object" : where) + ": " + why);
  }

  Result<void> read_items(const Shape::Node& node, const Shape::Member& member, const json& value,
                          void* at, const std::string& where) const {
    static const Shape::Member kPlain;
    const Shape::Member& items = member.items ? *member.items : kPlain;
    if (node.kind == Shape::Kind::kList ? !value.is_array() : !value.is_object()) {
      return unfit(where, node.kind == Shape::Kind::kList ? "wanted an array" : "wanted an object");
    }
    for (const auto& [key, item] : value.items()) {
      GALLEY_TRY(read(node.item, items, item, node.add(at, key), where + "/" + key));
    }
    return {};
  }

  Result<void> read_object(const Shape::Node& node, const json& value, void* at,
                           const std::string& where) const {
    if (!value.is_object()) return unfit(where, "wanted an object");
    for (const Shape::Member& member : node.members) {
      const auto found = value.find(member.name);
      if (found == value.end()) {
        if (member.is_required) return unfit(where + "/" + member.name, "is missing");
        continue;
      }
      GALLEY_TRY(read(member.node, member, *found, member.place(at), where + "/" + member.name));
    }
    return {};
  }

  const Shape& shape_;
};

std::string ToolDefinition::Shape::schema() const { return ShapeSchema(*this).text_of(root_); }

Result<void> ToolDefinition::Shape::read(std::string_view text, void* object) const {
  GALLEY_ASSIGN(const nlohmann::json document, parse_json(text));
  return ShapeReader(*this).read(root_, Member(), document, object, "");
}

Result<std::string> ToolDefinition::Shape::write(const void* object) const {
  GALLEY_ASSIGN(const nlohmann::ordered_json document,
                ShapeWriter(*this).write(root_, Member(), object));
  return json_text(document);
}

struct ToolRun::State {
  const ToolInfo& info;
  const nlohmann::json& args;
  std::string args_text;
  ToolContext& context;

  [[nodiscard]] Result<RelPath> file(std::string_view text) const {
    return file_argument(std::string(text), context.origin());
  }
  [[nodiscard]] Result<RelPath> directory(std::string_view text) const {
    return directory_argument(std::string(text), context.origin());
  }
  /// Whether the caller may make this access.
  [[nodiscard]] Result<void> admit(const Intent& intent) const {
    if (!intent.writes.empty() && info.annotations.read_only) {
      return fail(ErrorKind::kRefused, "tool.read_only",
                  "the tool '" + info.name + "' declares itself read-only");
    }
    return context.judge ? context.judge(intent) : Result<void>();
  }
};

namespace {

const nlohmann::json* member(const nlohmann::json& args, std::string_view name) {
  const auto found = args.find(name);
  return found != args.end() ? &*found : nullptr;
}

Intent intent_to(std::vector<RelPath> read, std::vector<RelPath> write) {
  Intent intent;
  intent.reads = std::move(read);
  intent.writes = std::move(write);
  return intent;
}

/// The error code for an exception. Its message may describe internals, so it goes to the record
/// only. The caller gets the code and the reason.
ToolErrorCode code_of_exception(const std::exception& thrown) {
  if (const auto* failed = dynamic_cast<const std::system_error*>(&thrown)) {
    if (failed->code() == std::errc::timed_out) return ToolErrorCode::kTimeout;
    if (failed->code() == std::errc::permission_denied ||
        failed->code() == std::errc::operation_not_permitted) {
      return ToolErrorCode::kPermission;
    }
    return ToolErrorCode::kRuntime;
  }
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
      dynamic_cast<const std::length_error*>(&thrown) != nullptr) {
    return ToolErrorCode::kQuota;
  }
  const bool is_about_arguments = dynamic_cast<const std::invalid_argument*>(&thrown) != nullptr ||
                                  dynamic_cast<const std::domain_error*>(&thrown) != nullptr ||
                                  dynamic_cast<const std::out_of_range*>(&thrown) != nullptr;
  return is_about_arguments ? ToolErrorCode::kValidation : ToolErrorCode::kRuntime;
}

ToolResult threw(const std::string& name, ToolErrorCode code, std::string cause) {
  return ToolResult::failure(
      {code, "tool.threw",
       "the tool '" + name + "' failed inside, nothing was staged; the record has the cause",
       nullptr, std::move(cause)});
}

ToolResult answered_wrongly(const std::string& name, const std::string& why) {
  return ToolResult::failure({ToolErrorCode::kRuntime, "tool.output",
                              "the tool '" + name + "' answered wrongly: " + why, nullptr});
}

}  // namespace

const std::string& ToolRun::arguments() const { return state_->args_text; }

std::string ToolRun::text(std::string_view name, std::string otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : otherwise;
}

int64_t ToolRun::number(std::string_view name, int64_t otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : otherwise;
}

bool ToolRun::flag(std::string_view name, bool otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

const std::string& ToolRun::agent() const { return state_->context.agent; }
const std::string& ToolRun::call_id() const { return state_->context.call.call_id; }
const std::string& ToolRun::session_id() const { return state_->context.call.session_id; }

std::string ToolRun::cwd() const {
  const RelPath& folder = state_->context.cwd;
  return folder.is_root() ? "." : folder.str();
}

Result<std::string> ToolRun::read(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  GALLEY_ASSIGN(const Content content, state_->context.overlay.read(source));
  return *content;
}

Result<FileKind> ToolRun::kind(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, state_->directory(path));
  if (source.is_root()) return FileKind::kDirectory;
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  GALLEY_ASSIGN(const Node node, state_->context.overlay.node_without_content(source));
  return node.kind;
}

Result<std::vector<std::string>> ToolRun::list(std::string_view directory) {
  GALLEY_ASSIGN(const RelPath source, state_->directory(directory));
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  return state_->context.overlay.list(source).map(listed_names);
}

Result<void> ToolRun::write(std::string_view path, std::string content) {
  GALLEY_ASSIGN(const RelPath target, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({}, {target})));
  return state_->context.overlay.write(target, std::move(content));
}

Result<void> ToolRun::remove(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({}, {target})));
  return state_->context.overlay.remove(target);
}

Result<void> ToolRun::move(std::string_view from, std::string_view to) {
  GALLEY_ASSIGN(const RelPath source, state_->file(from));
  GALLEY_ASSIGN(const RelPath target, state_->file(to));
  GALLEY_TRY(state_->admit(intent_to({source}, {source, target})));
  return state_->context.overlay.move(source, target);
}

Result<std::string> ToolRun::call(std::string_view tool, std::string_view json_arguments) {
  if (!state_->context.call_tool) {
    return fail(ErrorKind::kRefused, "call.nested", "no tool can be called from a tool here");
  }
  GALLEY_ASSIGN(const nlohmann::json args, parse_json(json_arguments));
  const ToolResult result = state_->context.call_tool(std::string(tool), args);
  if (!result.ok) return fail(error_from(*result.error));
  return json_text(*result.data);
}

void ToolRun::note(std::string_view line) {
  const auto& logger = state_->context.logger;
  if (logger) logger({ToolLog::Stream::kNote, line});
}

void ToolRun::progress(uint64_t done, uint64_t total) {
  const auto& listener = state_->context.call.progress;
  if (listener) listener(done, total);
}

bool ToolRun::should_stop() const { return state_->context.is_over(); }

/// The adapter between a program's definition of a tool and the executor.
class DefinedTool final : public Tool {
 public:
  explicit DefinedTool(ToolDefinition definition) : definition_(std::move(definition)) {}

  [[nodiscard]] const ToolInfo& info() const override { return definition_.info; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return definition_.sanitize; }

  Result<Intent> intent(const nlohmann::json& /*args*/,
                        const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    return intent;
  }

  ToolResult run(const nlohmann::json& args, ToolContext& context) const override {
    try {
      return run_function(args, context);
    } catch (const std::exception& thrown) {
      return threw(info().name, code_of_exception(thrown), thrown.what());
    } catch (...) {
      return threw(info().name, ToolErrorCode::kRuntime, "an exception of an unknown type");
    }
  }

 private:
  ToolResult run_function(const nlohmann::json& args, ToolContext& context) const {
    ToolRun::State state{info(), args, json_text(args), context};
    ToolRun call(state);
    const auto answer = definition_.run(call);
    if (!answer) {
      // What a function says of a call that its caller stopped is no fault of the tool.
      const bool is_stopped = context.stop.stop_requested();
      return ToolResult::failure(tool_error_from(is_stopped ? call_cancelled() : answer.error()));
    }
    const auto document = parse_json(*answer);
    if (!document) return answered_wrongly(info().name, document.error().message);
    if (!document->is_object()) return answered_wrongly(info().name, "it is not a JSON object");
    return ToolResult::success(*document);
  }

  ToolDefinition definition_;
};

Result<std::unique_ptr<const Tool>> make_defined_tool(ToolDefinition definition) {
  if (!definition.run) {
    return fail(ErrorKind::kInvalid, "tool.no_function",
                "the tool '" + definition.info.name + "' has no function to run");
  }
  return std::unique_ptr<const Tool>(std::make_unique<DefinedTool>(std::move(definition)));
}

}  // namespace galley
