#include "engine/validators/secret_rules.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "engine/policy/toml_document.h"
#include "staging/text/text_pattern.h"

namespace galley {
namespace {

constexpr size_t kMaxRules = 2000;
constexpr size_t kMaxPatternBytes = 64 << 10U;
constexpr size_t kMaxMatchesPerRule = 1000;
constexpr int kMaxGroups = 32;

/// Keywords make most rules unnecessary, and compiling all of them costs more than judging a small
/// change.
using Pattern = std::unique_ptr<TextPattern>;

struct Allowlist {
  std::vector<std::string> rules;  ///< ids of the only rules for which it counts; empty: all
  std::vector<Pattern> patterns;
  std::vector<Pattern> paths;
  std::vector<std::string> stopwords;  ///< lower case
  std::string target;                  ///< `secret` (default), `match` or `line`
  bool needs_all = false;              ///< condition = "AND"
};

struct Rule {
  std::string id;
  std::string description;
  Pattern pattern;  ///< null: the rule is only about a path
  Pattern path;
  int secret_group = 0;
  double entropy = 0;
  std::vector<std::string> keywords;  ///< lower case
  std::vector<Allowlist> allowlists;
};

std::string_view line_around(std::string_view text, size_t begin, size_t end) {
  const size_t newline = begin == 0 ? text.npos : text.rfind('\n', begin - 1);
  const size_t first = newline == text.npos ? 0 : newline + 1;
  const size_t last = std::min(text.find('\n', end), text.size());
  return text.substr(first, last - first);
}

bool any_matches(const std::vector<Pattern>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
    return re2::RE2::PartialMatch({text.data(), text.size()}, pattern->for_text(text));
  });
}

/// The parts of one match that an allowlist can check.
struct Suspect {
  std::string_view path;
  std::string_view secret;
  std::string_view match;
  std::string_view line;
};

bool allows(const Allowlist& list, const Suspect& suspect) {
  std::string_view target = suspect.secret;
  if (list.target == "match") target = suspect.match;
  if (list.target == "line") target = suspect.line;
  const std::string lower = to_lower(suspect.secret);
  int asked = 0;
  int agreed = 0;
  const auto ask = [&](bool has_criterion, bool is_met) {
    asked += has_criterion ? 1 : 0;
    agreed += has_criterion && is_met ? 1 : 0;
  };
  ask(!list.patterns.empty(), any_matches(list.patterns, target));
  ask(!list.paths.empty(), any_matches(list.paths, suspect.path));
  ask(!list.stopwords.empty(),
      std::any_of(list.stopwords.begin(), list.stopwords.end(),
                  [&](const std::string& word) { return lower.find(word) != lower.npos; }));
  return list.needs_all ? asked > 0 && agreed == asked : agreed > 0;
}

/// Reads one rule file and keeps the first error. Ignores unknown keys, because the format belongs
/// to gitleaks and grows.
class RuleReader {
 public:
  RuleReader(std::string_view file, PatternCheck check) : file_(file), check_(check) {}

  Result<std::vector<Rule>> rules(const TomlNode& document, std::vector<Allowlist>& global) {
    global = allowlists(document);
    std::vector<Rule> out;
    const TomlNode* list = document.find("rules");
    if (list == nullptr || list->kind != TomlNode::Kind::kArray) {
      fail_at(document, "has no [[rules]]");
    } else if (list->elements.size() > kMaxRules) {
      fail_at(*list, fmt::format("has more than {} rules", kMaxRules));
    } else {
      for (const TomlNode& node : list->elements) out.push_back(rule(node));
    }
    if (error_) return fail(*error_);
    return out;
  }

 private:
  Rule rule(const TomlNode& node) {
    Rule out;
    out.id = text(node, "id");
    out.description = text(node, "description");
    if (out.id.empty()) fail_at(node, "a rule needs an `id`");
    if (const auto pattern = text(node, "regex"); !pattern.empty()) {
      out.pattern = compile(node, pattern);
    }
    if (const auto path = text(node, "path"); !path.empty()) out.path = compile(node, path);
    if (out.pattern == nullptr && out.path == nullptr) {
      fail_at(node, fmt::format("rule `{}` needs a `regex` or a `path`", out.id));
    }
    if (const TomlNode* group = node.find("secretGroup")) {
      out.secret_group = static_cast<int>(std::clamp<int64_t>(group->integer, 0, kMaxGroups));
      if (check_ == PatternCheck::kNow && out.pattern != nullptr &&
          out.secret_group > out.pattern->compiled().NumberOfCapturingGroups()) {
        fail_at(*group, fmt::format("rule `{}` has no group {}", out.id, out.secret_group));
      }
    }
    if (const TomlNode* entropy = node.find("entropy")) {
      out.entropy = entropy->kind == TomlNode::Kind::kInteger
                        ? static_cast<double>(entropy->integer)
                        : entropy->number;
    }
    for (const auto& keyword : texts(node, "keywords")) out.keywords.push_back(to_lower(keyword));
    out.allowlists = allowlists(node);
    return out;
  }

  /// `[allowlist]` of older files and `[[allowlists]]` of newer ones.
  std::vector<Allowlist> allowlists(const TomlNode& node) {
    std::vector<Allowlist> out;
    for (const auto key : {"allowlist", "allowlists"}) {
      const TomlNode* found = node.find(key);
      if (found == nullptr) continue;
      if (found->kind == TomlNode::Kind::kTable) out.push_back(allowlist(*found));
      for (const TomlNode& element : found->elements) out.push_back(allowlist(element));
    }
    return out;
  }

  Allowlist allowlist(const TomlNode& node) {
    Allowlist out;
    for (const auto& pattern : texts(node, "regexes")) {
      out.patterns.push_back(compile(node, pattern));
    }
    out.rules = texts(node, "targetRules");
    for (const auto& path : texts(node, "paths")) out.paths.push_back(compile(node, path));
    for (const auto& word : texts(node, "stopwords")) out.stopwords.push_back(to_lower(word));
    out.target = text(node, "regexTarget");
    out.needs_all = to_lower(text(node, "condition")) == "and";
    return out;
  }

  Pattern compile(const TomlNode& node, const std::string& text) {
    auto pattern = std::make_unique<TextPattern>(
        text.substr(0, kMaxPatternBytes), TextPattern::Options{.max_memory = kMaxPatternMemory});
    if (check_ == PatternCheck::kAtUse) return pattern;
    if (!pattern->compiled().ok() || text.size() > kMaxPatternBytes) {
      fail_at(node, fmt::format("a pattern does not compile: {}", pattern->compiled().error()));
    }
    return pattern;
  }

  std::string text(const TomlNode& node, std::string_view key) {
    const TomlNode* value = node.find(key);
    if (value == nullptr) return {};
    if (value->kind != TomlNode::Kind::kString) {
      fail_at(*value, fmt::format("`{}` must be a string, not {}", key, value->kind_name()));
    }
    return value->text;
  }

  std::vector<std::string> texts(const TomlNode& node, std::string_view key) {
    std::vector<std::string> out;
    const TomlNode* list = node.find(key);
    if (list == nullptr) return out;
    for (const TomlNode& element : list->elements) {
      if (element.kind != TomlNode::Kind::kString) {
        fail_at(element, fmt::format("`{}` must hold strings only", key));
      }
      out.push_back(element.text);
    }
    return out;
  }

  void fail_at(const TomlNode& node, const std::string& what) {
    if (error_) return;
    error_ = Error{ErrorKind::kInvalid, "config.value",
                   fmt::format("{}:{}: {}", file_, node.line, what), file_, 0};
  }

  std::string file_;
  PatternCheck check_;
  std::optional<Error> error_;
};

}  // namespace

struct SecretRules::Rules {
  std::vector<Rule> rules;
  std::vector<Allowlist> global;
};

SecretRules::SecretRules(std::unique_ptr<Rules> rules) : rules_(std::move(rules)) {}
SecretRules::SecretRules(SecretRules&&) noexcept = default;
SecretRules& SecretRules::operator=(SecretRules&&) noexcept = default;
SecretRules::~SecretRules() = default;

size_t SecretRules::size() const { return rules_->rules.size(); }

double entropy_of(std::string_view text) {
  if (text.empty()) return 0;
  std::array<size_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<uint8_t>(c)];
  double bits = 0;
  const auto total = static_cast<double>(text.size());
  for (const size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    bits -= share * std::log2(share);
  }
  return bits;
}

Result<SecretRules> SecretRules::built_in(PatternCheck check) {
  return parse(secret_rule_text::kDefault, "built-in secret rules", check);
}

Result<SecretRules> SecretRules::parse(std::string_view toml, std::string_view file,
                                       PatternCheck check) {
  GALLEY_ASSIGN(const TomlNode document, parse_toml(toml, file));
  auto rules = std::make_unique<Rules>();
  GALLEY_ASSIGN(rules->rules, RuleReader(file, check).rules(document, rules->global));
  return SecretRules(std::move(rules));
}

namespace {

bool has_keyword(const Rule& rule, const std::string& lower) {
  return rule.keywords.empty() ||
         std::any_of(rule.keywords.begin(), rule.keywords.end(),
                     [&](const std::string& word) { return lower.find(word) != lower.npos; });
}

/// gitleaks' rule: the named group, else the first group that matched, else the whole match.
re2::StringPiece secret_of(const Rule& rule, const std::vector<re2::StringPiece>& groups) {
  if (rule.secret_group > 0) return groups[static_cast<size_t>(rule.secret_group)];
  for (size_t i = 1; i < groups.size(); ++i) {
    if (!groups[i].empty()) return groups[i];
  }
  return groups[0];
}

bool is_allowed(const Rule& rule, const std::vector<Allowlist>& global, const Suspect& suspect) {
  const auto says_yes = [&](const Allowlist& list) {
    const auto& rules = list.rules;
    return (rules.empty() || std::find(rules.begin(), rules.end(), rule.id) != rules.end()) &&
           allows(list, suspect);
  };
  return std::any_of(global.begin(), global.end(), says_yes) ||
         std::any_of(rule.allowlists.begin(), rule.allowlists.end(), says_yes);
}

void find_with(const Rule& rule, const std::vector<Allowlist>& global, std::string_view path,
               std::string_view text, std::vector<SecretMatch>& out) {
  const re2::StringPiece whole(text.data(), text.size());
  const re2::RE2& pattern = rule.pattern->for_text(text);
  const int count = std::min(pattern.NumberOfCapturingGroups(), kMaxGroups) + 1;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(count));
  size_t found = 0;
  for (size_t at = 0; at <= text.size() && found <= kMaxMatchesPerRule;) {
    if (!pattern.Match(whole, at, text.size(), re2::RE2::UNANCHORED, groups.data(), count)) {
      return;
    }
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    at = std::max(begin + groups[0].size(), at + 1);
    const re2::StringPiece secret = secret_of(rule, groups);
    if (secret.empty()) continue;
    const auto secret_begin = static_cast<size_t>(secret.data() - text.data());
    const Suspect suspect{path,
                          {secret.data(), secret.size()},
                          {groups[0].data(), groups[0].size()},
                          line_around(text, secret_begin, secret_begin + secret.size())};
    if (rule.entropy > 0 && entropy_of(suspect.secret) <= rule.entropy) continue;
    if (is_allowed(rule, global, suspect)) continue;
    out.push_back({rule.id, rule.description, secret_begin, secret_begin + secret.size()});
    out.back().is_over_limit = ++found > kMaxMatchesPerRule;
  }
}

/// If a pattern was assumed to compile but does not, secrets must not pass.
Result<void> check_use(const Rule& rule, const TextPattern& pattern, std::string_view text,
                       int group = 0) {
  const re2::RE2& compiled = pattern.for_text(text);
  if (compiled.ok() && group <= compiled.NumberOfCapturingGroups()) return {};
  return fail(ErrorKind::kInvalid, "config.value",
              fmt::format("a pattern of rule `{}` does not compile: {}", rule.id,
                          compiled.ok() ? "it lacks its group" : compiled.error()));
}

}  // namespace

Result<std::vector<SecretMatch>> SecretRules::find_path(std::string_view path) const {
  std::vector<SecretMatch> found;
  const re2::StringPiece path_piece(path.data(), path.size());
  for (const Rule& rule : rules_->rules) {
    if (rule.pattern != nullptr || rule.path == nullptr) continue;
    GALLEY_TRY(check_use(rule, *rule.path, path));
    if (!re2::RE2::PartialMatch(path_piece, rule.path->for_text(path))) continue;
    if (is_allowed(rule, rules_->global, Suspect{path, {}, {}, {}})) continue;
    found.push_back({rule.id, rule.description, 0, 0});
  }
  return found;
}

Result<std::vector<SecretMatch>> SecretRules::find(std::string_view path,
                                                   std::string_view text) const {
  std::vector<SecretMatch> found;
  const std::string lower = to_lower(text);
  const re2::StringPiece path_piece(path.data(), path.size());
  for (const Rule& rule : rules_->rules) {
    if (rule.pattern == nullptr) continue;  // see find_path()
    if (rule.path != nullptr) {
      GALLEY_TRY(check_use(rule, *rule.path, path));
      if (!re2::RE2::PartialMatch(path_piece, rule.path->for_text(path))) continue;
    }
    if (!has_keyword(rule, lower)) continue;
    GALLEY_TRY(check_use(rule, *rule.pattern, text, rule.secret_group));
    find_with(rule, rules_->global, path, text, found);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const SecretMatch& a, const SecretMatch& b) { return a.begin < b.begin; });
  // Two rules about the same bytes make one finding, of the first rule.
  found.erase(
      std::unique(found.begin(), found.end(),
                  [](const SecretMatch& a, const SecretMatch& b) { return b.begin < a.end; }),
      found.end());
  return found;
}

}  // namespace galley
