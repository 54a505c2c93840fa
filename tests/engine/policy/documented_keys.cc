#include "tests/engine/policy/documented_keys.h"

#include <fstream>

namespace galley {

std::map<std::string, std::string> documented_keys(const std::string& document) {
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/" + document);
  std::map<std::string, std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const size_t key_end = line.find('`', 3);
    const size_t type_end = line.find(" | ", key_end + 4);
    size_t columns = 1;
    for (size_t at = 0; (at = line.find(" | ", at)) != std::string::npos; ++at) ++columns;
    if (columns != 4) continue;  // of another table
    const size_t begin = line.find('`', type_end);
    documented[line.substr(3, key_end - 3)] =
        line.substr(begin + 1, line.find('`', begin + 1) - begin - 1);
  }
  return documented;
}

std::map<std::string, std::string> keys_with_defaults(const std::vector<ConfigKey>& keys) {
  std::map<std::string, std::string> known;
  for (const auto& key : keys) known[key.key] = key.default_value;
  return known;
}

}  // namespace galley
