#include "staging/printing/diff_stat.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "staging/printing/git_diff_print.h"
#include "staging/printing/hyperlinks.h"

namespace galley {

namespace {

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
