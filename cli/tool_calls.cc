#include "cli/tool_calls.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/pipeline/transaction_state.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/policy.h"
#include "staging/fs/host_file.h"

namespace galley {

namespace {

/// Refuses a file inside the workspace, which every tool can read.
Result<void> check_secrets_file(const std::string& file, Session& session) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const auto place = absolute_path(file);
  if (!place || !is_at_or_below(*place, workspace->root_path())) return {};
  return fail(
      ErrorKind::kRefused, "secret.file_inside",
      "the secrets of '" + file +
          "' lie inside the workspace, where every tool can read them; keep them elsewhere");
}

}  // namespace

Result<SecretProvider> secrets_of_environment(const std::vector<std::string>& names) {
  std::map<std::string, std::string> secrets;
  for (const std::string& name : names) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return fail(ErrorKind::kUsage, "secret.not_set",
                  "--secret " + name +
                      ": the environment has no variable of that name; set it, "
                      "without its value on the command line");
    }
    secrets[name] = value;
  }
  if (secrets.empty()) return SecretProvider();
  return SecretProvider([secrets](const std::string& name) -> std::optional<std::string> {
    const auto found = secrets.find(name);
    if (found == secrets.end()) return {};
    return found->second;
  });
}

Result<SecretProvider> secrets_of_command(Session& session) {
  const CallArguments& about = session.arguments().call;
  GALLEY_ASSIGN(SecretProvider of_environment, secrets_of_environment(about.secrets));
  if (about.secrets_file.empty()) return of_environment;
  GALLEY_TRY(check_secrets_file(about.secrets_file, session));
  GALLEY_ASSIGN(SecretProvider of_file, secrets_from_file(about.secrets_file));
  return secrets_from_all({std::move(of_environment), std::move(of_file)});
}

Result<void> begin_transcript(Session& session, Transaction& transaction) {
  const std::string& file = session.arguments().transcript;
  return file.empty() ? Result<void>() : transaction.transcribe_to(file);
}

std::string_view tool_page(std::string_view tool) {
  // A page begins with its only first-level heading.
  constexpr std::string_view kTitle = "\n# ";
  const std::string title = "# " + std::string(tool) + "\n";
  const std::string_view all = tool_pages::kAll;
  size_t begin = all.starts_with(title) ? 0 : all.find("\n" + title);
  if (begin == std::string_view::npos) return {};
  if (begin > 0) ++begin;
  const size_t end = all.find(kTitle, begin);
  return all.substr(begin, end == std::string_view::npos ? end : end + 1 - begin);
}

Result<const ToolProfile*> chosen_profile(const Session& session, const Workspace& workspace) {
  const Arguments& arguments = session.arguments();
  std::string name = arguments.profile;
  if (name.empty()) {
    name = Policy(rules_of(workspace).config).tool_profile(arguments.global.agent);
  }
  if (name.empty()) return nullptr;
  return profile_named(name);
}

}  // namespace galley
