#include "engine/pipeline/replay.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "staging/overlay/staged_step.h"
#include "tools/json_difference.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kRedacted = "[REDACTED:";

std::string shown(const Node& node) {
  switch (node.kind) {
    case FileKind::kAbsent:
      return "absent";
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a link, target " + node.content.hex();
    case FileKind::kRegular:
      break;
    case FileKind::kOther:
      return "a special file";
  }
  const bool is_executable = (node.mode & 0100U) != 0;
  return std::string(is_executable ? "an executable" : "a file") + " of " +
         std::to_string(node.size) + " bytes, " + node.content.hex();
}

/// Compares only the execute bit of a mode. The other bits depend on the umask.
bool is_same(const Node& a, const Node& b) {
  const bool has_bits = a.kind == FileKind::kRegular;
  return a.kind == b.kind && a.content == b.content &&
         (!has_bits || (a.mode & 0100U) == (b.mode & 0100U));
}

/// Replaces the old root at the beginning of texts with the new one.
ordered_json moved_to(const ordered_json& value, const std::string& old_root,
                      const std::string& root) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool is_inside =
        !old_root.empty() && (text == old_root || text.starts_with(old_root + "/"));
    return is_inside ? ordered_json(root + text.substr(old_root.size())) : value;
  }
  if (!value.is_structured()) return value;
  ordered_json out = value;
  for (auto& item : out) item = moved_to(item, old_root, root);
  return out;
}

bool has_text(const ordered_json& value, std::string_view part) {
  if (value.is_string()) return value.get_ref<const std::string&>().find(part) != std::string::npos;
  if (!value.is_structured()) return false;
  return std::ranges::any_of(value, [&](const ordered_json& item) { return has_text(item, part); });
}

/// Returns the fields of a result that are compared.
ordered_json compared_part(const ordered_json& result) {
  ordered_json out = {{"ok", result.value("ok", false)}};
  if (result.contains("data")) out["data"] = result["data"];
  const auto error = result.find("error");
  if (error == result.end() || !error->is_object()) return out;
  for (const char* key : {"code", "reason"}) {
    if (error->contains(key)) out["error"][key] = (*error)[key];
  }
  return out;
}

/// Replaces the values of secrets by their placeholders, as the transcript does.
ordered_json with_placeholders(const ordered_json& value, const std::vector<std::string>& secrets) {
  if (value.is_string()) {
    auto text = value.get<std::string>();
    for (const std::string& name : secrets) {
      const std::string marker = "[REDACTED:env." + name + "]";
      for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker, at)) {
        text.replace(at, marker.size(), "$ENV." + name);
      }
    }
    return text;
  }
  if (!value.is_structured()) return value;
  ordered_json out = value;
  for (auto& item : out) item = with_placeholders(item, secrets);
  return out;
}

class ReplayRun {
 public:
  ReplayRun(const ToolRegistry& tools, Transaction& transaction,
            const std::vector<TranscriptCall>& calls, const ReplayOptions& options)
      : tools_(&tools), transaction_(&transaction), calls_(&calls), options_(&options) {}

  Result<ReplayReport> run(const std::string& root) {
    report_.calls = calls_->size();
    for (size_t first = 0; first < calls_->size();) {
      size_t last = first;
      while (last < calls_->size() && (*calls_)[last].group == (*calls_)[first].group) ++last;
      GALLEY_TRY(replay_group(first, last, root));
      first = last;
    }
    return std::move(report_);
  }

 private:
  void note(size_t index, ReplayDifference difference) {
    difference.call = index + 1;
    difference.tool = (*calls_)[index].tool;
    if (report_.differences.size() < kMaxReplayDifferences) {
      report_.differences.push_back(std::move(difference));
    } else {
      ++report_.more;
    }
  }

  /// Returns why a call cannot be repeated.
  [[nodiscard]] std::optional<ReplayDifference> obstacle(const TranscriptCall& call) const {
    const auto no = [](std::string reason, std::string message) {
      return ReplayDifference{"not_replayed",    0, "", "", "", "", std::move(reason),
                              std::move(message)};
    };
    if (call.is_step) {
      return no("replay.no_call",
                "it was not a tool call: its changes are listed, but not repeated");
    }
    if (call.is_cut) return no("replay.cut", "it was too long to be recorded completely");
    const auto tool = tools_->get(call.tool);
    // A call of an unknown tool failed at that time as well, so the results can be compared.
    if (!tool && !call.version.empty()) return no("replay.tool_missing", tool.error().message);
    if (tool) {
      const ToolInfo& info = (*tool)->tool->info();
      if (info.version != call.version) {
        return no("replay.other_version", "the tool has version " + info.version +
                                              " here, and had " +
                                              (call.version.empty() ? "none" : call.version));
      }
      if (info.security_tier >= ToolInfo::Tier::kRestricted) {
        return no("replay.outside",
                  "it acts outside of the tree, which a replay neither repeats nor compares");
      }
    }
    for (const std::string& name : call.secrets) {
      const bool is_given = options_->secrets && options_->secrets(name);
      if (!is_given) return no("replay.secret_missing", "it needs a value for $ENV." + name);
    }
    if (has_text(*call.arguments, kRedacted)) {
      return no("replay.redacted",
                "its arguments had something that looks like a secret and was not a placeholder");
    }
    return {};
  }

  /// Repeats together the calls that were staged together.
  Result<void> replay_group(size_t first, size_t last, const std::string& root) {
    std::vector<ToolCall> made;
    for (size_t i = first; i < last; ++i) {
      const TranscriptCall& call = (*calls_)[i];
      if (auto why = obstacle(call)) {
        note(i, *std::move(why));
        for (size_t other = i + 1; other < last; ++other) {
          note(other, {"not_replayed", 0, "", "", "", "", "replay.together",
                       "it was staged together with call " + std::to_string(i + 1)});
        }
        for (size_t other = first; other < i; ++other) {
          note(other, {"not_replayed", 0, "", "", "", "", "replay.together",
                       "it was staged together with call " + std::to_string(i + 1)});
        }
        return {};
      }
      ToolCall one;
      one.tool = call.tool;
      one.args = std::make_shared<const json>(moved_to(*call.arguments, call.header.root, root));
      made.push_back(std::move(one));
    }
    GALLEY_TRY(compare_base(first, last));
    CallOptions options = (*calls_)[first].options;
    options.secrets = options_->secrets;
    options.stop = options_->stop;
    const Overlay::Entries before = overlay_of(*transaction_).entries();
    const std::vector<ToolResult> results = inner(*transaction_).call_all(made, options);
    report_.replayed += last - first;
    for (size_t i = first; i < last; ++i) {
      compare_result(i, i - first < results.size() ? &results[i - first] : nullptr, root);
    }
    return compare_tree(first, last, before);
  }

  /// Compares the tree with the one in which the calls of this group started.
  Result<void> compare_base(size_t first, size_t last) {
    std::map<RelPath, std::pair<size_t, Node>> expected;
    for (size_t i = first; i < last; ++i) {
      for (const Change& change : (*calls_)[i].changes) {
        expected.try_emplace(change.path, i, change.before);
      }
    }
    return compare_nodes(expected, "base");
  }

  Result<void> compare_nodes(const std::map<RelPath, std::pair<size_t, Node>>& expected,
                             const std::string& what) {
    for (const auto& [path, then] : expected) {
      GALLEY_ASSIGN(const Node now, node_now(path));
      if (is_same(then.second, now)) continue;
      note(then.first, {what, 0, "", path.str(), shown(then.second), shown(now)});
    }
    return {};
  }

  Result<Node> node_now(const RelPath& path) {
    // Staged files have a hash. Files on disk must be read.
    const auto known = overlay_of(*transaction_).entries().find(path);
    if (known != overlay_of(*transaction_).entries().end()) return known->second.now;
    GALLEY_ASSIGN(Node node, transaction_->look(path));
    if (node.kind != FileKind::kRegular) return node;
    GALLEY_ASSIGN(const std::string bytes, transaction_->read(path.str()));
    node.content = ContentId::of(bytes);
    return node;
  }

  void compare_result(size_t index, const ToolResult* result, const std::string& root) {
    const TranscriptCall& call = (*calls_)[index];
    if (result == nullptr) {
      note(index, {"result", 0, "", "", "a result", "none: an earlier call failed"});
      return;
    }
    const ordered_json then = compared_part(moved_to(*call.result, call.header.root, root));
    const ordered_json now = with_placeholders(compared_part(to_json(*result)), call.secrets);
    for (JsonDifference& one : json_differences(then, now, {.ignores_times = true})) {
      note(index, {"result", 0, "", std::move(one.pointer), std::move(one.expected),
                   std::move(one.found)});
    }
  }

  Result<void> compare_tree(size_t first, size_t last, const Overlay::Entries& before) {
    std::map<RelPath, std::pair<size_t, Node>> expected;
    for (size_t i = first; i < last; ++i) {
      if ((*calls_)[i].options.dry_run) continue;
      for (const Change& change : (*calls_)[i].changes) {
        expected.insert_or_assign(change.path, std::pair(i, change.after));
      }
    }
    GALLEY_TRY(compare_nodes(expected, "tree"));
    const Overlay::Entries& now = overlay_of(*transaction_).entries();
    for (const RelPath& path : restaged_paths(before, now)) {
      if (expected.contains(path)) continue;
      const auto entry = now.find(path);
      note(last - 1, {"tree", 0, "", path.str(), "no change",
                      entry == now.end() ? "a change" : shown(entry->second.now)});
    }
    return {};
  }

  const ToolRegistry* tools_;
  Transaction* transaction_;
  const std::vector<TranscriptCall>* calls_;
  const ReplayOptions* options_;
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> replay(Workspace& workspace, Transaction& transaction,
                            const std::vector<TranscriptCall>& calls,
                            const ReplayOptions& options) {
  GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(workspace).registry());
  return ReplayRun(*tools, transaction, calls, options).run(workspace.root_path());
}

std::string describe(const ReplayReport& report) {
  std::string text;
  for (const ReplayDifference& one : report.differences) {
    text += "call " + std::to_string(one.call) + " (" + one.tool + "): ";
    if (one.what == "not_replayed") {
      text += "not replayed: " + one.message + " [" + one.reason + "]\n";
      continue;
    }
    const std::string place = one.where.empty() ? "" : " " + one.where;
    text += (one.what == "base" ? "before it" : one.what) + place + ": expected " +
            (one.expected.empty() ? "nothing" : one.expected) + ", found " +
            (one.found.empty() ? "nothing" : one.found) + "\n";
  }
  if (report.more > 0) text += "and " + std::to_string(report.more) + " more\n";
  return text + std::to_string(report.replayed) + " of " + std::to_string(report.calls) +
         " calls replayed, " + std::to_string(report.differences.size() + report.more) +
         " differences\n";
}

}  // namespace galley
