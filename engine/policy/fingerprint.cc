#include "engine/policy/fingerprint.h"

#include <map>

#include "base/content_id.h"

namespace galley {

std::vector<std::string> fingerprints_of(const std::vector<Finding>& findings) {
  std::map<std::string, size_t> known;
  std::vector<std::string> all;
  all.reserve(findings.size());
  for (const Finding& finding : findings) {
    std::string key = "galley-finding 1\n";
    for (const std::string* field : {&finding.rule, &finding.path, &finding.message}) {
      key += std::to_string(field->size()) + ':' + *field;
    }
    const size_t before = known[key]++;
    all.push_back(ContentId::of(key + std::to_string(before)).hex());
  }
  return all;
}

}  // namespace galley
