// This file finds the words. Universal Ctags finds the definitions: it runs in the sandbox like any
// other program, and reads only the files that contain the word.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "staging/printing/git_diff.h"
#include "staging/sandbox/command_runner.h"
#include "staging/text/lines.h"
#include "tools/json_input.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxReferences = 1000;                     // of one answer
constexpr uint64_t kMaxCodeFileBytes = uint64_t{8} << 20U;  // larger files are skipped
constexpr size_t kMaxTaggedFiles = 200;                     // passed to ctags in one run
constexpr uint64_t kMaxCtagsBytes = uint64_t{8} << 20U;     // of ctags' output
constexpr std::chrono::seconds kTagTime{10};
constexpr size_t kMaxCodeLineBytes = 400;  // of a printed line

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         byte >= 0x80U;
}

/// Whether the bytes [at, at + size) are a whole word. If the word ends with another character than
/// a letter, as in `operator+`, that end needs no word boundary.
bool stands_alone(std::string_view text, size_t at, size_t size) {
  const bool opens = at == 0 || !is_word_byte(text[at - 1]) || !is_word_byte(text[at]);
  const size_t end = at + size;
  const bool closes =
      end == text.size() || !is_word_byte(text[end]) || !is_word_byte(text[end - 1]);
  return opens && closes;
}

/// Collects the places of one word.
class ReferenceSearch {
 public:
  explicit ReferenceSearch(const FindReferences& find) : symbol_(find.symbol) {}

  /// Returns false when the search is full.
  bool take(const RelPath& path, std::string_view text) {
    const Lines lines(text);
    for (size_t at = text.find(symbol_); at != std::string_view::npos;
         at = text.find(symbol_, at + 1)) {
      if (!stands_alone(text, at, symbol_.size())) continue;
      if (references_.size() == kMaxReferences) {
        is_cut_ = true;
        return false;
      }
      const size_t line = lines.line_at(at);
      std::string_view shown = without_terminator(lines[line]);
      references_.push_back({{"path", path.str()},
                             {"line", line + 1},
                             {"column", at - lines.offset(line) + 1},
                             {"text", shown.substr(0, kMaxCodeLineBytes)}});
      files_.insert(path);
    }
    return true;
  }

  [[nodiscard]] const std::set<RelPath>& files() const { return files_; }

  ordered_json finish(ordered_json definitions, std::string_view source) {
    ordered_json data;
    data["symbol"] = symbol_;
    data["definitions"] = std::move(definitions);
    data["definitionsFrom"] = source;
    data["numReferences"] = references_.size();
    data["references"] = std::move(references_);
    data["truncated"] = is_cut_;
    return data;
  }

 private:
  std::string symbol_;
  ordered_json references_ = ordered_json::array();
  std::set<RelPath> files_;
  bool is_cut_ = false;
};

/// `--options=NONE` comes first: otherwise .ctags.d in the tree could make ctags run programs.
Command tags_command(const std::set<RelPath>& files, const ToolContext& context) {
  Command command;
  command.argv = {
      "ctags", "--options=NONE", "--output-format=json", "--fields=+nK", "--sort=no", "-f", "-"};
  for (const RelPath& path : files) {
    if (command.argv.size() >= kMaxTaggedFiles) break;
    command.argv.push_back("./" + path.str());
  }
  command.effects = EffectsRule::kDrop;
  command.limits.max_stdout_bytes = kMaxCtagsBytes;
  command.limits.wall = kTagTime;
  if (!context.deadline.is_never()) {
    command.limits.wall =
        std::min<std::chrono::milliseconds>(kTagTime, context.deadline.left(context.clock));
  }
  command.is_deterministic = context.deterministic;
  command.stop = context.stop;
  return command;
}

void add_definition(std::string_view line, const std::string& symbol, ordered_json& out) {
  const auto tag = parse_json(line);
  if (!tag || !tag->is_object() || tag->value("_type", "") != "tag") return;
  const auto text = [&](const char* key) { return text_member(*tag, key); };
  const auto number = tag->find("line");
  if (text("name") != symbol || number == tag->end() || !number->is_number_integer()) return;
  std::string path = text("path");
  if (path.starts_with("./")) path.erase(0, 2);
  out.push_back({{"path", path}, {"line", *number}, {"kind", text("kind")}});
}

/// Returns nullopt when ctags is not installed, or when the caller may not run programs.
std::optional<ordered_json> definitions_of(const std::string& symbol,
                                           const std::set<RelPath>& files, ToolContext& context) {
  if (files.empty() || context.commands == nullptr) return {};
  if (context.judge) {
    Intent intent;
    intent.programs = {"ctags"};
    if (!context.judge(intent)) return {};
  }
  const auto result = context.commands->run(tags_command(files, context), context.overlay);
  if (!result || !result->succeeded()) return {};
  ordered_json found = ordered_json::array();
  const std::string text = result->standard_output.text();
  const Lines lines(text);
  for (size_t i = 0; i < lines.size() && found.size() < kMaxReferences; ++i) {
    add_definition(without_terminator(lines[i]), symbol, found);
  }
  return found;
}

}  // namespace

Performed perform_references(const FindReferences& find, ToolContext& context) {
  GALLEY_ASSIGN(const PathFilter wanted, PathFilter::parse(find.glob));
  ReferenceSearch search(find);
  const size_t skip = find.under.is_root() ? 0 : find.under.str().size() + 1;
  const auto look = [&](const RelPath& path) -> Result<WalkStep> {
    const auto content = peek(context.overlay, path, kMaxCodeFileBytes);
    if (!content && content.error().kind == ErrorKind::kQuota) return WalkStep::kGoOn;
    if (!content && path != find.under && note_unreadable(content.error(), path, context)) {
      return WalkStep::kGoOn;
    }
    if (!content) return fail(content.error());
    if (looks_binary(**content)) return WalkStep::kGoOn;
    return search.take(path, **content) ? WalkStep::kGoOn : WalkStep::kStop;
  };
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    if (kind != FileKind::kRegular) return WalkStep::kGoOn;
    GALLEY_ASSIGN(const RelPath below, RelPath::parse(path.str().substr(skip)));
    return wanted.selects(below) ? look(path) : Result<WalkStep>(WalkStep::kGoOn);
  };
  GALLEY_ASSIGN(const Node under, context.overlay.node_without_content(find.under));
  if (under.kind == FileKind::kRegular) {
    GALLEY_TRY(look(find.under));
  } else {
    GALLEY_TRY(walk(context, find.under, false, visit));
  }
  auto definitions = definitions_of(find.symbol, search.files(), context);
  const bool is_known = definitions.has_value();
  return search.finish(std::move(definitions).value_or(ordered_json::array()),
                       is_known ? "ctags" : "none");
}

}  // namespace galley
