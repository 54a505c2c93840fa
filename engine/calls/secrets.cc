#include "engine/calls/secrets.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/staged_step.h"
#include "tools/secrets.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Returns the contents of a file or the target of a link.
std::string content_of(const Overlay& overlay, const Node& node) {
  if (node.kind != FileKind::kRegular && node.kind != FileKind::kSymlink) return {};
  const auto content = overlay.store()->get(node.content);
  return content ? **content : std::string();
}

/// The node of one path in two states of the overlay.
struct TwoStates {
  Node before;
  Node now;
};

TwoStates states_of(const RelPath& path, const Overlay& overlay, const Overlay::Entries& before) {
  const auto& now = overlay.entries();
  const auto at = now.find(path);
  const auto was = before.find(path);
  if (at == now.end()) return {};
  TwoStates states{was != before.end() ? was->second.now : at->second.before, at->second.now};
  if (states.before.kind != FileKind::kAbsent) return states;
  // A copy or a move keeps its markers.
  const auto& source = at->second.renamed_from ? at->second.renamed_from : at->second.copied_from;
  if (!source) return states;
  const auto of_source = before.find(*source);
  const auto touched = now.find(*source);
  if (of_source != before.end()) {
    states.before = of_source->second.now;
  } else if (touched != now.end()) {
    states.before = touched->second.before;
  }
  return states;
}

bool is_new_content(const TwoStates& states) {
  const bool has_content =
      states.now.kind == FileKind::kRegular || states.now.kind == FileKind::kSymlink;
  return has_content && states.now.content != states.before.content;
}

}  // namespace

// --- known secrets ----------------------------------------------------------------------------

void KnownSecrets::add(const std::string& name, const std::string& value) {
  const std::lock_guard lock(mutex_);
  values_[name] = value;
}

Redactor KnownSecrets::redactor() const {
  const std::lock_guard lock(mutex_);
  Redactor redactor;
  for (const auto& [name, value] : values_) redactor.add("env." + name, value);
  return redactor;
}

// --- one call ---------------------------------------------------------------------------------

CallSecrets::CallSecrets(const SecretProvider& provider, KnownSecrets* known)
    : provider_(&provider), known_(known) {
  if (known_ != nullptr) redactor_ = known_->redactor();
}

SecretProvider CallSecrets::provider(const std::vector<std::string>& only) {
  if (!*provider_) return {};
  return [this, only](const std::string& key) -> std::optional<std::string> {
    if (!only.empty() && std::find(only.begin(), only.end(), key) == only.end()) return {};
    std::optional<std::string> value = (*provider_)(key);
    if (!value) return {};
    if (value->size() < Redactor::kMinSecretBytes) {
      too_short_ = key;
      return {};
    }
    redactor_.add("env." + key, *value);
    given_.add("env." + key, *value);
    values_[key] = *value;
    if (known_ != nullptr) known_->add(key, *value);
    return value;
  };
}

Result<std::shared_ptr<const json>> CallSecrets::injected(const json& arguments,
                                                          const std::vector<std::string>& only) {
  if (!*provider_ || !has_secret_placeholders(arguments)) return std::shared_ptr<const json>();
  auto document = with_secrets(arguments, provider(only));
  if (document) return std::make_shared<const json>(*std::move(document));
  if (too_short_.empty()) return fail(document.error());
  return fail(ErrorKind::kRefused, "secret.too_short",
              "the secret '" + too_short_ + "' has fewer than " +
                  std::to_string(Redactor::kMinSecretBytes) +
                  " bytes: it could not be kept out of what is shown, so it is not given");
}

ToolResult CallSecrets::redacted(ToolResult result) const {
  if (result.error && result.error->reason == "secret.unknown" && !too_short_.empty()) {
    result.error->reason = "secret.too_short";
    result.error->message = "the secret '" + too_short_ +
                            "' is too short to be kept out of what is shown, so it is not given";
  }
  if (redactor_.is_empty()) return result;
  if (result.data) {
    result.data = std::make_shared<const ordered_json>(redactor_.redact_document(*result.data));
  }
  if (result.error) {
    result.error->message = redactor_.redact(result.error->message);
    result.error->cause = redactor_.redact(result.error->cause);
    if (result.error->details) {
      result.error->details =
          std::make_shared<const ordered_json>(redactor_.redact_document(*result.error->details));
    }
  }
  return result;
}

void CallSecrets::redact(AuditEvent& record) const {
  if (redactor_.is_empty()) return;
  record.reason = redactor_.redact(record.reason);
  if (record.input) {
    record.input = std::make_shared<const ordered_json>(redactor_.redact_document(*record.input));
  }
}

std::vector<std::string> CallSecrets::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::optional<Error> CallSecrets::refusal_of_effect(const Overlay& overlay,
                                                    const Overlay::Entries& before) const {
  if (values_.empty()) return {};
  for (const RelPath& path : restaged_paths(before, overlay.entries())) {
    const TwoStates states = states_of(path, overlay, before);
    const bool is_named_so = states.now.kind != FileKind::kAbsent && given_.finds(path.str());
    const bool is_written = is_new_content(states) &&
                            given_.finds(content_of(overlay, states.now)) &&
                            !given_.finds(content_of(overlay, states.before));
    if (!is_named_so && !is_written) continue;
    const std::string shown = given_.redact(path.str());
    return Error{ErrorKind::kRefused, "secret.in_file",
                 "'" + shown +
                     "' would hold a secret of this call, so nothing was staged; to allow it, a "
                     "person sets secrets.in_files = true in galley.toml",
                 shown, 0};
  }
  return {};
}

bool arguments_take_secrets(const Action& action, bool in_files) {
  const Intent& intent = action.intent;
  if (!intent.programs.empty()) return false;
  return intent.is_open_ended || (in_files && !intent.writes.empty());
}

std::optional<Error> refusal_of_markers(const Action& action, const Overlay& overlay,
                                        const Overlay::Entries& before) {
  const AuditKind kind = action.record.kind;
  const bool is_edit =
      kind == AuditKind::kCall || kind == AuditKind::kCallDryRun || kind == AuditKind::kEdit;
  if (!is_edit || !action.intent.programs.empty()) return {};
  for (const RelPath& path : restaged_paths(before, overlay.entries())) {
    const TwoStates states = states_of(path, overlay, before);
    if (!is_new_content(states)) continue;
    const size_t count = count_redaction_markers(content_of(overlay, states.now));
    if (count == 0) continue;
    if (count <= count_redaction_markers(content_of(overlay, states.before))) continue;
    return Error{ErrorKind::kRefused, "secret.redaction_marker",
                 "the new text of '" + path.str() +
                     "' has a redaction marker ([REDACTED:…]) in it that was not there: writing "
                     "it would destroy what was redacted. Leave those lines out of the edit",
                 path.str(), 0};
  }
  return {};
}

}  // namespace galley
