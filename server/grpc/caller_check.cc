#include "server/grpc/caller_check.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>

#include "base/printable.h"

namespace galley {
namespace {

grpc::Status refused(grpc::StatusCode code, const std::string& why) { return {code, why}; }

std::string text_of(grpc::string_ref text) { return {text.data(), text.size()}; }

}  // namespace

grpc::Status CallerCheck::identify(const grpc::CallbackServerContext& context,
                                   const ServedPrincipal*& who) const {
  who = principal_;
  if (is_by_certificate_) {
    const auto found = context.auth_context()->FindPropertyValues(GRPC_X509_SUBJECT_PROPERTY_NAME);
    const std::string subject = found.size() == 1 ? text_of(found.front()) : std::string();
    for (const ServedPrincipal& one : config_->principals) {
      if (!subject.empty() && one.subject == subject) who = &one;
    }
  }
  if (who != nullptr) return grpc::Status::OK;
  return refused(grpc::StatusCode::UNAUTHENTICATED,
                 "the server's configuration has no principal for this caller");
}

grpc::Status CallerCheck::admit(const grpc::CallbackServerContext& context,
                                const std::string& agent, const ServedPrincipal*& who) const {
  if (auto status = identify(context, who); !status.ok()) return status;
  if (auto status = check_name("agent_id", agent); !status.ok()) return status;
  if (who->speaks_for(agent)) return grpc::Status::OK;
  return refused(grpc::StatusCode::PERMISSION_DENIED,
                 "this caller may not speak for the agent '" + printable_line(agent) + "'");
}

grpc::Status CallerCheck::admit_with(const grpc::CallbackServerContext& context,
                                     std::string_view right, const ServedPrincipal*& who) const {
  if (auto status = identify(context, who); !status.ok()) return status;
  if (who->has(right)) return grpc::Status::OK;
  return refused(grpc::StatusCode::PERMISSION_DENIED,
                 "this caller needs the right '" + std::string(right) + "'");
}

grpc::Status check_name(std::string_view field, const std::string& text, bool may_be_empty) {
  const bool is_good =
      text.size() <= kMostNameBytes && (may_be_empty || !text.empty()) &&
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (is_good) return grpc::Status::OK;
  return refused(grpc::StatusCode::INVALID_ARGUMENT,
                 std::string(field) + " takes 1 to " + std::to_string(kMostNameBytes) +
                     " printable ASCII characters without blanks");
}

grpc::Status check_reason(const std::string& text) {
  if (text.size() <= kMostReasonBytes) return grpc::Status::OK;
  return refused(grpc::StatusCode::INVALID_ARGUMENT,
                 "reason takes at most " + std::to_string(kMostReasonBytes) + " bytes");
}

}  // namespace galley
