#include "cli/verdicts.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "cli/reports.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

/// Returns the key of --key.
Result<std::optional<VerdictKey>> key_of(Session& session) {
  const std::string& file = session.arguments().verdict.key;
  if (file.empty()) return std::optional<VerdictKey>();
  GALLEY_ASSIGN(const std::string text, session.read_input(file, "a key", limits::kMaxConfigBytes));
  GALLEY_ASSIGN(VerdictKey key, VerdictKey::parse(text));
  return std::optional(std::move(key));
}

/// Returns the text of the galley.toml that applies: the workspace's, or that of --config.
Result<std::string> rules_text(Session& session, const Directory& workspace) {
  const std::string& other = session.arguments().global.config;
  if (!other.empty()) return session.read_input(other, "", limits::kMaxConfigBytes);
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, workspace.stat(path));
  if (stat.kind == FileKind::kAbsent) return std::string();
  return read_file(workspace, path, limits::kMaxConfigBytes);
}

}  // namespace

JudgedSubject verdict_subject(const Proposal& proposal, const Config& config,
                              std::string_view rules) {
  JudgedSubject subject;
  subject.proposal = proposal.id();
  subject.version = GALLEY_VERSION;
  subject.configuration = ContentId::of(rules);
  for (const ValidatorConfig& validator : config.validators) {
    subject.validators.emplace_back(
        validator.name,
        ContentId::of(config_fingerprint(validator) + (validator.is_trusted ? "" : " untrusted")));
  }
  return subject;
}

Result<JudgedSubject> verdict_subject(Session& session, const Proposal& proposal) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const std::string rules, rules_text(session, place_of(*workspace).files()));
  const Config& config = rules_of(*workspace).config;
  JudgedSubject subject = verdict_subject(proposal, config, rules);
  GALLEY_ASSIGN(subject.files, judging_files(config, place_of(*workspace).files()));
  subject.agent = session.arguments().global.agent;
  return subject;
}

Result<void> write_verdict(Session& session, const JudgedSubject& subject, const Verdict& verdict) {
  const std::string& file = session.arguments().verdict.write;
  if (file.empty()) return {};
  GALLEY_ASSIGN(const auto key, key_of(session));
  const int64_t now = SystemClock().wall_ns();
  GALLEY_ASSIGN(const std::string text, verdict_file(subject, verdict, now, key ? &*key : nullptr));
  return write_report_file(session, file, text);
}

Result<int> verify_verdict(Session& session, const JudgedSubject& subject) {
  const VerdictArguments& asked = session.arguments().verdict;
  GALLEY_ASSIGN(const auto key, key_of(session));
  GALLEY_ASSIGN(const std::string text,
                session.read_input(asked.verify, "a verdict", kMaxVerdictFileBytes));
  GALLEY_ASSIGN(const FiledVerdict filed,
                verify_verdict_file(text, subject, key ? &*key : nullptr));
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.verify/1"},
                       {"ok", filed.is_approved},
                       {"proposal", subject.proposal.hex()},
                       {"time", filed.time},
                       {"signed", filed.is_signed}});
  } else if (!session.is_quiet() || !filed.is_approved) {
    session.print((filed.is_approved ? "approved at " : "refused at ") + filed.time +
                  (filed.is_signed ? ", signed\n" : ", not signed\n"));
  }
  return filed.is_approved ? kExitDone : kExitNo;
}

}  // namespace galley
