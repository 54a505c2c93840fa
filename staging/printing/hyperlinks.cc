#include "staging/printing/hyperlinks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace galley {
namespace {

constexpr std::string_view kBegin = "\033]8;;";
constexpr std::string_view kEnd = "\033\\";

bool is_plain(char c, std::string_view more) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         more.find(c) != std::string_view::npos;
}

void append_encoded(std::string_view text, std::string_view more, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_plain(c, more)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 0xfU]);
  }
}

/// Returns the format with this name. Any other text is itself a format.
std::string_view format_of(std::string_view word) {
  if (word == "file") return "file://{host}{path}";
  if (word == "vscode") return "vscode://file{path}:{line}:{column}";
  return word;
}

}  // namespace

Hyperlinks::Hyperlinks(std::string_view format, std::string_view root, std::string_view host)
    : format_(format_of(format)), root_(root), host_(host) {}

void Hyperlinks::append(std::string_view path, uint32_t line, std::string_view text,
                        std::string& out) const {
  constexpr std::string_view kOfNames = "-._~/";
  constexpr std::string_view kOfAddresses = "-._~/:?#[]@!$&'()*+,;=%";
  std::string full;
  append_encoded(root_ + "/" + std::string(path), kOfNames, full);
  std::string host;
  append_encoded(host_, kOfNames, host);
  const std::string number = std::to_string(std::max(line, uint32_t{1}));
  const std::array<std::pair<std::string_view, std::string_view>, 4> values = {
      {{"{path}", full}, {"{line}", number}, {"{column}", "1"}, {"{host}", host}}};
  out += kBegin;
  for (size_t at = 0; at < format_.size();) {
    const std::string_view rest = std::string_view(format_).substr(at);
    const auto* value = std::find_if(values.begin(), values.end(),
                                     [&](const auto& one) { return rest.starts_with(one.first); });
    if (value == values.end()) {
      append_encoded(rest.substr(0, 1), kOfAddresses, out);
      ++at;
    } else {
      out += value->second;
      at += value->first.size();
    }
  }
  out += kEnd;
  out += text;
  out += kBegin;
  out += kEnd;
}

}  // namespace galley
