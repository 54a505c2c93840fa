#include "tools/secrets.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr std::string_view kStart = "$ENV.";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// The name at the beginning of a text; empty when there is none.
std::string_view name_at(std::string_view text) {
  if (text.empty() || !is_letter(text.front())) return {};
  size_t end = 1;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
  return text.substr(0, end);
}

/// Calls `take(before, name)` for each placeholder with the text since the last one. Returns the
/// text after the last placeholder.
template <class Take>
std::string_view each_placeholder(std::string_view text, const Take& take) {
  size_t done = 0;
  for (size_t at = text.find(kStart); at != text.npos; at = text.find(kStart, at)) {
    const std::string_view name = name_at(text.substr(at + kStart.size()));
    if (!name.empty()) {
      take(text.substr(done, at - done), std::string(name));
      done = at + kStart.size() + name.size();
    }
    at += kStart.size();
  }
  return text.substr(done);
}

Result<json> replaced(const json& document, const SecretProvider& provider) {
  if (document.is_string()) {
    std::string missing;
    std::string text =
        replace_placeholders(document.get_ref<const std::string&>(), [&](const std::string& name) {
          auto value = provider(name);
          if (!value && missing.empty()) missing = name;
          return std::move(value).value_or(std::string());
        });
    if (missing.empty()) return json(std::move(text));
    return fail(ErrorKind::kRefused, "secret.unknown",
                "the secret '" + missing + "' is not provided here");
  }
  json out = document;
  if (document.is_structured()) {
    for (json& item : out) {
      GALLEY_ASSIGN(item, replaced(item, provider));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> secrets_named_in(std::string_view text) {
  std::vector<std::string> names;
  (void)each_placeholder(text, [&](std::string_view, std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return names;
}

std::string replace_placeholders(std::string_view text,
                                 const std::function<std::string(const std::string&)>& put) {
  std::string out;
  const std::string_view rest =
      each_placeholder(text, [&](std::string_view before, const std::string& name) {
        out.append(before).append(put(name));
      });
  return out.append(rest);
}

bool has_secret_placeholders(const json& document) {
  if (document.is_string()) {
    const auto& text = document.get_ref<const std::string&>();
    return text.find(kStart) != std::string::npos && !secrets_named_in(text).empty();
  }
  return document.is_structured() &&
         std::any_of(document.begin(), document.end(),
                     [](const json& item) { return has_secret_placeholders(item); });
}

Result<json> with_secrets(const json& document, const SecretProvider& provider) {
  return replaced(document, provider);
}

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
