#include "engine/calls/secret_watch.h"

#include <algorithm>

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

}  // namespace galley
