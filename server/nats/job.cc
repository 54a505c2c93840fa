#include "server/nats/job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/printable.h"
#include "engine/policy/finding.h"
#include "tools/json_input.h"
#include "tools/redactor.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kMostIdBytes = 64;
constexpr size_t kMostNameBytes = 4'096;
constexpr size_t kMostMessageBytes = size_t{64} << 10U;
constexpr size_t kMostFindingBytes = 1'000;
constexpr size_t kMostShownOutputBytes = size_t{64} << 10U;  ///< of all findings of a receipt
constexpr std::array<std::string_view, 3> kPriorities = {"high", "normal", "low"};
constexpr std::array<std::string_view, 5> kOutcomes = {"committed", "unchanged", "refused",
                                                       "conflict", "dead"};

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(ErrorKind::kInvalid, "job.malformed", "the job " + what);
}

/// Reads one text member. An absent one is empty.
Result<std::string> text_of(const json& job, const char* name, size_t most) {
  const auto found = job.find(name);
  if (found == job.end()) return std::string();
  if (!found->is_string())
    return malformed("has a member '" + std::string(name) + "' that is not a text");
  auto text = found->get<std::string>();
  if (text.size() <= most) return text;
  return malformed("has a member '" + std::string(name) + "' of more than " + std::to_string(most) +
                   " bytes");
}

Result<std::vector<Job::Call>> calls_of(const json& job) {
  std::vector<Job::Call> calls;
  const auto found = job.find("calls");
  if (found == job.end()) return calls;
  if (!found->is_array() || found->size() > Job::kMostCalls) {
    return malformed("has 'calls' that are not a list of at most " +
                     std::to_string(Job::kMostCalls));
  }
  for (const json& call : *found) {
    const bool is_one = call.is_object() && call.contains("tool") && call["tool"].is_string() &&
                        call.contains("args") && call["args"].is_object();
    if (!is_one) return malformed("has a call that is not {\"tool\": TEXT, \"args\": {…}}");
    calls.push_back({call["tool"].get<std::string>(), call["args"].dump()});
  }
  return calls;
}

Result<std::vector<std::string>> validators_of(const json& job) {
  std::vector<std::string> names;
  const auto found = job.find("validators");
  if (found == job.end()) return names;
  const auto is_name = [](const json& one) {
    return one.is_string() && one.get_ref<const std::string&>().size() <= kMostNameBytes;
  };
  if (!found->is_array() || found->size() > Job::kMostValidators ||
      !std::all_of(found->begin(), found->end(), is_name)) {
    return malformed("has 'validators' that are not a list of at most " +
                     std::to_string(Job::kMostValidators) + " names");
  }
  return found->get<std::vector<std::string>>();
}

/// `output_bytes` is what is left for the output of findings.
nlohmann::ordered_json json_of(const Finding& finding, size_t& output_bytes) {
  nlohmann::ordered_json text = {{"rule", finding.rule},
                                 {"severity", severity_name(finding.severity)}};
  if (!finding.path.empty()) text["path"] = finding.path;
  if (finding.line != 0) text["line"] = finding.line;
  text["message"] = public_text(finding.message, kMostFindingBytes);
  if (!finding.remedy.empty()) text["remedy"] = public_text(finding.remedy, kMostFindingBytes);
  const std::string output = public_text(finding.output, output_bytes);
  if (!output.empty()) text["output"] = output;
  output_bytes -= output.size();
  return text;
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::string public_text(const std::string& text, size_t most_bytes) {
  return redact_patterns(text).substr(0, most_bytes);
}

bool is_job_id(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !text.empty() && text.size() <= kMostIdBytes &&
         text.find_first_not_of(kPlain) == text.npos;
}

std::string_view word_of(Job::Priority priority) {
  return kPriorities[static_cast<size_t>(priority)];
}

std::string_view word_of(JobReceipt::Outcome outcome) {
  return kOutcomes[static_cast<size_t>(outcome)];
}

Result<Job> parse_job(std::string_view text) {
  JsonLimits limits;
  limits.max_bytes = Job::kMostBytes;
  GALLEY_ASSIGN(const json document, parse_json(text, limits));
  if (!document.is_object()) return malformed("is not a JSON object");
  constexpr std::array<std::string_view, 11> kMembers = {
      "id",      "repository", "ref",   "base",   "edits",   "calls",
      "profile", "validators", "agent", "reason", "priority"};
  for (const auto& [name, value] : document.items()) {
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      return malformed("has an unknown member '" + printable_line(name, kMostIdBytes) + "'");
  }
  Job job;
  job.digest = ContentId::of(document.dump()).hex();
  GALLEY_ASSIGN(job.id, text_of(document, "id", kMostIdBytes));
  if (!is_job_id(job.id)) {
    return malformed("needs an 'id' of 1 to 64 letters, digits, '-' and '_'");
  }
  GALLEY_ASSIGN(job.repository, text_of(document, "repository", kMostNameBytes));
  if (job.repository.empty()) return malformed("needs a 'repository'");
  GALLEY_ASSIGN(job.ref, text_of(document, "ref", kMostNameBytes));
  if (job.ref.empty()) return malformed("needs a 'ref'");
  GALLEY_ASSIGN(job.base, text_of(document, "base", kMostIdBytes));
  constexpr size_t kFewestDigits = 40;
  if (!job.base.empty() && (job.base.size() < kFewestDigits || !is_hexadecimal(job.base))) {
    return malformed("has a 'base' that is not the whole name of a commit");
  }
  GALLEY_ASSIGN(job.edits, text_of(document, "edits", Job::kMostBytes));
  GALLEY_ASSIGN(job.calls, calls_of(document));
  if (job.edits.empty() == job.calls.empty()) return malformed("needs either 'edits' or 'calls'");
  GALLEY_ASSIGN(job.profile, text_of(document, "profile", kMostNameBytes));
  GALLEY_ASSIGN(job.validators, validators_of(document));
  GALLEY_ASSIGN(job.agent, text_of(document, "agent", kMostIdBytes));
  GALLEY_ASSIGN(job.reason, text_of(document, "reason", kMostMessageBytes));
  GALLEY_ASSIGN(const std::string priority, text_of(document, "priority", kMostIdBytes));
  const auto known =
      std::find(kPriorities.begin(), kPriorities.end(), priority.empty() ? "normal" : priority);
  if (known == kPriorities.end())
    return malformed("has a 'priority' other than high, normal and low");
  job.priority = static_cast<Job::Priority>(known - kPriorities.begin());
  return job;
}

std::string JobReceipt::json() const {
  nlohmann::ordered_json text = {{"id", id}, {"outcome", word_of(outcome)}, {"attempts", attempts}};
  if (!job.empty()) text["job"] = job;
  if (!commit.empty()) text["commit"] = commit;
  if (!tree.empty()) text["tree"] = tree;
  if (!verdict.empty()) text["verdict"] = verdict;
  if (!reason.empty()) text["reason"] = reason;
  if (!message.empty()) text["message"] = public_text(message, kMostMessageBytes);
  const size_t shown = std::min(findings.size(), kMostFindings);
  size_t output_bytes = kMostShownOutputBytes;
  for (size_t i = 0; i < shown; ++i) {
    text["findings"].push_back(json_of(findings[i], output_bytes));
  }
  if (shown < findings.size()) text["findings_left_out"] = findings.size() - shown;
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<JobReceipt> parse_receipt(std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return std::nullopt;
  const auto id = text_of(*document, "id", kMostNameBytes);
  const auto outcome = text_of(*document, "outcome", kMostNameBytes);
  if (!id || !outcome) return std::nullopt;
  const auto known = std::find(kOutcomes.begin(), kOutcomes.end(), *outcome);
  if (known == kOutcomes.end()) return std::nullopt;
  JobReceipt receipt;
  receipt.id = *id;
  receipt.job = text_member(*document, "job");
  receipt.outcome = static_cast<JobReceipt::Outcome>(known - kOutcomes.begin());
  receipt.reason = text_member(*document, "reason");
  receipt.message = text_member(*document, "message");
  return receipt;
}

}  // namespace galley
