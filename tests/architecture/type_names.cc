#include "tests/architecture/type_names.h"

#include <regex>

#include "tests/architecture/source_text.h"

namespace galley::architecture {
namespace {

/// A brace that is open: the name of a namespace, or nothing that types are counted in.
struct OpenBrace {
  bool is_counted = false;
  std::string name;
};

std::string qualified(const std::vector<OpenBrace>& open, const std::string& name) {
  std::string text;
  for (const OpenBrace& brace : open) {
    if (brace.name != "galley") text += brace.name + "::";
  }
  return text + name;
}

}  // namespace

std::vector<std::string> namespace_types(std::string_view source) {
  static const std::regex token(
      R"(\bnamespace\s*([\w:]*)\s*\{|\b(class|struct|union|enum)\s+(?:(?:class|struct)\s+)?(?:\[\[[^\]]*\]\]\s*)?(\w+)(?:\s+final)?\s*(?:\{|:(?!:)[^{;]*\{)|\busing\s+(\w+)\s*=|\{|\})");
  const std::string code = without_comments_and_literals(source);
  std::vector<std::string> found;
  std::vector<OpenBrace> open;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), token);
       it != std::sregex_iterator(); ++it) {
    const std::smatch& match = *it;
    const bool is_counted = open.empty() || open.back().is_counted;
    const std::string text = match.str();
    if (text == "}") {
      if (!open.empty()) open.pop_back();
    } else if (text.starts_with("namespace")) {
      const std::string name = match[1].str();
      open.push_back({is_counted && !name.empty(), name});
    } else if (match[4].matched) {
      if (is_counted) found.push_back(qualified(open, match[4].str()));
    } else {
      if (match[3].matched && is_counted) found.push_back(qualified(open, match[3].str()));
      open.push_back({});
    }
  }
  return found;
}

}  // namespace galley::architecture
