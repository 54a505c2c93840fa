#include "tools/custom_manifest.h"

#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/glob.h"
#include "base/printable.h"
#include "base/rel_path.h"
#include "base/text.h"
#include "staging/sandbox/egress_proxy.h"
#include "tools/json_input.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr int kMaxManifestDepth = 64;  // of a manifest with its schemas
constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kMaxManifestList = 100;  // capabilities, secrets or examples of one tool
constexpr int64_t kMaxTimeoutMs = 600'000;
constexpr uint64_t kMinMemoryBytes = uint64_t{1} << 20U;
constexpr double kMaxProcessors = 1024;

/// One object of a manifest. Every key is read here, so a key that is never read is unknown.
class ManifestObject {
 public:
  ManifestObject(const json& object, std::string place, const std::string& file)
      : object_(object), place_(std::move(place)), file_(file) {}

  [[nodiscard]] tl::unexpected<Error> invalid(std::string reason, const std::string& what) const {
    return fail(ErrorKind::kInvalid, std::move(reason), printable_line(file_) + ": " + what);
  }
  [[nodiscard]] tl::unexpected<Error> wrong(const char* key, const std::string& wanted) const {
    return invalid("manifest.value", "'" + place_ + key + "' has to be " + wanted);
  }

  Result<void> check_keys(const std::vector<std::string>& known) const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return invalid("manifest.unknown_key", "there is no key '" + place_ +
                                                 printable_line(key.substr(0, kMaxTextBytes)) +
                                                 "'" + did_you_mean(key, known));
    }
    return {};
  }

  [[nodiscard]] const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() ? &*found : nullptr;
  }

  /// A text on one line; a missing one is an error when it is `needed`.
  Result<std::string> text(const char* key, bool needed) const {
    const json* value = find(key);
    if (value == nullptr && !needed) return std::string();
    if (value == nullptr) {
      return invalid("manifest.missing", "the key '" + place_ + key + "' is missing");
    }
    if (!value->is_string() || value->get_ref<const std::string&>().empty() ||
        value->get_ref<const std::string&>().size() > kMaxTextBytes) {
      return wrong(key, "a text of 1 to " + std::to_string(kMaxTextBytes) + " bytes");
    }
    return value->get<std::string>();
  }

  Result<bool> flag(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return wrong(key, "true or false");
    return value->get<bool>();
  }

  Result<std::vector<std::string>> texts(const char* key) const {
    std::vector<std::string> all;
    const json* value = find(key);
    if (value == nullptr) return all;
    const bool is_list =
        value->is_array() && value->size() <= kMaxManifestList &&
        std::all_of(value->begin(), value->end(), [](const json& one) { return one.is_string(); });
    if (!is_list)
      return wrong(key, "a list of at most " + std::to_string(kMaxManifestList) + " texts");
    for (const json& one : *value) all.push_back(one.get<std::string>());
    return all;
  }

  /// The object under a key; an empty object if the key is missing and not `needed`.
  Result<ManifestObject> below(const char* key, bool needed = false) const {
    static const json kNone = json::object();
    const json* value = find(key);
    if (value == nullptr && needed) {
      return invalid("manifest.missing", "the key '" + place_ + key + "' is missing");
    }
    if (value != nullptr && !value->is_object()) return wrong(key, "an object");
    return ManifestObject(value != nullptr ? *value : kNone, place_ + key + ".", file_);
  }

  /// A JSON Schema of an object, as text.
  Result<std::string> schema(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::string(R"({"type":"object"})");
    if (!value->is_object() || value->value("type", json()) != "object") {
      return wrong(key, "a JSON Schema with \"type\": \"object\"");
    }
    return json_text(*value);
  }

 private:
  const json& object_;
  std::string place_;
  const std::string& file_;
};

/// Parses "1GB", "512 MiB" or a number of bytes. Units are powers of two, as in `docker run`.
std::optional<uint64_t> bytes_of(const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (!value.is_string()) return {};
  static const re2::RE2 kSize(R"((?i)(\d{1,12}(?:\.\d{1,3})?) ?([kmg]?)(?:i?b)?)");
  double number = 0;
  std::string unit;
  if (!re2::RE2::FullMatch(value.get<std::string>(), kSize, &number, &unit)) return {};
  constexpr double kStep = 1024;
  for (const char letter : {'k', 'm', 'g'}) {
    if (unit.empty()) break;
    number *= kStep;
    if ((unit.front() | 0x20) == letter) break;
  }
  return static_cast<uint64_t>(number);
}

Result<void> read_resources(const ManifestObject& capabilities, CustomManifest& manifest) {
  GALLEY_ASSIGN(const ManifestObject resources, capabilities.below("resources"));
  GALLEY_TRY(resources.check_keys({"memory", "cpus"}));
  if (const json* memory = resources.find("memory")) {
    manifest.memory_bytes = bytes_of(*memory);
    if (!manifest.memory_bytes || *manifest.memory_bytes < kMinMemoryBytes) {
      return resources.wrong("memory", "a size of at least 1MB, such as \"512MB\" or \"1GB\"");
    }
    manifest.info.max_memory_bytes = manifest.memory_bytes;
  }
  if (const json* cpus = resources.find("cpus")) {
    const double count = cpus->is_number() ? cpus->get<double>() : 0;
    if (!(count > 0) || count > kMaxProcessors) {
      return resources.wrong("cpus", "a number above 0, such as 0.5");
    }
    const auto time = static_cast<double>(manifest.info.timeout->count());
    manifest.processor_ms = static_cast<uint64_t>(std::ceil(count * time));
  }
  return {};
}

/// Reads the hosts that the program may reach: none, all or a list.
Result<void> read_egress(const ManifestObject& capabilities, CustomManifest& manifest) {
  GALLEY_ASSIGN(const ManifestObject network, capabilities.below("network"));
  GALLEY_TRY(network.check_keys({"egress"}));
  GALLEY_ASSIGN(auto hosts, network.texts("egress"));
  if (hosts.empty()) return {};
  manifest.uses_network = true;
  if (std::find(hosts.begin(), hosts.end(), "*") != hosts.end()) return {};
  if (!parse_allowed_hosts(hosts)) {
    return network.wrong("egress", "[\"*\"], or a list of hosts such as \"api.example.org\"");
  }
  manifest.hosts = std::move(hosts);
  return {};
}

/// Whether a capability is one of Galley's own, as it should be written, or of an open domain.
bool is_known_need(const std::string& need, const std::vector<std::string>& own) {
  const auto is_of_own_domain = [&](const std::string& one) {
    return need.starts_with(one.substr(0, one.find(':') + 1));
  };
  const std::string name = need.substr(0, need.find(':', need.find(':') + 1));
  return std::none_of(own.begin(), own.end(), is_of_own_domain) ||
         std::find(own.begin(), own.end(), name) != own.end();
}

/// Reads the capabilities that the caller must have. A custom tool always runs a program and can
/// read the tree.
Result<void> read_needs(const ManifestObject& manifest, CustomManifest& out) {
  GALLEY_ASSIGN(auto needs, manifest.texts("required_capabilities"));
  constexpr std::string_view kWrite = "fs:write";
  bool writes_anywhere = false;
  for (const std::string& need : needs) {
    static const re2::RE2 kCapability(R"([a-z][a-z0-9_-]*:[^\s:!][^\s]*|exec)");
    static const std::vector<std::string> kOwn = {"fs:read",   "fs:write", "fs:create", "fs:modify",
                                                  "fs:delete", "net:none", "net:host"};
    if (!re2::RE2::FullMatch(need, kCapability) || !is_known_need(need, kOwn)) {
      return manifest.wrong("required_capabilities",
                            "a list of capabilities such as \"fs:write:docs/**\"; '" +
                                printable_line(need.substr(0, kMaxTextBytes)) + "' is not one" +
                                did_you_mean(need, kOwn));
    }
    if (need == "net:host") out.uses_network = true;
    if (need != kWrite && !need.starts_with(std::string(kWrite) + ":")) continue;
    out.writes = true;
    writes_anywhere |= need == kWrite;
    if (need != kWrite) out.writable.push_back(need.substr(kWrite.size() + 1));
  }
  if (writes_anywhere) out.writable.clear();
  if (const auto patterns = GlobList::parse(out.writable); !patterns) {
    return manifest.wrong("required_capabilities", "sound: " + patterns.error().message);
  }
  for (const char* always : {"fs:read", "exec"}) needs.emplace_back(always);
  if (out.uses_network) needs.emplace_back("net:host");
  for (std::string& need : needs) {
    auto& all = out.info.capabilities;
    if (std::find(all.begin(), all.end(), need) == all.end()) all.push_back(std::move(need));
  }
  return {};
}

Result<void> read_category(const ManifestObject& manifest, CustomManifest& out) {
  GALLEY_ASSIGN(const std::string category, manifest.text("category", false));
  out.info.category = out.uses_network ? ToolInfo::Category::kApi : ToolInfo::Category::kSystem;
  if (!category.empty()) {
    // `direct` is refused: a custom tool runs as a separate program, not in this process.
    const auto found = category_named(category);
    if (!found || *found == ToolInfo::Category::kDirect)
      return manifest.wrong("category", "\"api\", \"mcp\" or \"system\"");
    out.info.category = *found;
  }
  milliseconds time = usual_timeout(out.info.category);
  if (const json* asked = manifest.find("timeout_ms")) {
    const bool is_number = asked->is_number_integer() && asked->get<int64_t>() >= 1 &&
                           asked->get<int64_t>() <= kMaxTimeoutMs;
    if (!is_number) {
      return manifest.wrong("timeout_ms", "a number from 1 to " + std::to_string(kMaxTimeoutMs));
    }
    time = milliseconds(asked->get<int64_t>());
  }
  out.info.timeout = time;
  return {};
}

Result<void> read_danger(const ManifestObject& manifest, const ManifestObject& provides,
                         CustomManifest& out) {
  GALLEY_ASSIGN(const std::string risk, manifest.text("risk_level", false));
  if (!risk.empty()) {
    const auto found = risk_named(risk);
    if (!found) {
      return manifest.wrong("risk_level", "\"low\", \"medium\", \"high\" or \"critical\"");
    }
    out.info.risk_level = *found;
  }
  if (const json* tier = provides.find("securityTier")) {
    constexpr int kHighest = 4;
    if (!tier->is_number_integer() || *tier < 0 || *tier > kHighest) {
      return provides.wrong("securityTier", "a number from 0 to 4");
    }
    out.info.security_tier = static_cast<ToolInfo::Tier>(tier->get<int>());
  }
  GALLEY_ASSIGN(out.info.requires_confirmation, manifest.flag("requires_confirmation"));
  GALLEY_ASSIGN(out.info.annotations.idempotent, manifest.flag("idempotent"));
  GALLEY_ASSIGN(out.info.is_context_aware, manifest.flag("context_aware"));
  out.info.annotations.read_only = !out.writes && !out.uses_network;
  out.info.annotations.destructive = out.writes;
  out.info.annotations.open_world = true;
  out.info.is_reversible = out.writes;
  if (manifest.find("reversible") != nullptr) {
    GALLEY_ASSIGN(out.info.is_reversible, manifest.flag("reversible"));
  }
  GALLEY_ASSIGN(out.info.rollback_tool, manifest.text("rollback_tool", false));
  return {};
}

Result<void> read_examples(const ManifestObject& manifest, CustomManifest& out) {
  const json* examples = manifest.find("examples");
  if (examples == nullptr) return {};
  const bool is_list = examples->is_array() && examples->size() <= kMaxManifestList &&
                       std::all_of(examples->begin(), examples->end(),
                                   [](const json& one) { return one.is_object(); });
  if (!is_list)
    return manifest.wrong("examples", "a list of objects, each the arguments of a call");
  for (const json& one : *examples) out.info.examples.push_back(json_text(one));
  return {};
}

Result<void> read_program(const ManifestObject& manifest, CustomManifest& out) {
  GALLEY_ASSIGN(out.executable, manifest.text("executable", false));
  if (!out.executable.empty()) {
    const auto path = RelPath::parse(out.executable);
    if (!path) return manifest.wrong("executable", "a path below the manifest's folder");
    out.executable = path->str();
  }
  GALLEY_ASSIGN(out.secrets, manifest.texts("secrets"));
  static const re2::RE2 kName("[A-Za-z_][A-Za-z0-9_]{0,127}");
  for (const std::string& name : out.secrets) {
    if (!re2::RE2::FullMatch(name, kName)) {
      return manifest.wrong("secrets", "a list of names of environment variables");
    }
  }
  return {};
}

Result<void> read_identity(const ManifestObject& manifest, const ManifestObject& provides,
                           CustomManifest& out) {
  GALLEY_ASSIGN(out.package, manifest.text("name", true));
  GALLEY_ASSIGN(const std::string type, manifest.text("type", true));
  if (type != "tool") return manifest.wrong("type", "\"tool\"");
  GALLEY_ASSIGN(out.info.version, manifest.text("version", true));
  if (!is_semantic_version(out.info.version)) {
    return manifest.wrong("version", "a semantic version such as \"1.0.0\"");
  }
  GALLEY_ASSIGN(out.info.name, provides.text("tool", true));
  GALLEY_ASSIGN(out.info.description, manifest.text("description", false));
  if (out.info.description.empty()) {
    out.info.description = "The tool of " + out.package + ", which does not describe it.";
  }
  GALLEY_ASSIGN(out.info.title, manifest.text("title", false));
  if (out.info.title.empty()) {
    out.info.title = out.info.description.substr(0, out.info.description.find_first_of(".\n"));
  }
  const size_t dot = out.info.name.find('.');
  if (dot != std::string::npos) out.info.namespace_name = out.info.name.substr(0, dot);
  GALLEY_ASSIGN(out.info.input_schema, manifest.schema("input_schema"));
  GALLEY_ASSIGN(out.info.output_schema, manifest.schema("output_schema"));
  return {};
}

}  // namespace

Result<CustomManifest> CustomManifest::parse(std::string_view text, const std::string& file) {
  const auto document = parse_json(text, {kMaxManifestBytes, kMaxManifestDepth});
  if (!document || !document->is_object()) {
    Error error =
        document ? Error{ErrorKind::kInvalid, "", "it is not a JSON object"} : document.error();
    if (error.kind == ErrorKind::kInvalid) error.reason = "manifest.malformed";
    error.message = printable_line(file) + ": " + error.message;
    return fail(std::move(error));
  }
  const ManifestObject manifest(*document, "", file);
  GALLEY_TRY(manifest.check_keys(
      {"name",        "version",       "type",         "capabilities",  "provides",
       "description", "title",         "input_schema", "output_schema", "required_capabilities",
       "category",    "risk_level",    "timeout_ms",   "executable",    "requires_confirmation",
       "idempotent",  "context_aware", "reversible",   "rollback_tool", "examples",
       "secrets"}));
  GALLEY_ASSIGN(const ManifestObject capabilities, manifest.below("capabilities"));
  GALLEY_TRY(capabilities.check_keys({"network", "resources"}));
  GALLEY_ASSIGN(const ManifestObject provides, manifest.below("provides", true));
  GALLEY_TRY(provides.check_keys({"tool", "securityTier"}));
  CustomManifest out;
  out.text = text;
  GALLEY_TRY(read_identity(manifest, provides, out));
  GALLEY_TRY(read_program(manifest, out));
  GALLEY_TRY(read_egress(capabilities, out));
  GALLEY_TRY(read_needs(manifest, out));
  GALLEY_TRY(read_category(manifest, out));
  GALLEY_TRY(read_resources(capabilities, out));
  GALLEY_TRY(read_danger(manifest, provides, out));
  GALLEY_TRY(read_examples(manifest, out));
  return out;
}

}  // namespace galley
