#include "staging/printing/git_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "staging/printing/git_diff_print.h"
#include "staging/printing/hyperlinks.h"
#include "staging/printing/userdiff.h"

namespace galley {
namespace {

constexpr size_t kBinarySampleBytes = 8000;           // git's FIRST_FEW_BYTES
constexpr size_t kMaxTextBytes = size_t{512} << 20U;  // git's core.bigFileThreshold
constexpr size_t kMaxHeadingBytes = 80;
constexpr size_t kMaxHunkHeaderBytes = 127;
constexpr std::string_view kNowhere = "/dev/null";

char status_of(const FilePair& pair) {
  if (pair.is_create()) return 'A';
  if (pair.is_delete()) return 'D';
  if (pair.kind == PairKind::kRename) return 'R';
  if (pair.kind == PairKind::kCopy) return 'C';
  return pair.is_type_change() ? 'T' : 'M';
}

size_t length_of_utf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  size_t length = 1;
  if (lead >= 0x80) length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length > text.size() || lead > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
  }
  return length;
}

// As in git, a heading ends before its first bytes that are not UTF-8. So characters are not split.
std::string_view whole_characters(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = length_of_utf8(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return text.substr(0, at);
}

size_t decimal_digits(uint32_t value) {
  size_t digits = 1;
  while (value >= 10) value /= 10, ++digits;
  return digits;
}

size_t range_bytes(uint32_t begin, uint32_t end) {
  const uint32_t count = end - begin;
  return decimal_digits(count == 0 ? begin : begin + 1) +
         (count == 1 ? 0 : 1 + decimal_digits(count));
}

// Names the function around each hunk. The name is the nearest line above that the driver accepts,
// otherwise that of the previous hunk. As in git, each line is searched only once.
void name_functions(FileDiff& diff, const Lines& before, const UserDiff& driver) {
  std::string_view current;
  size_t searched = 0;  // lines before this one were searched for an earlier hunk
  for (auto& hunk : diff.hunks) {
    for (size_t i = hunk.span.old_begin; i > searched; --i) {
      auto line = before[i - 1];
      if (line.back() == '\n') line.remove_suffix(1);
      if (const auto heading = driver.heading(line, kMaxHeadingBytes)) {
        current = *heading;
        break;
      }
    }
    searched = std::max<size_t>(searched, hunk.span.old_begin);
    const size_t used = std::string_view("@@ - + @@ ").size() +
                        range_bytes(hunk.span.old_begin, hunk.span.old_end) +
                        range_bytes(hunk.span.new_begin, hunk.span.new_end);
    hunk.heading = whole_characters(current.substr(0, kMaxHunkHeaderBytes - used));
  }
}

FileDiff described(const FilePair& pair) {
  FileDiff diff;
  diff.status = status_of(pair);
  diff.old_path = pair.old_path;
  diff.new_path = pair.new_path;
  diff.old_mode = pair.old_mode;
  diff.new_mode = pair.new_mode;
  diff.similarity = pair.similarity;
  diff.old_bytes = pair.old_content.size();
  diff.new_bytes = pair.new_content.size();
  diff.is_binary = looks_binary(pair.old_content) || looks_binary(pair.new_content);
  return diff;
}

void compare(const FilePair& pair, const DiffOptions& options, FileDiff& diff, const Lines& before,
             const Lines& after) {
  diff.script = diff_lines(before, after, options.lines);
  diff.counts = count_lines(diff.script);
  for (const auto& span : group_hunks(diff.script, before.size(), after.size(), options.context,
                                      options.between_hunks)) {
    diff.hunks.push_back({span, {}});
  }
  const auto& path = diff.new_mode == git_mode::kAbsent ? pair.old_path : pair.new_path;
  name_functions(diff, before,
                 options.functions_by_language ? UserDiff::for_path(path) : UserDiff::plain());
}

class PatchWriter {
 public:
  PatchWriter(const FilePair& pair, const DiffOptions& options, std::string& out)
      : pair_(pair),
        options_(options),
        out_(out),
        print_(options, out),
        old_name_(quote_path(options.old_prefix + pair.old_path)),
        new_name_(quote_path(options.new_prefix + pair.new_path)) {}

  void write(const FileDiff& diff, const Lines& before, const Lines& after) {
    const bool same_content =
        pair_.old_content == pair_.new_content && !pair_.is_create() && !pair_.is_delete();
    if (same_content && pair_.old_mode == pair_.new_mode && pair_.kind == PairKind::kSamePath) {
      return;
    }
    // If white space is ignored, the difference of a pair may be invisible.
    const bool no_lines = diff.script.empty() && !diff.is_binary;
    if (options_.lines.white_space != WhiteSpace::kExact && no_lines && !same_content &&
        !pair_.is_create() && !pair_.is_delete() && pair_.old_mode == pair_.new_mode &&
        pair_.kind == PairKind::kSamePath) {
      return;
    }
    headers(diff, same_content);
    if (same_content) return;
    if (diff.is_binary) return binary();
    if (diff.hunks.empty()) return;
    names();
    print_.hunks(diff, before, after);
  }

 private:
  void headers(const FileDiff& diff, bool same_content) {
    print_.header("diff --git " + old_name_ + " " + new_name_);
    if (pair_.is_create()) {
      print_.header(fmt::format("new file mode {:06o}", pair_.new_mode));
    } else if (pair_.is_delete()) {
      print_.header(fmt::format("deleted file mode {:06o}", pair_.old_mode));
    } else if (pair_.old_mode != pair_.new_mode) {
      print_.header(fmt::format("old mode {:06o}", pair_.old_mode));
      print_.header(fmt::format("new mode {:06o}", pair_.new_mode));
    }
    if (pair_.kind != PairKind::kSamePath) {
      const auto* verb = pair_.kind == PairKind::kRename ? "rename" : "copy";
      print_.header(fmt::format("similarity index {}%", pair_.similarity));
      print_.header(fmt::format("{} from {}", verb, quote_path(pair_.old_path)));
      print_.header(fmt::format("{} to {}", verb, quote_path(pair_.new_path)));
    }
    if (!same_content) index(diff.is_binary && options_.binary);
  }

  void index(bool full) {
    const auto id = [&](uint32_t mode, std::string_view content,
                        const std::optional<GitOid>& known) {
      const auto oid = mode == git_mode::kAbsent ? GitOid()
                       : known                   ? *known
                                                 : GitOid::of_blob(content);
      return full || options_.full_index ? oid.hex() : oid.abbreviated();
    };
    std::string line = "index " + id(pair_.old_mode, pair_.old_content, pair_.old_blob) + ".." +
                       id(pair_.new_mode, pair_.new_content, pair_.new_blob);
    if (pair_.old_mode == pair_.new_mode) line += fmt::format(" {:06o}", pair_.new_mode);
    print_.header(line);
  }

  [[nodiscard]] std::string old_label() const {
    return pair_.is_create() ? std::string(kNowhere) : old_name_;
  }
  [[nodiscard]] std::string new_label() const {
    return pair_.is_delete() ? std::string(kNowhere) : new_name_;
  }

  void names() {
    // A tab marks the end of a name with a space, for GNU patch.
    const auto ended = [](std::string label) {
      if (label.find(' ') != std::string::npos) label.push_back('\t');
      return label;
    };
    print_.header("--- " + ended(old_label()));
    print_.header("+++ " + ended(new_label()));
  }

  void binary() {
    if (options_.binary) return append_binary_patch(pair_.old_content, pair_.new_content, out_);
    out_ += "Binary files " + old_label() + " and " + new_label() + " differ\n";
  }

  const FilePair& pair_;
  const DiffOptions& options_;
  std::string& out_;
  DiffPrinter print_;
  std::string old_name_;
  std::string new_name_;
};

void append_type_change(const FilePair& pair, const DiffOptions& options, std::string& out) {
  const auto [gone, made] = split_type_change(pair);
  append_git_diff(gone, options, out);
  append_git_diff(made, options, out);
}

bool is_moved(const FileDiff& diff) { return diff.status == 'R' || diff.status == 'C'; }

std::string display_name(const FileDiff& diff) {
  if (is_moved(diff)) return rename_notation(diff.old_path, diff.new_path);
  return quote_path(diff.new_mode == git_mode::kAbsent ? diff.old_path : diff.new_path);
}

// As in git, a bar has `width` marks for `most` lines, and at least one mark for any change.
uint64_t scaled(uint64_t lines, uint64_t width, uint64_t most) {
  if (lines == 0 || width == 0) return 0;
  return 1 + lines * (width - 1) / most;
}

struct Widths {
  uint64_t name = 0;
  uint64_t number = 0;
  uint64_t graph = 0;
};

// As in git's show_stats: if the table is too wide, names get up to 5/8 of the width, and numbers
// and bar get the rest.
Widths fit(uint64_t width, Widths wanted) {
  width = std::max(width, 16 + 6 + wanted.number);
  if (wanted.name + wanted.number + 6 + wanted.graph <= width) return wanted;
  const uint64_t graph_limit = width * 3 / 8 - wanted.number - 6;
  if (wanted.graph > graph_limit) {
    wanted.graph = std::max<uint64_t>(graph_limit, 6);
  }
  const uint64_t name_limit = width - wanted.number - 6 - wanted.graph;
  if (wanted.name > name_limit) {
    wanted.name = name_limit;
  } else {
    wanted.graph = width - wanted.number - 6 - wanted.name;
  }
  return wanted;
}

std::string shortened(const std::string& name, uint64_t width) {
  if (name.size() <= width) return name;
  std::string_view tail = name;
  const uint64_t room = width > 3 ? width - 3 : 0;
  tail.remove_prefix(name.size() - room);
  if (const size_t slash = tail.find('/'); slash != std::string_view::npos) {
    tail.remove_prefix(slash);
  }
  return "..." + std::string(tail);
}

void append_marks(char mark, uint64_t count, std::string_view color, bool colored,
                  std::string& out) {
  if (count == 0) return;
  if (colored) out += color;
  out.append(count, mark);
  if (colored) out += kColorReset;
}

}  // namespace

std::pair<FilePair, FilePair> split_type_change(const FilePair& pair) {
  FilePair gone = pair;
  gone.new_path = pair.old_path;
  gone.new_mode = git_mode::kAbsent;
  gone.new_content = {};
  FilePair made = pair;
  made.old_path = pair.new_path;
  made.old_mode = git_mode::kAbsent;
  made.old_content = {};
  gone.kind = made.kind = PairKind::kSamePath;
  return {gone, made};
}

bool looks_binary(std::string_view content) {
  return content.size() > kMaxTextBytes ||
         content.substr(0, kBinarySampleBytes).find('\0') != std::string_view::npos;
}

FileDiff diff_file(const FilePair& pair, const DiffOptions& options) {
  FileDiff diff = described(pair);
  if (diff.is_binary || pair.is_type_change() || pair.old_content == pair.new_content) return diff;
  compare(pair, options, diff, Lines(pair.old_content), Lines(pair.new_content));
  return diff;
}

void append_git_diff(const FilePair& pair, const DiffOptions& options, std::string& out) {
  if (pair.is_type_change()) return append_type_change(pair, options, out);
  FileDiff diff = described(pair);
  Lines before;
  Lines after;
  if (!diff.is_binary && pair.old_content != pair.new_content) {
    before = Lines(pair.old_content);
    after = Lines(pair.new_content);
    compare(pair, options, diff, before, after);
  }
  PatchWriter(pair, options, out).write(diff, before, after);
}

void append_git_diff(const FilePair& pair, const FileDiff& diff, const DiffOptions& options,
                     std::string& out) {
  if (pair.is_type_change()) return append_type_change(pair, options, out);
  PatchWriter writer(pair, options, out);
  if (diff.script.empty()) return writer.write(diff, Lines(), Lines());
  writer.write(diff, Lines(pair.old_content), Lines(pair.new_content));
}

std::string git_diff(const FilePair& pair, const DiffOptions& options) {
  std::string out;
  append_git_diff(pair, options, out);
  return out;
}

std::string name_in_line(const std::string& path) {
  // A name that has quotes itself would look like a quoted one.
  const bool is_plain = printable_line(path) == path && !path.starts_with('"');
  return is_plain ? path : quote_path(path);
}

std::string quote_path(std::string_view path) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (std::all_of(path.begin(), path.end(), is_plain)) return std::string(path);
  static constexpr std::string_view kEscaped = "\a\b\t\n\v\f\r\"\\";
  static constexpr std::string_view kLetters = "abtnvfr\"\\";
  std::string out = "\"";
  for (const char c : path) {
    if (is_plain(c)) {
      out.push_back(c);
    } else if (const size_t at = kEscaped.find(c); at != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kLetters[at]);
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  out.push_back('"');
  return out;
}

std::string rename_notation(std::string_view old_path, std::string_view new_path) {
  const auto quoted_old = quote_path(old_path);
  const auto quoted_new = quote_path(new_path);
  if (quoted_old != old_path || quoted_new != new_path) return quoted_old + " => " + quoted_new;
  size_t prefix = 0;
  for (size_t i = 0; i < std::min(old_path.size(), new_path.size()); ++i) {
    if (old_path[i] != new_path[i]) break;
    if (old_path[i] == '/') prefix = i + 1;
  }
  // The common suffix may begin with the slash that ends the common prefix.
  const size_t overlap = prefix > 0 ? 1 : 0;
  size_t suffix = 0;
  for (size_t i = 1; i + prefix <= std::min(old_path.size(), new_path.size()) + overlap; ++i) {
    const char c = old_path[old_path.size() - i];
    if (c != new_path[new_path.size() - i]) break;
    if (c == '/') suffix = i;
  }
  const auto middle = [&](std::string_view path) -> std::string_view {
    return prefix + suffix >= path.size() ? std::string_view()
                                          : path.substr(prefix, path.size() - prefix - suffix);
  };
  if (prefix + suffix == 0) return fmt::format("{} => {}", old_path, new_path);
  return fmt::format("{}{{{} => {}}}{}", old_path.substr(0, prefix), middle(old_path),
                     middle(new_path), old_path.substr(old_path.size() - suffix));
}

std::string name_status(const std::vector<FileDiff>& diffs) {
  std::string out;
  for (const auto& diff : diffs) {
    out.push_back(diff.status);
    if (is_moved(diff)) {
      fmt::format_to(std::back_inserter(out), "{:03}\t{}", diff.similarity,
                     quote_path(diff.old_path));
    }
    const auto& path = diff.new_mode == git_mode::kAbsent ? diff.old_path : diff.new_path;
    out += "\t" + quote_path(path) + "\n";
  }
  return out;
}

std::string numstat(const std::vector<FileDiff>& diffs) {
  std::string out;
  for (const auto& diff : diffs) {
    if (diff.is_binary) {
      out += "-\t-\t";
    } else {
      fmt::format_to(std::back_inserter(out), "{}\t{}\t", diff.counts.added, diff.counts.removed);
    }
    out += display_name(diff) + "\n";
  }
  return out;
}

std::string shortstat(const std::vector<FileDiff>& diffs) {
  if (diffs.empty()) return {};
  uint64_t added = 0;
  uint64_t removed = 0;
  for (const auto& diff : diffs) {
    added += diff.counts.added;
    removed += diff.counts.removed;
  }
  std::string out = " " + counted(diffs.size(), "file") + " changed";
  if (added != 0 || removed == 0) {
    out += ", " + counted(added, "insertion") + "(+)";
  }
  if (removed != 0 || added == 0) {
    out += ", " + counted(removed, "deletion") + "(-)";
  }
  return out + "\n";
}

namespace {

/// The widths of a table without a limit. Sets `most` to the number of lines of the largest change.
Widths wanted_widths(const std::vector<FileDiff>& diffs, uint64_t& most) {
  Widths wanted;
  uint64_t binary_width = 0;
  for (const auto& diff : diffs) {
    wanted.name = std::max<uint64_t>(wanted.name, display_name(diff).size());
    if (diff.is_binary) {
      binary_width = std::max<uint64_t>(binary_width, 14 + std::to_string(diff.old_bytes).size() +
                                                          std::to_string(diff.new_bytes).size());
      wanted.number = std::max<uint64_t>(wanted.number, 3);
    } else {
      most = std::max(most, diff.counts.added + diff.counts.removed);
    }
  }
  wanted.number = std::max<uint64_t>(wanted.number, std::to_string(most).size());
  wanted.graph = std::max(
      most, binary_width > 4 + wanted.number ? binary_width - 4 - wanted.number : uint64_t{0});
  return wanted;
}

void append_binary(const FileDiff& diff, const Widths& widths, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:>{}}", "Bin", widths.number);
  if (diff.old_bytes != diff.new_bytes || diff.status == 'M') {
    fmt::format_to(std::back_inserter(out), " {} -> {} bytes", diff.old_bytes, diff.new_bytes);
  }
}

}  // namespace

namespace {

/// Appends a name, with a link unless the file was removed.
void append_name(const FileDiff& diff, const std::string& name, uint64_t width,
                 const Hyperlinks* links, std::string& out) {
  out.push_back(' ');
  if (links != nullptr && diff.new_mode != git_mode::kAbsent) {
    links->append(diff.new_path, 0, name, out);
  } else {
    out += name;
  }
  out.append(width > name.size() ? width - name.size() : 0, ' ');
  out += " | ";
}

}  // namespace

std::string diffstat(const std::vector<FileDiff>& diffs, const DiffStatOptions& options) {
  if (diffs.empty()) return {};
  uint64_t most = 0;
  const Widths wanted = wanted_widths(diffs, most);
  const auto widths = fit(static_cast<uint64_t>(std::max(options.width, 0)), wanted);
  std::string out;
  for (const auto& diff : diffs) {
    const auto name = shortened(display_name(diff), widths.name);
    append_name(diff, name, widths.name, options.links, out);
    if (diff.is_binary) {
      append_binary(diff, widths, out);
      out.push_back('\n');
      continue;
    }
    uint64_t added = diff.counts.added;
    uint64_t removed = diff.counts.removed;
    const uint64_t total = added + removed;
    fmt::format_to(std::back_inserter(out), "{:>{}}", total, widths.number);
    if (widths.graph <= most && total > 0) {
      uint64_t marks = scaled(total, widths.graph, most);
      if (marks < 2 && added != 0 && removed != 0) marks = 2;
      if (added < removed) {
        added = scaled(added, widths.graph, most);
        removed = marks - added;
      } else {
        removed = scaled(removed, widths.graph, most);
        added = marks - removed;
      }
    }
    if (total > 0) out.push_back(' ');
    append_marks('+', added, kNewColor, options.color, out);
    append_marks('-', removed, kOldColor, options.color, out);
    out.push_back('\n');
  }
  return out + shortstat(diffs);
}

}  // namespace galley
