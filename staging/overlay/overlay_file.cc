#include "staging/overlay/overlay_file.h"

#include <array>
#include <charconv>
#include <vector>

#include "base/limits.h"
#include "staging/overlay/node_text.h"

namespace galley {
namespace {

constexpr std::string_view kStageFirstLine = "galley overlay 1\n";
constexpr std::string_view kStageLastLine = "end ";
constexpr size_t kFields = 6;
constexpr size_t kFieldsWithListing = 7;
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
  auto path = RelPath::parse(text);
  if (!path || path->str() != text) return false;
  source = *std::move(path);
  return true;
}

bool read_line(std::string_view line, Overlay::Entries& entries) {
  const auto fields = split_fields(line, '\t');
  if (fields.size() != kFields && fields.size() != kFieldsWithListing) return false;
  // The root has an entry only for its listing.
  const bool is_root = fields[0].empty() && fields.size() == kFieldsWithListing;
  const auto path = is_root ? RelPath::root() : RelPath::parse(fields[0]);
  if (!path || path->str() != fields[0] || path->is_protected()) return false;
  Overlay::Entry entry;
  if (fields.size() == kFieldsWithListing) {
    entry.listing = ContentId::from_hex(fields.back());
    if (!entry.listing) return false;
  }
  const bool is_whole = read_node(fields[1], entry.before) && read_base(fields[2], entry.base) &&
                        read_node(fields[3], entry.now) &&
                        read_source(fields[4], entry.renamed_from) &&
                        read_source(fields[5], entry.copied_from);
  return is_whole && entries.emplace(*path, std::move(entry)).second;
}

}  // namespace

std::string encode_entries(const Overlay::Entries& entries) {
  std::string out(kStageFirstLine);
  for (const auto& [path, entry] : entries) {
    out.append(path.str()).push_back('\t');
    add_node_field(out, entry.before);
    add_base(out, entry.base);
    add_node_field(out, entry.now);
    out.append(entry.renamed_from ? entry.renamed_from->str() : "").push_back('\t');
    out.append(entry.copied_from ? entry.copied_from->str() : "");
    if (entry.listing) out.append("\t").append(entry.listing->hex());
    out.push_back('\n');
  }
  const std::string digest = ContentId::of(out).hex();
  out.append(kStageLastLine).append(digest).push_back('\n');
  return out;
}

Result<Overlay::Entries> decode_entries(std::string_view text) {
  if (!text.starts_with(kStageFirstLine)) return damaged_stage(1);
  Overlay::Entries entries;
  size_t line_number = 2;
  for (size_t start = kStageFirstLine.size(); start < text.size(); ++line_number) {
    const size_t end = text.find('\n', start);
    if (end == std::string_view::npos) return damaged_stage(line_number);
    const std::string_view line = text.substr(start, end - start);
    if (line.starts_with(kStageLastLine) && line.find('\t') == std::string_view::npos) {
      const auto digest = ContentId::from_hex(line.substr(kStageLastLine.size()));
      if (digest != ContentId::of(text.substr(0, start)) || end + 1 != text.size()) break;
      return entries;
    }
    if (entries.size() >= limits::kMaxChanges || !read_line(line, entries)) {
      return damaged_stage(line_number);
    }
    start = end + 1;
  }
  return damaged_stage(line_number);
}

}  // namespace galley
