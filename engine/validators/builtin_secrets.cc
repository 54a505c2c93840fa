#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "engine/policy/effects.h"
#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"
#include "engine/validators/new_findings.h"
#include "engine/validators/secret_rules.h"
#include "staging/placing/text_view.h"
#include "staging/text/text_pattern.h"

namespace galley {
namespace {

constexpr size_t kShownBytes = 4;
constexpr std::string_view kBuiltInFingerprint = "built-in 1";
constexpr std::string_view kGoodRules = "secret rules that compile 1\n";

/// Returns the text of a file in UTF-16; nullopt for every other file. Without a byte order mark,
/// more than half of its characters must be Latin: one byte is zero and the other one is printable
/// or white space. A damaged character does not hide the others.
std::optional<std::string> text_of_utf16(std::string_view content) {
  const bool is_marked_big = content.starts_with("\xFE\xFF");
  if (is_marked_big || content.starts_with("\xFF\xFE")) {
    const auto view = TextView::of(content);
    const bool is_utf16 =
        content.find('\0') != std::string_view::npos || (view && view->is_utf16());
    return is_utf16 ? std::optional(readable_utf16(content.substr(2), is_marked_big))
                    : std::nullopt;
  }
  if (!is_binary(content)) return std::nullopt;
  const auto is_latin = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || (c >= '\t' && c <= '\r');
  };
  std::array<size_t, 2> latin = {};  // in big and in little endian
  for (size_t i = 0; i + 1 < content.size(); i += 2) {
    latin[0] += content[i] == '\0' && is_latin(content[i + 1]) ? 1 : 0;
    latin[1] += content[i + 1] == '\0' && is_latin(content[i]) ? 1 : 0;
  }
  if (4 * std::max(latin[0], latin[1]) <= content.size()) return std::nullopt;
  return readable_utf16(content, latin[0] > latin[1]);
}

/// Calls `look(lines, block)` for each block of added lines. A binary file has none. An 8-bit file
/// may begin like UTF-16 and have that form by chance, so its bytes are always searched, too.
template <class Look>
Result<void> for_added_lines(const CheckedFile& file, const Look& look) {
  const auto look_at = [&look](std::string_view before, std::string_view after) -> Result<void> {
    const Lines lines(after);
    for (const LineBlock& block : added_lines(before, lines)) GALLEY_TRY(look(lines, block));
    return {};
  };
  if (!is_binary(file.text)) GALLEY_TRY(look_at(file.before, file.text));
  const auto text = text_of_utf16(file.text);
  if (!text) return {};
  const auto before = text_of_utf16(file.before);
  return look_at(before ? *before : file.before, *text);
}

/// Reads its rules when it first has to judge, because a cached result does not need them.
class SecretsValidator final : public FileValidator {
 public:
  struct RuleText {
    std::string file;  ///< empty: the built-in rules
    std::string text;
  };
  SecretsValidator(const ValidatorConfig& config, ValidatorCache* cache, RuleText source)
      : FileValidator(config, cache,
                      {.default_paths = {"*"}, .skips_binaries = false, .version = 9}),
        source_(std::move(source)) {}

 protected:
  [[nodiscard]] std::string fingerprint() const override {
    return source_.file.empty() ? std::string(kBuiltInFingerprint) : source_.text;
  }

  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    GALLEY_ASSIGN(const SecretRules* rules, need_rules());
    GALLEY_ASSIGN(const auto named, rules->find_path(file.change.path.str()));
    for (const SecretMatch& match : named) {
      sink.add("secrets." + match.rule, 0, 0,
               fmt::format("its name is one of {}",
                           match.description.empty() ? match.rule : match.description),
               "leave the file out");
    }
    return for_added_lines(file, [&](const Lines& lines, const LineBlock& block) -> Result<void> {
      const std::string_view text = lines.span(block.begin, block.end);
      GALLEY_ASSIGN(const auto matches, rules->find(file.change.path.str(), text));
      for (const SecretMatch& match : matches) report(match, lines, block.begin, sink);
      return {};
    });
  }

 private:
  Result<const SecretRules*> need_rules() const {
    const std::lock_guard lock(mutex_);
    if (!rules_) {
      GALLEY_ASSIGN(rules_, source_.file.empty() ? SecretRules::built_in()
                                                 : SecretRules::parse(source_.text, source_.file,
                                                                      PatternCheck::kAtUse));
    }
    return &*rules_;
  }

  /// A finding is printed, logged and sent to models, so it must not contain the secret.
  static void report(const SecretMatch& match, const Lines& lines, uint32_t first_line,
                     FindingSink& sink) {
    const size_t begin = lines.offset(first_line) + match.begin;
    const size_t line = lines.line_at(begin);
    const size_t length = match.end - match.begin;
    const std::string shown = length <= 2 * kShownBytes
                                  ? std::string("…")
                                  : fmt::format("{}…", lines.text().substr(begin, kShownBytes));
    const std::string& what = match.description.empty() ? match.rule : match.description;
    if (match.is_over_limit) {
      sink.add(kTooManyFindings, 0, 0,
               "it has more places that look like " + what + " than are reported",
               "mend some of them");
    }
    sink.add("secrets." + match.rule, static_cast<uint32_t>(line + 1),
             static_cast<uint32_t>(begin - lines.offset(line) + 1),
             fmt::format("looks like {} ({} {} bytes)", what, shown, length),
             "take it out and revoke it if it is real; galley.toml can let comments say that it is "
             "not a secret (`findings.suppress_secrets`)");
  }

  RuleText source_;
  mutable std::mutex mutex_;
  mutable std::optional<SecretRules> rules_;
};

class ForbiddenTextValidator final : public FileValidator {
 public:
  ForbiddenTextValidator(const ValidatorConfig& config, ValidatorCache* cache,
                         std::vector<std::unique_ptr<TextPattern>> patterns)
      : FileValidator(config, cache,
                      {.default_paths = {"*"}, .skips_binaries = false, .version = 5}),
        patterns_(std::move(patterns)) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    return for_added_lines(file, [&](const Lines& lines, const LineBlock& block) -> Result<void> {
      for (uint32_t i = block.begin; i < block.end; ++i) check_line(lines[i], i + 1, sink);
      return {};
    });
  }

 private:
  void check_line(std::string_view line, uint32_t number, FindingSink& sink) const {
    line = without_terminator(line);
    const re2::StringPiece text(line.data(), line.size());
    for (const auto& pattern : patterns_) {
      re2::StringPiece match;
      if (!pattern->for_text(line).Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1))
        continue;
      sink.add("forbidden_text", number, static_cast<uint32_t>(match.data() - line.data() + 1),
               fmt::format("`{}` matches the forbidden pattern `{}`",
                           std::string_view(match.data(), match.size()), pattern->text()),
               "take it out");
    }
  }

  std::vector<std::unique_ptr<TextPattern>> patterns_;
};

}  // namespace

Result<ValidatorPtr> make_secrets_validator(const ValidatorConfig& config,
                                            const Directory& workspace, ValidatorCache* cache) {
  if (config.rules_file.empty()) {
    return std::make_unique<SecretsValidator>(config, cache, SecretsValidator::RuleText());
  }
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(config.rules_file));
  GALLEY_ASSIGN(std::string text, read_file(workspace, path, limits::kMaxConfigBytes));
  // The result that a rule file is valid is cached: compiling it takes longer than most judgements.
  const ContentId proof = ContentId::of(std::string(kGoodRules) + text);
  if (cache == nullptr || !cache->get(proof)) {
    GALLEY_TRY(SecretRules::parse(text, config.rules_file, PatternCheck::kNow));
    if (cache != nullptr) cache->put(proof, {});
  }
  return std::make_unique<SecretsValidator>(
      config, cache, SecretsValidator::RuleText{config.rules_file, std::move(text)});
}

Result<ValidatorPtr> make_forbidden_text_validator(const ValidatorConfig& config,
                                                   ValidatorCache* cache) {
  std::vector<std::unique_ptr<TextPattern>> patterns;
  for (const auto& text : config.patterns) {
    auto pattern =
        std::make_unique<TextPattern>(text, TextPattern::Options{.max_memory = kMaxPatternMemory});
    if (!pattern->compiled().ok()) {
      return fail(
          ErrorKind::kInvalid, "config.value",
          fmt::format("pattern `{}` does not compile: {}", text, pattern->compiled().error()));
    }
    patterns.push_back(std::move(pattern));
  }
  if (patterns.empty()) {
    return fail(ErrorKind::kInvalid, "config.value", "it has no `patterns`");
  }
  return std::make_unique<ForbiddenTextValidator>(config, cache, std::move(patterns));
}

}  // namespace galley
