#include "cli/verdicts.h"

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "cli/reports.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

/// The bytes of --key, without the newline that an editor leaves.
Result<std::string> key_of(Session& session) {
  const std::string& file = session.arguments().verdict.key;
  if (file.empty()) return std::string();
  GALLEY_ASSIGN(std::string key, session.read_input(file, "a key", limits::kMaxConfigBytes));
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.size() >= kMinVerdictKeyBytes) return std::string(key);
  return fail(ErrorKind::kInvalid, "verdict.short_key",
              "the key has fewer than " + std::to_string(kMinVerdictKeyBytes) +
                  " bytes; make one with: openssl rand -hex 32");
}

}  // namespace

Result<std::string> rules_text(Session& session, const Directory& workspace) {
  const std::string& other = session.arguments().global.config;
  if (!other.empty()) return session.read_input(other, "", limits::kMaxConfigBytes);
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, workspace.stat(path));
  if (stat.kind == FileKind::kAbsent) return std::string();
  return read_file(workspace, path, limits::kMaxConfigBytes);
}

JudgedSubject judged_subject(const Proposal& proposal, const Config& config,
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

Result<void> write_verdict(Session& session, const JudgedSubject& subject, const Verdict& verdict) {
  const std::string& file = session.arguments().verdict.write;
  if (file.empty()) return {};
  GALLEY_ASSIGN(const std::string key, key_of(session));
  const int64_t now = SystemClock().wall_ns();
  return write_report_file(session, file, verdict_file(subject, verdict, now, key));
}

Result<int> verify_verdict(Session& session, const JudgedSubject& subject) {
  const VerdictArguments& asked = session.arguments().verdict;
  GALLEY_ASSIGN(const std::string key, key_of(session));
  GALLEY_ASSIGN(const std::string text,
                session.read_input(asked.verify, "a verdict", kMaxVerdictFileBytes));
  GALLEY_ASSIGN(const FiledVerdict filed, verify_verdict_file(text, subject, key));
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
