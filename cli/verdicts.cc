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

/// The text that judges; --config has it in another file.
Result<std::string> configuration_text(Session& session, const Directory& base) {
  const std::string& other = session.arguments().global.config;
  if (!other.empty()) return session.read_input(other, "", limits::kMaxConfigBytes);
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(const FileStat stat, base.stat(path));
  if (stat.kind == FileKind::kAbsent) return std::string();
  return read_file(base, path, limits::kMaxConfigBytes);
}

}  // namespace

Result<JudgedSubject> judged_subject(Session& session, const Proposal& proposal,
                                     const Config& config, const Directory& base) {
  JudgedSubject subject;
  subject.proposal = proposal.id();
  subject.version = GALLEY_VERSION;
  GALLEY_ASSIGN(const std::string text, configuration_text(session, base));
  subject.configuration = ContentId::of(text);
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
