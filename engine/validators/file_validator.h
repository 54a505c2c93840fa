#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/validator_cache.h"
#include "staging/text/lines.h"

namespace galley {

/// One changed file, as the input of a built-in validator.
struct CheckedFile {
  const Change& change;
  std::string_view text;     ///< proposed content
  std::string_view before;   ///< old content, also of a moved file; may be empty
  bool existed = false;      ///< whether there was an old file
  uint32_t before_mode = 0;  ///< old permission bits
};

/// Collects the findings of a validator about one file.
class FindingSink {
 public:
  FindingSink(const ValidatorConfig& config, std::string path, std::vector<Finding>& out)
      : config_(&config), path_(std::move(path)), out_(&out) {}

  /// Adds a finding. `line` and `column` count from 1; 0 means none.
  void add(std::string_view rule, uint32_t line, uint32_t column, std::string_view message,
           std::string remedy);
  /// As add(), but with a severity of at most kWarning.
  void warn(std::string_view rule, uint32_t line, uint32_t column, std::string_view message,
            std::string remedy);
  /// Returns line and column of a byte offset in `text`.
  static std::pair<uint32_t, uint32_t> place(std::string_view text, size_t offset);

 private:
  const ValidatorConfig* config_;
  std::string path_;
  std::vector<Finding>* out_;
};

/// A validator that judges each changed regular file alone. The result depends only on the changed
/// bytes, so it is cached by their hash.
class FileValidator : public Validator {
 public:
  struct Options {
    std::vector<std::string> default_paths;  ///< globs if the configuration has none
    bool skips_binaries = true;
    uint64_t max_bytes = uint64_t{64} << 20U;  ///< a larger file is a finding
    uint32_t version = 1;                      ///< of its rules: part of the cache key
  };

  FileValidator(const ValidatorConfig& config, ValidatorCache* cache, Options options);

  [[nodiscard]] const std::string& name() const override { return config_.name; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string& agent) const override;
  [[nodiscard]] Result<ValidatorReport> validate(const ValidatorContext& context) override;

 protected:
  /// A changed file that was read and must be checked.
  struct LoadedFile {
    const Change* change = nullptr;
    const Change* origin = nullptr;  ///< the change whose `before` has the old content
    Content text;
  };

  [[nodiscard]] const ValidatorConfig& config() const { return config_; }
  /// Returns further inputs of the results, for example the text of a rule file.
  [[nodiscard]] virtual std::string fingerprint() const { return {}; }
  /// Checks one file. Called on several threads at once.
  [[nodiscard]] virtual Result<void> check(const CheckedFile& file, FindingSink& sink) const;
  /// Checks all selected changes. By default it calls check() in parallel.
  [[nodiscard]] virtual Result<void> check_all(const ValidatorContext& context,
                                               const std::vector<const Change*>& selected,
                                               std::vector<Finding>& findings) const;
  /// Reads the proposed file. Returns nullopt if the file is skipped, or is too large (a finding).
  [[nodiscard]] Result<std::optional<LoadedFile>> load(const ProposedTree& tree,
                                                       const Change& change,
                                                       FindingSink& sink) const;

 private:
  [[nodiscard]] bool selects(const Change& change) const;
  [[nodiscard]] ContentId key_of(const ProposedTree& tree) const;
  [[nodiscard]] Result<void> check_change(const ProposedTree& tree, const Change& change,
                                          std::vector<Finding>& findings) const;

  ValidatorConfig config_;
  ValidatorCache* cache_;
  Options options_;
  GlobList paths_;
};

/// Returns a hash of all values in a validator's configuration that can change its result.
[[nodiscard]] std::string config_fingerprint(const ValidatorConfig& config);

}  // namespace galley
