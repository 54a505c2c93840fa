#include "tools/secret_providers.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "staging/fs/host_file.h"
#include "tools/secret_placeholders.h"

namespace galley {
namespace {

bool is_secret_name(const std::string& name) {
  const auto named = secrets_named_in("$ENV." + name);
  return named.size() == 1 && named.front() == name;
}

}  // namespace

Result<std::map<std::string, std::string>> parse_secrets(std::string_view text) {
  std::map<std::string, std::string> secrets;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    const std::string name(line.substr(0, equals));
    const bool is_sound = equals != line.npos && is_secret_name(name) &&
                          line.find('\0') == line.npos && !secrets.contains(name);
    if (!is_sound) {
      return fail(ErrorKind::kInvalid, "secret.file_malformed",
                  "line " + std::to_string(number) +
                      " of the file of secrets is not NAME=value, or names one twice");
    }
    secrets[name] = line.substr(equals + 1);
  }
  return secrets;
}

SecretProvider secrets_from_environment(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& key) -> std::optional<std::string> {
    if (std::find(names.begin(), names.end(), key) == names.end()) return {};
    const char* value = std::getenv(key.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<SecretProvider> secrets_from_file(const std::string& path) {
  auto text = read_private_file(path, kMaxSecretFileBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) {
    return fail(ErrorKind::kUsage, "secret.file_not_found", "there is no file '" + path + "'");
  }
  if (!text && text.error().reason == "file.not_private") {
    return fail(ErrorKind::kRefused, "secret.file_not_private", text.error().message);
  }
  if (!text) return fail(text.error());
  GALLEY_ASSIGN(auto secrets, parse_secrets(*text));
  return SecretProvider([secrets = std::move(secrets)](const std::string& key) {
    const auto found = secrets.find(key);
    return found != secrets.end() ? std::optional<std::string>(found->second) : std::nullopt;
  });
}

SecretProvider secrets_from_all(std::vector<SecretProvider> providers) {
  return [providers = std::move(providers)](const std::string& key) -> std::optional<std::string> {
    for (const SecretProvider& provider : providers) {
      if (!provider) continue;
      if (auto value = provider(key)) return value;
    }
    return {};
  };
}

}  // namespace galley
