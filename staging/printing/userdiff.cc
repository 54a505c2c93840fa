#include "staging/printing/userdiff.h"

#include <re2/re2.h>
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace galley {

namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class PlainUserDiff final : public UserDiff {
 public:
  [[nodiscard]] std::string_view name() const override { return {}; }
  [[nodiscard]] std::optional<std::string_view> heading(std::string_view line,
                                                        size_t limit) const override {
    if (line.empty()) return std::nullopt;
    const char first = line.front();
    if (!is_ascii_letter(first) && first != '_' && first != '$') return std::nullopt;
    line = line.substr(0, limit);
    while (is_plain_space(line.back())) line.remove_suffix(1);
    return line;
  }
};

struct Extension {
  std::string_view extension;  // lower case
  std::string_view driver;
};

// In git, the user's .gitattributes has this table.
constexpr std::array kExtensions = std::to_array<Extension>({
    {"adb", "ada"},           {"ads", "ada"},     {"bash", "bash"},  {"c", "cpp"},
    {"c++", "cpp"},           {"cc", "cpp"},      {"cpp", "cpp"},    {"cs", "csharp"},
    {"css", "css"},           {"cxx", "cpp"},     {"ex", "elixir"},  {"exs", "elixir"},
    {"go", "golang"},         {"h", "cpp"},       {"h++", "cpp"},    {"hh", "cpp"},
    {"hpp", "cpp"},           {"htm", "html"},    {"html", "html"},  {"hxx", "cpp"},
    {"java", "java"},         {"kt", "kotlin"},   {"kts", "kotlin"}, {"m", "objc"},
    {"markdown", "markdown"}, {"md", "markdown"}, {"mm", "objc"},    {"pas", "pascal"},
    {"php", "php"},           {"pl", "perl"},     {"pm", "perl"},    {"py", "python"},
    {"pyi", "python"},        {"rb", "ruby"},     {"rs", "rust"},    {"scm", "scheme"},
    {"sh", "bash"},           {"ss", "scheme"},   {"tex", "tex"},
});

}  // namespace

const UserDiff& UserDiff::plain() {
  static const PlainUserDiff plain;
  return plain;
}

const UserDiff& UserDiff::for_path(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return plain();
  const std::string extension = to_lower(name.substr(dot + 1));
  const auto* const found =
      std::find_if(kExtensions.begin(), kExtensions.end(),
                   [&](const Extension& known) { return known.extension == extension; });
  if (found == kExtensions.end()) return plain();
  const UserDiff* driver = pattern_driver(found->driver);
  return driver != nullptr ? *driver : plain();
}

namespace {

struct Rule {
  bool names = true;              // false: a match is not a heading, and ends the search
  const char* pattern = nullptr;  // the heading is its first group or the whole match
};

struct Driver {
  std::string_view name;
  bool ignore_case = false;
  std::array<Rule, 5> rules{};  // up to the first rule without a pattern
};

// gitattributes(5) describes the drivers, and the tests compare them with git itself.
constexpr auto kDrivers = std::to_array<Driver>({
    {"ada",
     true,
     {{{false, R"(^(.*[ \t])?(is[ \t]+new|renames|is[ \t]+separate)([ \t].*)?$)"},
       {false, R"(^[ \t]*with[ \t].*$)"},
       {true, R"(^[ \t]*((procedure|function)[ \t]+.*)$)"},
       {true, R"(^[ \t]*((package|protected|task)[ \t]+.*)$)"}}}},
    {"bash",
     false,
     {{{true, R"(^[ \t]*([a-zA-Z_][a-zA-Z0-9_]*[ \t]*\([ \t]*\))[ \t]*(\{|\(\(?|\[\[))"},
       {true,
        R"(^[ \t]*(function[ \t]+[a-zA-Z_][a-zA-Z0-9_]*([ \t]*\([ \t]*\)|[ \t]+)[ \t]*(\{|\(\(?|\[\[)))"}}}},
    {"cpp",
     false,
     {{{false, R"(^[ \t]*[A-Za-z_][A-Za-z_0-9]*:[[:space:]]*($|/[/*]))"},
       {true, R"(^((::[[:space:]]*)?[A-Za-z_].*)$)"}}}},
    {"csharp",
     false,
     {{{false,
        R"(^[ \t]*(do|while|for|if|else|instanceof|new|return|switch|case|throw|catch|using))"},
       {true,
        R"(^[ \t]*(((static|public|internal|private|protected|new|virtual|sealed|override|unsafe|async)[ \t]+)*[][<>@.~_[:alnum:]]+[ \t]+[<>@._[:alnum:]]+[ \t]*\(.*\))[ \t]*$)"},
       {true,
        R"(^[ \t]*(((static|public|internal|private|protected|new|virtual|sealed|override|unsafe)[ \t]+)*[][<>@.~_[:alnum:]]+[ \t]+[@._[:alnum:]]+)[ \t]*$)"},
       {true,
        R"(^[ \t]*(((static|public|internal|private|protected|new|unsafe|sealed|abstract|partial)[ \t]+)*(class|enum|interface|struct|record)[ \t]+.*)$)"},
       {true, R"(^[ \t]*(namespace[ \t]+.*)$)"}}}},
    {"css", true, {{{false, R"([:;][[:space:]]*$)"}, {true, R"(^[:[@.#]?[_a-z0-9].*$)"}}}},
    {"elixir", false, {{{true, R"(^[ \t]*((def(macro|module|impl|protocol|p)?|test)[ \t].*)$)"}}}},
    {"golang",
     false,
     {{{true, R"(^[ \t]*(func[ \t]*.*(\{[ \t]*)?))"},
       {true, R"(^[ \t]*(type[ \t].*(struct|interface)[ \t]*(\{[ \t]*)?))"}}}},
    {"html", false, {{{true, R"(^[ \t]*(<[Hh][1-6]([ \t].*)?>.*)$)"}}}},
    {"java",
     false,
     {{{false, R"(^[ \t]*(catch|do|for|if|instanceof|new|return|switch|throw|while))"},
       {true,
        R"(^[ \t]*(([a-z]+[ \t]+)*(class|enum|interface)[ \t]+[A-Za-z][A-Za-z0-9_$]*[ \t]+.*)$)"},
       {true,
        R"(^[ \t]*(([A-Za-z_<>&][][?&<>.,A-Za-z_0-9]*[ \t]+)+[A-Za-z_][A-Za-z_0-9]*[ \t]*\([^;]*)$)"}}}},
    {"kotlin", false, {{{true, R"(^[ \t]*(([a-z]+[ \t]+)*(fun|class|interface)[ \t]+.*)$)"}}}},
    {"markdown", false, {{{true, R"(^ {0,3}#{1,6}[ \t].*)"}}}},
    {"objc",
     false,
     {{{false, R"(^[ \t]*(do|for|if|else|return|switch|while))"},
       {true, R"(^[ \t]*([-+][ \t]*\([ \t]*[A-Za-z_][A-Za-z_0-9* \t]*\)[ \t]*[A-Za-z_].*)$)"},
       {true, R"(^[ \t]*(([A-Za-z_][A-Za-z_0-9]*[ \t]+)+[A-Za-z_][A-Za-z_0-9]*[ \t]*\([^;]*)$)"},
       {true, R"(^(@(implementation|interface|protocol)[ \t].*)$)"}}}},
    {"pascal",
     false,
     {{{true,
        R"(^(((class[ \t]+)?(procedure|function)|constructor|destructor|interface|implementation|initialization|finalization)[ \t]*.*)$)"},
       {true, R"(^(.*=[ \t]*(class|record).*)$)"}}}},
    {"perl",
     false,
     {{{true, R"(^package .*)"},
       {true, R"(^sub [[:alnum:]_':]+[ \t]*(\([^)]*\)[ \t]*)?(:[^;#]*)?(\{[ \t]*)?(#.*)?$)"},
       {true, R"(^(BEGIN|END|INIT|CHECK|UNITCHECK|AUTOLOAD|DESTROY)[ \t]*(\{[ \t]*)?(#.*)?$)"},
       {true, R"(^=head[0-9] .*)"}}}},
    {"php",
     false,
     {{{true, R"(^[\t ]*(((public|protected|private|static|abstract|final)[\t ]+)*function.*)$)"},
       {true, R"(^[\t ]*((((final|abstract)[\t ]+)?class|enum|interface|trait).*)$)"}}}},
    {"python", false, {{{true, R"(^[ \t]*((class|(async[ \t]+)?def)[ \t].*)$)"}}}},
    {"ruby", false, {{{true, R"(^[ \t]*((class|module|def)[ \t].*)$)"}}}},
    {"rust",
     false,
     {{{true,
        R"(^[\t ]*((pub(\([^\)]+\))?[\t ]+)?((async|const|unsafe|extern([\t ]+"[^"]+"))[\t ]+)?(struct|enum|union|mod|trait|fn|impl|macro_rules!)[< \t]+[^;]*)$)"}}}},
    {"scheme",
     false,
     {{{true,
        R"(^[\t ]*(\(((define|def(struct|syntax|class|method|rules|record|proto|alias)?)[-*/ \t]|(library|module|struct|class)[*+ \t]).*)$)"}}}},
    {"tex", false, {{{true, R"(^(\\((sub)*section|chapter|part)\*{0,1}\{.*)$)"}}}},
});

class PatternUserDiff final : public UserDiff {
 public:
  explicit PatternUserDiff(const Driver& driver) : driver_(driver) {
    RE2::Options options(RE2::Latin1);  // files are bytes
    options.set_longest_match(true);    // as in POSIX
    options.set_case_sensitive(!driver.ignore_case);
    options.set_log_errors(false);
    for (const auto& rule : driver.rules) {
      if (rule.pattern == nullptr) break;
      patterns_.push_back(std::make_unique<RE2>(rule.pattern, options));
      GALLEY_CHECK(patterns_.back()->ok());
    }
  }

  [[nodiscard]] std::string_view name() const override { return driver_.name; }
  [[nodiscard]] std::optional<std::string_view> heading(std::string_view line,
                                                        size_t limit) const override {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const re2::StringPiece text(line.data(), line.size());
    for (size_t i = 0; i < patterns_.size(); ++i) {
      std::array<re2::StringPiece, 2> groups;
      const int wanted = patterns_[i]->NumberOfCapturingGroups() > 0 ? 2 : 1;
      if (!patterns_[i]->Match(text, 0, text.size(), RE2::UNANCHORED, groups.data(), wanted)) {
        continue;
      }
      if (!driver_.rules[i].names) return std::nullopt;
      const auto& found = groups[1].data() != nullptr ? groups[1] : groups[0];
      std::string_view heading(found.data(), found.size());
      heading = heading.substr(0, limit);
      while (!heading.empty() && is_plain_space(heading.back())) heading.remove_suffix(1);
      return heading;
    }
    return std::nullopt;
  }

 private:
  const Driver& driver_;
  std::vector<std::unique_ptr<RE2>> patterns_;
};

}  // namespace

const UserDiff* pattern_driver(std::string_view name) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<PatternUserDiff>> compiled(kDrivers.size());
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < kDrivers.size(); ++i) {
    if (kDrivers[i].name != name) continue;
    if (!compiled[i]) compiled[i] = std::make_unique<PatternUserDiff>(kDrivers[i]);
    return compiled[i].get();
  }
  return nullptr;
}

}  // namespace galley
