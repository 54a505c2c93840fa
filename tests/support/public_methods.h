#pragma once

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace galley {

/// Returns the names of the public non-const methods of a class: those may change something.
/// `header` is a path below the sources. The result is empty if the class cannot be parsed.
inline std::set<std::string> changing_methods(const std::string& header, const std::string& type) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/" + header);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  const size_t begin = text.find("\nclass " + type + " {");
  const size_t end = text.find("\n private:", begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string body = text.substr(begin, end - begin);
  body = std::regex_replace(body, std::regex("//[^\n]*"), "");
  body = std::regex_replace(body, std::regex("\\s+"), " ");
  body = body.substr(body.find("public:") + 7);
  std::set<std::string> names;
  std::istringstream declarations(body);
  const std::regex method(R"(^ ?(?:\[\[nodiscard\]\] )?[\w:<>\*&, ]+[ \*&](\w+)\()");
  for (std::string one; std::getline(declarations, one, ';');) {
    std::smatch found;
    const bool is_const = one.ends_with(" const") || one.find(") const {") != std::string::npos;
    const bool is_other = one.find("static ") != std::string::npos ||
                          one.find("operator") != std::string::npos ||
                          one.find("= delete") != std::string::npos;
    if (is_const || is_other || !std::regex_search(one, found, method)) continue;
    names.insert(found[1]);
  }
  return names;
}

}  // namespace galley
