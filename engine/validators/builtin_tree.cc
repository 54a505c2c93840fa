#include <fmt/core.h>

#include <algorithm>

#include "engine/policy/effects.h"
#include "engine/policy/links.h"
#include "engine/policy/policy.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

/// Shared by the validators that look at the tree around a change.
class TreeValidator : public Validator {
 public:
  explicit TreeValidator(const ValidatorConfig& config) : config_(config) {}
  [[nodiscard]] const std::string& name() const override { return config_.name; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override {
    return names_agent(config_.agents, agent) &&
           std::any_of(changes.begin(), changes.end(),
                       [this](const Change& change) { return selects(change); });
  }

 protected:
  [[nodiscard]] virtual bool is_of_interest(const Change& change) const = 0;
  [[nodiscard]] bool selects(const Change& change) const {
    return is_of_interest(change) && (!config_.has_paths || config_.paths.selects(change.path));
  }
  [[nodiscard]] const ValidatorConfig& config() const { return config_; }

 private:
  ValidatorConfig config_;
};

class SymlinksValidator final : public TreeValidator {
 public:
  using TreeValidator::TreeValidator;

  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override {
    ValidatorReport report;
    for (const Change& change : context.tree.proposal().changes()) {
      if (!selects(change)) continue;
      if (context.should_stop()) {
        return fail(ErrorKind::kTimeout, "validator.stopped", "it was stopped before it was done");
      }
      GALLEY_ASSIGN(const std::string target, context.tree.read_link(change.path));
      GALLEY_ASSIGN(const LinkEnd end, follow_link(context.tree, change.path, target));
      FindingSink sink(config(), change.path.str(), report.findings);
      if (end == LinkEnd::kMissing) {
        sink.add("symlinks.broken", 0, 0,
                 fmt::format("the symbolic link leads to {}, which is not there", target),
                 "create the target or correct the link");
      } else if (end == LinkEnd::kLoop) {
        sink.add("symlinks.loop", 0, 0, "the symbolic link leads back to itself",
                 "link to a file or directory");
      }
    }
    return report;
  }

 protected:
  [[nodiscard]] bool is_of_interest(const Change& change) const override {
    return change.after.kind == FileKind::kSymlink;
  }
};

class CaseCollisionsValidator final : public TreeValidator {
 public:
  using TreeValidator::TreeValidator;

  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override {
    ValidatorReport report;
    GALLEY_ASSIGN(const auto pairs, case_collisions(context.tree));
    for (const auto& [path, other] : pairs) {
      if (config().has_paths && !config().paths.selects(path)) continue;
      FindingSink sink(config(), path.str(), report.findings);
      sink.add("case_collisions", 0, 0,
               fmt::format("its name differs from {} only in case", other.str()),
               "choose another name: they are one file on macOS and Windows");
    }
    return report;
  }

 protected:
  [[nodiscard]] bool is_of_interest(const Change& change) const override {
    return change.is_create();
  }
};

}  // namespace

ValidatorPtr make_symlinks_validator(const ValidatorConfig& config) {
  return std::make_unique<SymlinksValidator>(config);
}
ValidatorPtr make_case_collisions_validator(const ValidatorConfig& config) {
  return std::make_unique<CaseCollisionsValidator>(config);
}

}  // namespace galley
