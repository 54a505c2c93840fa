#include "engine/policy/baseline.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/policy/finding_rules.h"

namespace galley {
namespace {

tl::unexpected<Error> not_a_baseline(std::string_view file, std::string_view why) {
  return fail(
      ErrorKind::kInvalid, "baseline.syntax",
      fmt::format(
          "{} is not a baseline: {}; write it anew with `galley validate --report baseline={}`",
          file, why, file),
      std::string(file));
}

}  // namespace

Result<Baseline> Baseline::parse(std::string_view text, std::string_view file) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return not_a_baseline(file, "it is not JSON");
  if (!document.is_object() || document.value("schema", nlohmann::json()) != "galley.baseline/1" ||
      !document.contains("findings") || !document["findings"].is_array()) {
    return not_a_baseline(file, "it is not a galley.baseline/1 with `findings`");
  }
  Baseline baseline;
  for (const auto& one : document["findings"]) {
    const auto fingerprint = one.is_object() ? one.find("fingerprint") : one.end();
    if (fingerprint == one.end() || !fingerprint->is_string()) {
      return not_a_baseline(file, "one of its findings has no fingerprint");
    }
    baseline.known_.insert(fingerprint->get<std::string>());
  }
  return baseline;
}

Result<Baseline> Baseline::load(const Directory& workspace, const std::string& path) {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(path));
  GALLEY_ASSIGN(const FileStat stat, workspace.stat(file));
  if (stat.kind == FileKind::kAbsent) return Baseline();
  GALLEY_ASSIGN(const std::string text, read_file(workspace, file, kMaxBaselineBytes));
  return parse(text, path);
}

void Baseline::apply(const std::vector<Finding*>& findings) const {
  if (known_.empty()) return;
  std::vector<Finding> copies;
  copies.reserve(findings.size());
  for (const Finding* finding : findings) copies.push_back(*finding);
  const auto fingerprints = fingerprints_of(copies);
  for (size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i]->suppression.empty() || !known_.contains(fingerprints[i])) continue;
    findings[i]->severity = Severity::kNote;
    findings[i]->suppression = kBaselineSuppression;
  }
}

}  // namespace galley
