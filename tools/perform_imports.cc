#include "tools/perform.h"

#include <re2/re2.h>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "staging/text/lines.h"
#include "tools/walk.h"

namespace galley {
namespace {

constexpr size_t kMaxImportLineBytes = 2000;  // longer lines are generated code

/// A language: its file name extensions, and expressions whose first group is the imported name.
struct Language {
  std::string_view name;
  std::vector<std::string_view> endings;
  std::vector<std::string> expressions;
};

const std::vector<Language>& languages() {
  static const std::vector<Language> table = {
      {"c",
       {"c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "m", "mm"},
       {R"re(^\s*#\s*(?:include|import)\s*[<"]([^>"]+)[>"])re"}},
      {"csharp", {"cs"}, {R"re(^\s*(?:global\s+)?using\s+(?:static\s+)?([\w.]+)\s*;)re"}},
      {"css",
       {"css", "scss", "less"},
       {R"re(^\s*@(?:import|use)\s+(?:url\()?\s*['"]([^'"]+)['"])re"}},
      {"go", {"go"}, {R"re(^\s*import\s+(?:[\w.]+\s+)?"([^"]+)")re"}},
      {"java",
       {"java", "kt", "kts", "scala", "groovy"},
       {R"re(^\s*import\s+(?:static\s+)?([\w.*]+))re"}},
      {"javascript",
       {"js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"},
       {R"re(^\s*(?:import|export|\}).*?\bfrom\s*['"]([^'"]+)['"])re",
        R"re(^\s*import\s*['"]([^'"]+)['"])re", R"re(\brequire\(\s*['"]([^'"]+)['"]\s*\))re",
        R"re(\bimport\(\s*['"]([^'"]+)['"]\s*\))re"}},
      {"php",
       {"php"},
       {R"re(^\s*use\s+(?:function\s+|const\s+)?([\w\\]+))re",
        R"re(\b(?:require|include)(?:_once)?\s*\(?\s*['"]([^'"]+)['"])re"}},
      {"python",
       {"py", "pyi"},
       {R"re(^\s*import\s+([\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*))re",
        R"re(^\s*from\s+([\w.]+)\s+import\b)re"}},
      {"ruby", {"rb"}, {R"re(^\s*(?:require|require_relative|load)\s*\(?\s*['"]([^'"]+)['"])re"}},
      {"rust",
       {"rs"},
       {R"re(^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([\w:]+))re", R"re(^\s*extern\s+crate\s+(\w+))re"}},
      {"shell", {"sh", "bash", "zsh"}, {R"re(^\s*(?:source|\.)\s+["']?([^\s"';]+))re"}},
      {"swift", {"swift"}, {R"re(^\s*import\s+(?:\w+\s+)?([\w.]+))re"}},
  };
  return table;
}

using Expressions = std::vector<std::unique_ptr<const re2::RE2>>;

const std::map<std::string_view, Expressions>& compiled_expressions() {
  static const std::map<std::string_view, Expressions> table = [] {
    std::map<std::string_view, Expressions> out;
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // any bytes
    options.set_log_errors(false);
    for (const Language& language : languages()) {
      for (const std::string& text : language.expressions) {
        out[language.name].push_back(std::make_unique<const re2::RE2>(text, options));
      }
    }
    return out;
  }();
  return table;
}

/// `a.b as c, d` of Python names two modules.
void add_modules(std::string_view language, std::string found, uint32_t line,
                 std::vector<ImportLine>& out) {
  if (language != "python") return out.push_back({std::move(found), line});
  for (size_t at = 0; at <= found.size();) {
    const size_t end = std::min(found.find(',', at), found.size());
    const size_t first = found.find_first_not_of(" \t", at);
    const size_t last = std::min(found.find_first_of(" \t,", first), end);
    if (first < last) out.push_back({found.substr(first, last - first), line});
    at = end + 1;
  }
}

/// Go's `import ( … )` has a path on each line.
class GoBlock {
 public:
  /// True when the line belongs to a block. If the line has a path, it is added to `out`.
  bool take(std::string_view text, uint32_t line, std::vector<ImportLine>& out) {
    static const auto* opening = new re2::RE2(R"re(^\s*import\s*\()re");
    static const auto* path = new re2::RE2(R"re(^\s*(?:[\w.]+\s+)?"([^"]+)")re");
    const re2::StringPiece piece(text.data(), text.size());
    if (!is_open_) {
      is_open_ = re2::RE2::PartialMatch(piece, *opening);
      return is_open_;
    }
    std::string module;
    if (re2::RE2::PartialMatch(piece, *path, &module)) out.push_back({std::move(module), line});
    if (text.find(')') != std::string_view::npos) is_open_ = false;
    return true;
  }

 private:
  bool is_open_ = false;
};

}  // namespace

std::string_view import_language(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view ending = file_name.substr(dot + 1);
  for (const Language& language : languages()) {
    const auto& endings = language.endings;
    if (std::find(endings.begin(), endings.end(), ending) != endings.end()) return language.name;
  }
  return {};
}

std::vector<ImportLine> import_lines(std::string_view language, std::string_view text) {
  std::vector<ImportLine> out;
  const auto expressions = compiled_expressions().find(language);
  if (expressions == compiled_expressions().end()) return out;
  const Lines lines(text);
  GoBlock block;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = without_terminator(lines[i]);
    if (line.size() > kMaxImportLineBytes) continue;
    const auto number = static_cast<uint32_t>(i + 1);
    if (language == "go" && block.take(line, number, out)) continue;
    for (const auto& expression : expressions->second) {
      std::string module;
      const re2::StringPiece piece(line.data(), line.size());
      if (!re2::RE2::PartialMatch(piece, *expression, &module)) continue;
      add_modules(language, std::move(module), number, out);
      break;
    }
  }
  return out;
}

namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxImportingFiles = 5000;                   // of one answer
constexpr size_t kMaxImports = 50'000;                        // of one answer
constexpr uint64_t kMaxImportFileBytes = uint64_t{8} << 20U;  // larger files are skipped

/// Collects the imports of all files in a tree.
class ImportTable {
 public:
  [[nodiscard]] bool is_full() const {
    return files_.size() >= kMaxImportingFiles || imports_ >= kMaxImports;
  }

  void take(const RelPath& path, std::string_view language, std::string_view text) {
    ordered_json imports = ordered_json::array();
    for (const ImportLine& one : import_lines(language, text)) {
      imports.push_back({{"module", one.module}, {"line", one.line}});
      if (files_of_[one.module].insert(path.str()).second) ++imports_;
    }
    if (imports.empty()) return;
    files_.push_back(
        {{"path", path.str()}, {"language", language}, {"imports", std::move(imports)}});
  }

  /// Sorts the modules that most files import first.
  ordered_json finish() {
    std::vector<std::pair<std::string, size_t>> modules;
    for (const auto& [module, files] : files_of_) modules.emplace_back(module, files.size());
    std::stable_sort(modules.begin(), modules.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    ordered_json data;
    data["numFiles"] = files_.size();
    data["files"] = std::move(files_);
    data["dependencies"] = ordered_json::array();
    for (const auto& [module, count] : modules) {
      data["dependencies"].push_back({{"module", module}, {"files", count}});
    }
    return data;
  }

 private:
  ordered_json files_ = ordered_json::array();
  std::map<std::string, std::set<std::string>> files_of_;  ///< by module
  size_t imports_ = 0;
};

}  // namespace

Performed perform_imports(const ListImports& list, ToolContext& context) {
  ImportTable table;
  bool is_cut = false;
  const auto look = [&](const RelPath& path) -> Result<WalkStep> {
    const std::string_view language = import_language(path.str());
    if (language.empty()) return WalkStep::kGoOn;
    const auto content = peek(context.overlay, path, kMaxImportFileBytes);
    if (!content && content.error().kind == ErrorKind::kQuota) return WalkStep::kGoOn;
    if (!content && path != list.under && note_unreadable(content.error(), path, context)) {
      return WalkStep::kGoOn;
    }
    if (!content) return fail(content.error());
    if (table.is_full()) {
      is_cut = true;
      return WalkStep::kStop;
    }
    table.take(path, language, **content);
    return WalkStep::kGoOn;
  };
  GALLEY_ASSIGN(const Node under, context.overlay.node_without_content(list.under));
  if (under.kind == FileKind::kRegular) {
    GALLEY_TRY(look(list.under));
  } else {
    const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
      return kind == FileKind::kRegular ? look(path) : Result<WalkStep>(WalkStep::kGoOn);
    };
    GALLEY_TRY(walk(context, list.under, false, visit));
  }
  ordered_json data = table.finish();
  data["truncated"] = is_cut;
  return data;
}

}  // namespace galley
