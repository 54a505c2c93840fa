#include "engine/calls/secret_watch.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace galley {

SecretProvider SecretWatch::provider(const std::vector<std::string>& only) {
  if (!*provider_) return {};
  return [this, only](const std::string& key) -> std::optional<std::string> {
    const bool may_know = only.empty() || std::find(only.begin(), only.end(), key) != only.end();
    if (!may_know) return {};
    std::optional<std::string> value = (*provider_)(key);
    if (value) {
      redactor_.add("env." + key, *value);
      names_.insert(key);
    }
    return value;
  };
}

ToolResult redacted(ToolResult result, const Redactor& redactor) {
  if (redactor.is_empty()) return result;
  if (result.data) {
    result.data =
        std::make_shared<const nlohmann::ordered_json>(redactor.redact_document(*result.data));
  }
  if (result.error) {
    result.error->message = redactor.redact(result.error->message);
    result.error->cause = redactor.redact(result.error->cause);
    if (result.error->details) {
      result.error->details = std::make_shared<const nlohmann::ordered_json>(
          redactor.redact_document(*result.error->details));
    }
  }
  return result;
}

}  // namespace galley
