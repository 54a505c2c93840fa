#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/import_lines.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxImportingFiles = 5000;                   // of one answer
constexpr size_t kMaxImports = 50'000;                        // of one answer
constexpr uint64_t kMaxImportFileBytes = uint64_t{8} << 20U;  // larger files are passed over

/// Collects what the files of a tree import.
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

  /// The modules that most files name come first.
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
