#include "engine/validators/validator_cache.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace galley {
namespace {

using nlohmann::json;

constexpr int kFormat = 3;

json to_json(const Finding& finding) {
  json list = json::array({finding.rule, static_cast<int>(finding.severity), finding.path,
                           finding.line, finding.column, finding.message, finding.remedy,
                           finding.output, finding.end_line, finding.end_column});
  if (finding.replacement) list.push_back(*finding.replacement);
  return list;
}

}  // namespace

std::string findings_to_json(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  const json document = {{"format", kFormat}, {"findings", std::move(list)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::vector<Finding>> findings_from_json(std::string_view text) {
  try {
    const json document = json::parse(text);
    if (document.at("format") != kFormat) return {};
    std::vector<Finding> findings;
    for (const json& one : document.at("findings")) {
      const auto severity = one.at(1).get<unsigned>();
      if (severity > static_cast<unsigned>(Severity::kError)) return {};
      Finding finding;
      finding.rule = one.at(0).get<std::string>();
      finding.severity = static_cast<Severity>(severity);
      finding.path = one.at(2).get<std::string>();
      finding.line = one.at(3).get<uint32_t>();
      finding.column = one.at(4).get<uint32_t>();
      finding.message = one.at(5).get<std::string>();
      finding.remedy = one.at(6).get<std::string>();
      finding.output = one.at(7).get<std::string>();
      finding.end_line = one.at(8).get<uint32_t>();
      finding.end_column = one.at(9).get<uint32_t>();
      if (one.size() > 10) finding.replacement = one.at(10).get<std::string>();
      findings.push_back(std::move(finding));
    }
    return findings;
  } catch (const json::exception&) {
    return {};  // damaged, so the validator runs again
  }
}

std::optional<std::vector<Finding>> MemoryValidatorCache::get(const ContentId& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryValidatorCache::put(const ContentId& key, const std::vector<Finding>& findings) {
  const std::lock_guard lock(mutex_);
  if (!entries_.insert_or_assign(key, findings).second) return;
  if (order_.size() < kMaxEntries) {
    order_.push_back(key);
    return;
  }
  entries_.erase(order_[oldest_]);
  order_[oldest_] = key;
  oldest_ = (oldest_ + 1) % kMaxEntries;
}

}  // namespace galley
