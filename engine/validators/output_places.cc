#include "engine/validators/output_places.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"

namespace galley {

namespace {

constexpr uint32_t kTabWidth = 8;
constexpr size_t kBytesOfSurrogatePair = 4;

/// How far one character moves the column; `bytes` is its length.
uint32_t width_of(char first, size_t bytes, uint32_t column, ColumnUnit unit) {
  if (unit == ColumnUnit::kBytes) return static_cast<uint32_t>(bytes);
  if (unit == ColumnUnit::kUtf16) return bytes == kBytesOfSurrogatePair ? 2 : 1;
  if (unit == ColumnUnit::kTabStops && first == '\t') return kTabWidth - (column - 1) % kTabWidth;
  return 1;
}

/// The number of bytes before a column; nullopt when the line is shorter.
std::optional<size_t> bytes_before(std::string_view line, uint32_t column, ColumnUnit unit) {
  if (column == 0) return {};
  uint32_t at = 1;
  size_t bytes = 0;
  while (at < column) {
    if (bytes == line.size()) return {};
    const size_t length = std::max<size_t>(1, utf8_sequence_length(line, bytes));
    at += width_of(line[bytes], length, at, unit);
    bytes += length;
  }
  return bytes;
}

bool is_before(ToolPlace a, ToolPlace b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/// Joins all edits into one, with the file's text between them.
std::optional<ToolEdit> joined(const std::vector<ToolEdit>& edits, ColumnUnit unit,
                               const SourceFile& source) {
  ToolEdit all{edits.front().begin, edits.back().end, {}};
  std::optional<size_t> last;
  for (const ToolEdit& edit : edits) {
    const auto begin = source.offset(edit.begin, unit);
    const auto end = source.offset(edit.end, unit);
    if (!begin || !end || *end < *begin || (last && *begin < *last)) return {};
    if (last) all.text += source.text().substr(*last, *begin - *last);
    all.text += edit.text;
    last = end;
  }
  return all;
}

}  // namespace

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > lines_.size()) return {};
  return without_terminator(lines_[number - 1]);
}

std::optional<size_t> SourceFile::offset(ToolPlace place, ColumnUnit unit) const {
  if (place.line == lines_.size() + 1 && place.column <= 1) return text_->size();
  if (place.line == 0 || place.line > lines_.size()) return {};
  const auto bytes = bytes_before(line(place.line), place.column, unit);
  if (!bytes) return {};
  return lines_.offset(place.line - 1) + *bytes;
}

std::optional<size_t> SourceFile::offset_of_utf16(uint64_t units) const {
  uint64_t at = 0;
  size_t bytes = 0;
  while (at < units) {
    if (bytes == text_->size()) return {};
    const size_t length = std::max<size_t>(1, utf8_sequence_length(*text_, bytes));
    at += length == kBytesOfSurrogatePair ? 2 : 1;
    bytes += length;
  }
  return bytes;
}

ToolPlace SourceFile::place(size_t offset) const {
  const size_t index = lines_.line_at(offset);
  return {static_cast<uint32_t>(index + 1),
          static_cast<uint32_t>(offset - lines_.offset(index) + 1)};
}

const SourceFile* OutputSources::find(const std::string& shown) {
  if (!text_ || shown.empty()) return nullptr;
  const auto known = known_.find(shown);
  if (known != known_.end()) return known->second.get();
  auto text = text_(shown);
  auto file = text ? std::make_unique<SourceFile>(std::move(text)) : nullptr;
  return known_.emplace(shown, std::move(file)).first->second.get();
}

void set_place(Finding& finding, ToolPlace begin, ToolPlace end, ColumnUnit unit,
               OutputSources& sources) {
  const auto in_bytes = [&](ToolPlace place) {
    if (unit == ColumnUnit::kBytes || place.column == 0) return place;
    const SourceFile* source = sources.find(finding.path);
    const auto offset = source == nullptr ? std::nullopt : source->offset(place, unit);
    return offset ? source->place(*offset) : ToolPlace{place.line, 0};
  };
  begin = in_bytes(begin);
  end = in_bytes(end);
  finding.line = begin.line;
  finding.column = begin.column;
  if (end.line == 0 || begin.column == 0 || end.column == 0 || is_before(end, begin)) return;
  finding.end_line = end.line;
  finding.end_column = end.column;
}

void set_edits(Finding& finding, std::vector<ToolEdit> edits, ColumnUnit unit,
               OutputSources& sources) {
  if (edits.empty()) return;
  std::stable_sort(edits.begin(), edits.end(), [](const ToolEdit& a, const ToolEdit& b) {
    return is_before(a.begin, b.begin);
  });
  if (edits.front().begin.line != finding.line) return;
  if (edits.size() > 1) {
    const SourceFile* source = sources.find(finding.path);
    auto all = source == nullptr ? std::nullopt : joined(edits, unit, *source);
    if (!all) return;
    edits = {std::move(*all)};
  }
  Finding mended = finding;
  set_place(mended, edits.front().begin, edits.front().end, unit, sources);
  if (mended.end_line == 0) return;
  mended.replacement = std::move(edits.front().text);
  finding = std::move(mended);
}

void settle(Finding& finding) {
  finding.rule = printable_line(finding.rule, kMaxFindingBytes);
  finding.message = printable_line(finding.message, kMaxFindingBytes);
  if (finding.line == 0) finding.column = 0;
  const bool has_end =
      finding.column != 0 && finding.end_line != 0 && finding.end_column != 0 &&
      !is_before({finding.end_line, finding.end_column}, {finding.line, finding.column});
  if (!has_end) finding.end_line = finding.end_column = 0;
  if (!finding.replacement) return;
  if (!has_end || finding.replacement->size() > kMaxReplacementBytes ||
      !is_utf8(*finding.replacement)) {
    finding.replacement.reset();
  }
}

std::string OutputPaths::resolve(const std::string& shown) {
  if (shown.empty()) return {};
  const auto known = known_.find(shown);
  if (known != known_.end()) return known->second;
  return known_.emplace(shown, find(shown)).first->second;
}

bool OutputPaths::exists(std::string_view path) const {
  const auto parsed = RelPath::parse(path);
  if (!parsed || parsed->is_root()) return false;
  const auto node = tree_->node(*parsed);
  return node && node->kind == FileKind::kRegular;
}

std::string OutputPaths::find(std::string_view shown) const {
  while (shown.starts_with("./")) shown.remove_prefix(2);
  if (!shown.starts_with('/')) return exists(shown) ? std::string(shown) : std::string();
  while (!shown.empty()) {
    const size_t slash = shown.find('/');
    if (slash == shown.npos) break;
    shown.remove_prefix(slash + 1);
    if (exists(shown)) return std::string(shown);
  }
  return {};
}

}  // namespace galley
