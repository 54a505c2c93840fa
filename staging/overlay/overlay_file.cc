#include "staging/overlay/overlay_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "staging/overlay/node_text.h"

namespace galley {
namespace {

constexpr std::string_view kStageFirstLine = "galley overlay 1\n";
constexpr std::string_view kStageLastLine = "end ";
constexpr size_t kFields = 6;
constexpr size_t kFieldsWithListing = 7;
constexpr size_t kFieldsWithTime = 8;
constexpr char kByCommand = 'c';
constexpr size_t kBaseFields = 5;

void add(std::string& out, std::integral auto number, char end) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), result.ptr);
  out.push_back(end);
}

void add_node_field(std::string& out, const Node& node) {
  append_node(out, node);
  out.push_back('\t');
}

void add_base(std::string& out, const BaseStamp& base) {
  add(out, base.inode, ' ');
  add(out, base.device, ' ');
  add(out, base.mtime_ns, ' ');
  add(out, base.ctime_ns, ' ');
  add(out, base.seen_ns, '\t');
}

tl::unexpected<Error> damaged_stage(size_t line) {
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "the stage file of this transaction is damaged at line " + std::to_string(line) +
                  "; roll the transaction back and stage it again");
}

bool read_base(std::string_view text, BaseStamp& base) {
  const auto parts = split_fields(text, ' ');
  return parts.size() == kBaseFields && read_number(parts[0], base.inode) &&
         read_number(parts[1], base.device) && read_number(parts[2], base.mtime_ns) &&
         read_number(parts[3], base.ctime_ns) && read_number(parts[4], base.seen_ns);
}

bool read_source(std::string_view text, std::optional<RelPath>& source) {
  if (text.empty()) return true;
  source = read_path_name(text);
  return source.has_value();
}

bool read_written(std::string_view text, Change::WriteTime& written) {
  written.by_command = text.starts_with(kByCommand);
  return read_number(text.substr(written.by_command ? 1 : 0), written.ns);
}

/// One line: a path and its entry. The entry is missing if it was removed.
struct EntryLine {
  RelPath path = RelPath::root();
  std::optional<Overlay::Entry> entry;
};

std::optional<EntryLine> read_entry_line(std::string_view text) {
  const auto fields = split_fields(text, '\t');
  const bool is_gone = fields.size() == 2 && fields[1].empty();
  if (!is_gone && (fields.size() < kFields || fields.size() > kFieldsWithTime)) return {};
  EntryLine line;
  const bool has_time = fields.size() == kFieldsWithTime;
  const bool has_listing =
      fields.size() >= kFieldsWithListing && !(has_time && fields[kFieldsWithListing - 1].empty());
  // The root has an entry only for its listing.
  const bool is_root = fields[0].empty() && (is_gone || has_listing);
  if (!is_root) {
    auto path = read_path_name(fields[0]);
    if (!path || path->is_protected()) return {};
    line.path = *std::move(path);
  }
  if (is_gone) return line;
  Overlay::Entry& entry = line.entry.emplace();
  if (has_listing) {
    entry.listing = ContentId::from_hex(fields[kFieldsWithListing - 1]);
    if (!entry.listing) return {};
  }
  if (has_time && !read_written(fields.back(), entry.written)) return {};
  const bool is_whole = read_node(fields[1], entry.before) && read_base(fields[2], entry.base) &&
                        read_node(fields[3], entry.now) &&
                        read_source(fields[4], entry.renamed_from) &&
                        read_source(fields[5], entry.copied_from);
  if (!is_whole) return {};
  return line;
}

void add_entry(std::string& out, const RelPath& path, const Overlay::Entry& entry) {
  append_name(out, path.str());
  out.push_back('\t');
  add_node_field(out, entry.before);
  add_base(out, entry.base);
  add_node_field(out, entry.now);
  if (entry.renamed_from) append_name(out, entry.renamed_from->str());
  out.push_back('\t');
  if (entry.copied_from) append_name(out, entry.copied_from->str());
  const bool has_time = entry.written.ns != 0;
  if (entry.listing || has_time) out.append("\t");
  if (entry.listing) out.append(entry.listing->hex());
  if (has_time) {
    out.push_back('\t');
    if (entry.written.by_command) out.push_back(kByCommand);
    add(out, entry.written.ns, '\n');
    return;
  }
  out.push_back('\n');
}

std::string closing_line(std::string_view line_before, std::string_view lines) {
  ContentHasher hasher;
  hasher.update(line_before);
  hasher.update(lines);
  return std::string(kStageLastLine) + hasher.finish().hex() + "\n";
}

bool is_closing_line(std::string_view line) {
  return line.starts_with(kStageLastLine) && line.find('\t') == std::string_view::npos;
}

/// Applies one line. In the first part each path occurs once; in blocks a path may be repeated or
/// removed.
bool apply_entry_line(EntryLine line, bool is_block, Overlay::Entries& entries) {
  if (!line.entry) return is_block && entries.erase(line.path) == 1;
  if (is_block) {
    entries.insert_or_assign(line.path, *std::move(line.entry));
    return entries.size() <= limits::kMaxChanges;
  }
  return entries.size() < limits::kMaxChanges &&
         entries.emplace(line.path, *std::move(line.entry)).second;
}

}  // namespace

std::string encode_entries(const Overlay::Entries& entries) {
  std::string out(kStageFirstLine);
  for (const auto& [path, entry] : entries) add_entry(out, path, entry);
  out.append(closing_line({}, out));
  return out;
}

Result<Overlay::Entries> decode_entries(std::string_view text) {
  GALLEY_ASSIGN(AppendableEntries read, decode_appendable_entries(text));
  if (read.whole_bytes != text.size()) {
    const auto lines = std::count(text.begin(), text.begin() + read.whole_bytes, '\n');
    return damaged_stage(static_cast<size_t>(lines) + 1);
  }
  return std::move(read.entries);
}

Result<AppendableEntries> decode_appendable_entries(std::string_view text) {
  if (!text.starts_with(kStageFirstLine)) return damaged_stage(1);
  AppendableEntries read;
  Overlay::Entries entries;  // including the lines of the current block
  size_t block = 0;
  size_t line_number = 2;
  std::optional<size_t> bad_line;  // in the current block
  for (size_t start = kStageFirstLine.size(); start < text.size(); ++line_number) {
    const size_t end = text.find('\n', start);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(start, end - start);
    if (is_closing_line(line)) {
      const std::string wanted = closing_line(read.last_line, text.substr(block, start - block));
      if (bad_line || text.substr(start, end + 1 - start) != wanted) {
        return damaged_stage(bad_line.value_or(line_number));
      }
      read = {entries, read.whole_bytes == 0 ? end + 1 : read.whole_bytes, end + 1, wanted};
      block = end + 1;
    } else if (!bad_line) {
      auto told = read_entry_line(line);
      const bool is_block = read.whole_bytes > 0;
      if (!told || !apply_entry_line(*std::move(told), is_block, entries)) bad_line = line_number;
    }
    start = end + 1;
  }
  if (read.whole_bytes == 0) return damaged_stage(bad_line.value_or(line_number));
  return read;
}

AppendableEntries appendable_entries(Overlay::Entries entries, std::string_view text) {
  const size_t line = text.rfind('\n', text.size() - 2) + 1;
  return {std::move(entries), text.size(), text.size(), std::string(text.substr(line))};
}

std::string encode_more_entries(AppendableEntries& known, const Overlay::Entries& now) {
  std::string out;
  Overlay::Entries::differences(
      known.entries, now,
      [&out](const RelPath& path, const Overlay::Entry*, const Overlay::Entry* entry) {
        if (entry != nullptr) add_entry(out, path, *entry);
        if (entry != nullptr) return;
        append_name(out, path.str());
        out.append("\t\n");
      },
      Overlay::EqualWithTimes());
  known.entries = now;
  if (out.empty()) return out;
  known.last_line = closing_line(known.last_line, out);
  out.append(known.last_line);
  known.bytes += out.size();
  return out;
}

}  // namespace galley
