#include "cli/tool_calls.h"

#include <cstdlib>
#include <map>
#include <optional>

#include "engine/pipeline/transaction_state.h"

namespace galley {

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

Result<void> begin_transcript(Session& session, Transaction& transaction) {
  const std::string& file = session.arguments().transcript;
  return file.empty() ? Result<void>() : transaction.transcribe_to(file);
}

}  // namespace galley
