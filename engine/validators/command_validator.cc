#include "engine/validators/command_validator.h"

#include <algorithm>

#include "engine/policy/policy.h"

namespace galley {
namespace {

class CommandValidator final : public Validator {
 public:
  explicit CommandValidator(const ValidatorConfig& config) : config_(config) {}

  [[nodiscard]] const std::string& name() const override { return config_.name; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override {
    return names_agent(config_.agents, agent) &&
           std::any_of(changes.begin(), changes.end(), [this](const Change& change) {
             return !config_.has_paths || config_.paths.selects(change.path);
           });
  }
  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext&) override {
    return fail(ErrorKind::kRefused, "sandbox.unavailable", "there is no way to run commands here");
  }

 private:
  ValidatorConfig config_;
};

}  // namespace

Result<ValidatorPtr> make_command_validator(const ValidatorConfig& config,
                                            const CommandValidatorParts&) {
  return std::make_unique<CommandValidator>(config);
}

}  // namespace galley
