#include "engine/policy/verdict_file.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/policy/owners.h"

// https://github.com/in-toto/attestation/tree/main/spec/v1 and spec/predicates/test-result.md;
// https://github.com/secure-systems-lab/dsse/blob/master/protocol.md

namespace galley {

Result<VerdictKey> VerdictKey::parse(std::string_view text) {
  VerdictKey key;
  if (Ed25519Key::is_pem(text)) {
    GALLEY_ASSIGN(key.pair_, Ed25519Key::parse(text));
    return key;
  }
  // Remove the newline that an editor leaves.
  text = trim_end(text, "\r\n");
  if (text.size() < kMinVerdictKeyBytes) {
    return fail(ErrorKind::kInvalid, "verdict.short_key",
                "the key has fewer than " + std::to_string(kMinVerdictKeyBytes) +
                    " bytes; make one with: openssl rand -hex 32");
  }
  key.secret_ = text;
  return key;
}

std::string VerdictKey::id() const { return pair_ ? "ed25519:" + pair_->id() : "hmac-sha256"; }

Result<std::string> VerdictKey::sign(std::string_view message) const {
  if (pair_) return pair_->sign(message);
  return hmac_sha256(secret_, message);
}

bool VerdictKey::verify(std::string_view message, std::string_view signature) const {
  if (pair_) return pair_->verify(message, signature);
  return equal_in_constant_time(signature, hmac_sha256(secret_, message));
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStatement = "https://in-toto.io/Statement/v1";
constexpr std::string_view kPredicate = "https://in-toto.io/attestation/test-result/v0.1";
constexpr std::string_view kPayloadType = "application/vnd.in-toto+json";

std::string text_of(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// DSSE's pre-authentication encoding.
std::string pae(std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", kPayloadType.size(), kPayloadType, payload.size(),
                     payload);
}

/// Names may contain bytes that are not UTF-8, so the values are compared as they are written.
Json comparable(const Json& json) {
  return Json::parse(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json subjects_of(const JudgedSubject& subject) {
  Json list = Json::array(
      {{{"name", "galley proposal"}, {"digest", {{"sha256", subject.proposal.hex()}}}}});
  if (!subject.tree.empty()) {
    list.push_back({{"name", "git tree of the base"}, {"digest", {{"gitTree", subject.tree}}}});
  }
  return list;
}

Json configuration_of(const JudgedSubject& subject) {
  Json list =
      Json::array({{{"name", "galley.toml"}, {"digest", {{"sha256", subject.configuration.hex()}}}},
                   {{"name", "galley"}, {"annotations", {{"version", subject.version}}}}});
  for (const auto& [name, hash] : subject.validators) {
    list.push_back({{"name", "validator " + name}, {"digest", {{"sha256", hash.hex()}}}});
  }
  for (const auto& [path, hash] : subject.files) {
    list.push_back({{"name", path}, {"digest", {{"sha256", hash.hex()}}}});
  }
  if (!subject.agent.empty()) {
    list.push_back({{"name", "agent"}, {"annotations", {{"name", subject.agent}}}});
  }
  return list;
}

Json predicate_of(const JudgedSubject& subject, const Verdict& verdict, int64_t time_ns) {
  Json passed = Json::array();
  Json warned = Json::array();
  Json failed = Json::array();
  for (const Verdict::Run& run : verdict.runs) {
    Json& list = run.outcome == Verdict::Run::Outcome::kPassed        ? passed
                 : run.outcome == Verdict::Run::Outcome::kUnavailable ? failed
                                                                      : warned;
    list.push_back(run.name);
  }
  Json predicate = {{"result", verdict.is_approved() ? "PASSED" : "FAILED"},
                    {"configuration", configuration_of(subject)},
                    {"passedTests", passed},
                    {"warnedTests", warned},
                    {"failedTests", failed},
                    {"time", rfc3339_utc(time_ns)}};
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    predicate["reason"] = refusal->reason;
  }
  if (!verdict.approved_by.empty()) predicate["approvedBy"] = verdict.approved_by;
  return predicate;
}

tl::unexpected<Error> no_verdict(std::string_view why) {
  return fail(ErrorKind::kInvalid, "verdict.syntax",
              fmt::format("this is not a verdict file: {}", why));
}

tl::unexpected<Error> bad_signature(std::string_view why) {
  return fail(ErrorKind::kRefused, "verdict.signature", std::string(why));
}

Result<Json> parse_verdict(std::string_view text) {
  if (text.size() > kMaxVerdictFileBytes) return no_verdict("it is too large");
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_object()) return no_verdict("it is not a JSON object");
  return document;
}

std::string member(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The statement in an envelope, after its signature was verified with this key.
Result<Json> opened(const Json& envelope, const VerdictKey* key) {
  if (key == nullptr) return bad_signature("the verdict file is signed; give its key to verify it");
  std::string payload;
  if (member(envelope, "payloadType") != kPayloadType ||
      !from_base64(member(envelope, "payload"), payload)) {
    return no_verdict("its envelope holds no statement of in-toto");
  }
  const std::string signed_text = pae(payload);
  const auto signatures = envelope.find("signatures");
  if (signatures != envelope.end() && signatures->is_array()) {
    for (const Json& one : *signatures) {
      std::string given;
      if (!from_base64(member(one, "sig"), given)) continue;
      if (key->verify(signed_text, given)) return parse_verdict(payload);
    }
  }
  return bad_signature("the verdict file is not signed by this key, or was changed since");
}

tl::unexpected<Error> other(std::string_view what) {
  return fail(ErrorKind::kRefused, "verdict.other_subject",
              fmt::format("the verdict is about another {}; judge this one", what));
}

}  // namespace

Result<std::vector<std::pair<std::string, ContentId>>> judging_files(const Config& config,
                                                                     const Directory& tree) {
  std::set<std::string> paths;
  for (const ValidatorConfig& validator : config.validators) paths.insert(validator.rules_file);
  paths.insert(config.findings.baseline);
  if (config.owners.is_required) {
    const std::vector<std::string> places = Owners::places(config.owners.file);
    paths.insert(places.begin(), places.end());
  }
  std::vector<std::pair<std::string, ContentId>> files;
  for (const std::string& path : paths) {
    const auto place = RelPath::parse(path);
    if (!place || place->is_root()) continue;
    GALLEY_ASSIGN(const FileStat stat, tree.stat(*place));
    if (stat.kind != FileKind::kRegular) continue;
    GALLEY_ASSIGN(const std::string text, read_file(tree, *place, Owners::kMaxFileBytes));
    files.emplace_back(path, ContentId::of(text));
  }
  return files;
}

Result<std::string> verdict_file(const JudgedSubject& subject, const Verdict& verdict,
                                 int64_t time_ns, const VerdictKey* key) {
  const Json statement = {{"_type", kStatement},
                          {"subject", subjects_of(subject)},
                          {"predicateType", kPredicate},
                          {"predicate", predicate_of(subject, verdict, time_ns)}};
  std::string text = text_of(statement);
  if (key == nullptr) return text;
  GALLEY_ASSIGN(const std::string signed_by, key->sign(pae(text)));
  const Json signature = {{"keyid", key->id()}, {"sig", base64(signed_by)}};
  return text_of({{"payloadType", kPayloadType},
                  {"payload", base64(text)},
                  {"signatures", Json::array({signature})}});
}

Result<FiledVerdict> verify_verdict_file(std::string_view text, const JudgedSubject& subject,
                                         const VerdictKey* key) {
  GALLEY_ASSIGN(Json document, parse_verdict(text));
  FiledVerdict filed;
  if (document.contains("payload")) {
    GALLEY_ASSIGN(document, opened(document, key));
    filed.is_signed = true;
  } else if (key != nullptr) {
    return bad_signature("the verdict file is not signed, and a key was given");
  }
  if (member(document, "_type") != kStatement || member(document, "predicateType") != kPredicate ||
      !document.contains("predicate") || !document.contains("subject")) {
    return no_verdict("it is not a statement of in-toto about a test result");
  }
  const Json& predicate = document["predicate"];
  if (document["subject"] != comparable(subjects_of(subject))) return other("change or tree");
  if (!predicate.is_object() || !predicate.contains("configuration")) {
    return no_verdict("it does not say by which configuration it was judged");
  }
  if (predicate["configuration"] != comparable(configuration_of(subject))) {
    return other(
        "galley.toml, version of Galley, set of validators or file of rules, or about a change of "
        "another agent");
  }
  filed.is_approved = member(predicate, "result") == "PASSED";
  filed.time = printable_line(member(predicate, "time"), kMaxFindingBytes);
  return filed;
}

}  // namespace galley
