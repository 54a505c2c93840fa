#include "tools/secret_placeholders.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

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

/// Calls `take(before, name)` for each placeholder with the text since the last one; returns what
/// comes after them.
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

bool asks_for_secrets(const json& document) {
  if (document.is_string()) {
    const auto& text = document.get_ref<const std::string&>();
    return text.find(kStart) != std::string::npos && !secrets_named_in(text).empty();
  }
  return document.is_structured() &&
         std::any_of(document.begin(), document.end(),
                     [](const json& item) { return asks_for_secrets(item); });
}

Result<json> with_secrets(const json& document, const SecretProvider& provider) {
  return replaced(document, provider);
}

}  // namespace galley
