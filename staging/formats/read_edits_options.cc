#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/formats/read_edits.h"

namespace galley {
namespace {

void reverse_hunk(Hunk& hunk) {
  hunk.section = {};  // a line of the side before, which this side need not have
  for (HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded) {
      line.role = LineRole::kRemoved;
    } else if (line.role == LineRole::kRemoved) {
      line.role = LineRole::kAdded;
    }
  }
  std::swap(hunk.old_start, hunk.new_start);
}

Result<void> reverse_file(FileEdit& edit) {
  const bool knows_before =
      edit.text_edits.empty() && edit.op != FileOp::kWrite && (!edit.binary || edit.binary_reverse);
  if (!knows_before) {
    return fail(ErrorKind::kInvalid, "edit.not_reversible",
                "'" + edit.path + "' cannot be reversed: the edit does not say what was before",
                edit.path);
  }
  switch (edit.op) {
    case FileOp::kCreate:
      edit.op = FileOp::kDelete;
      break;
    case FileOp::kDelete:
      edit.op = FileOp::kCreate;
      if (edit.hunks.empty() && !edit.binary) edit.whole = std::string_view();
      break;
    case FileOp::kRename:
      std::swap(edit.path, edit.new_path);
      break;
    case FileOp::kCopy:
      // The copy is deleted; its source stays.
      edit.op = FileOp::kDelete;
      edit.path = edit.new_path;
      edit.new_path.clear();
      break;
    default:
      break;
  }
  std::swap(edit.old_mode, edit.new_mode);
  std::swap(edit.old_blob, edit.new_blob);
  std::swap(edit.binary, edit.binary_reverse);
  if (edit.doubt) std::swap(edit.doubt->missing_old, edit.doubt->missing_new);
  std::for_each(edit.hunks.begin(), edit.hunks.end(), reverse_hunk);
  return {};
}

/// The path that filters and --directory apply to.
const std::string& target_of(const FileEdit& edit) {
  return edit.new_path.empty() ? edit.path : edit.new_path;
}

bool is_wanted(const std::string& path, const std::vector<ReadOptions::Filter>& filters) {
  bool has_include = false;
  for (const ReadOptions::Filter& filter : filters) {
    // As git's wildmatch without WM_PATHNAME: '*' also matches '/'.
    if (fnmatch(filter.pattern.c_str(), path.c_str(), 0) == 0) return filter.include;
    has_include = has_include || filter.include;
  }
  return !has_include;
}

void put_below(std::string& path, const std::string& directory) {
  if (!path.empty()) path = directory + "/" + path;
}

Result<EditSet> reversed(EditSet set) {
  std::reverse(set.files.begin(), set.files.end());
  set.is_reversed = !set.is_reversed;
  for (FileEdit& edit : set.files) GALLEY_TRY(reverse_file(edit));
  return set;
}

/// The number of lines that a hunk adds.
int64_t growth_of(const Hunk& hunk) {
  int64_t lines = 0;
  for (const HunkLine& line : hunk.lines) {
    lines += line.role == LineRole::kAdded ? 1 : line.role == LineRole::kRemoved ? -1 : 0;
  }
  return lines;
}

/// 1 if all lines of a hunk have the role, else 0.
int64_t has_only(const Hunk& hunk, LineRole role) {
  return std::ranges::all_of(hunk.lines, [=](const HunkLine& line) { return line.role == role; });
}

/// A hunk as the file has it before all sections; line 0: it has no number.
struct Growth {
  uint32_t line = 0;
  int64_t lines = 0;
};

/// Each section of a diff changes the result of the sections before it. Sections of one file may
/// have the line numbers of the file before all of them, as hunks of one section do. The distance
/// of the two numbers of each hunk proves that: it is the growth by all hunks above it.
void follow_earlier_sections(EditSet& set) {
  constexpr size_t kMostHunks = 1000;  // of a file; programs write one section for each file
  std::map<std::string_view, std::vector<Growth>> sections;
  for (FileEdit& file : set.files) {
    if (file.op != FileOp::kModify || file.hunks.empty()) continue;
    std::vector<Growth>& earlier = sections[file.path];
    const size_t known = earlier.size();
    if (known + file.hunks.size() > kMostHunks) {
      earlier.resize(kMostHunks);  // so later sections keep their numbers, too
      continue;
    }
    std::vector<int64_t> shifts;
    int64_t here = 0;
    bool is_any = false;
    for (const Hunk& hunk : file.hunks) {
      int64_t before = 0;
      for (size_t i = 0; i < known; ++i) {
        if (earlier[i].line < hunk.old_start) before += earlier[i].lines;
      }
      // A side without lines has the number of the line before it.
      const int64_t stated = int64_t{hunk.new_start} + has_only(hunk, LineRole::kRemoved) -
                             hunk.old_start - has_only(hunk, LineRole::kAdded);
      if (hunk.has_numbers && stated == before + here) shifts.push_back(before);
      is_any = is_any || before != 0;
      here += growth_of(hunk);
      earlier.push_back({hunk.has_numbers ? hunk.old_start : 0, growth_of(hunk)});
    }
    if (!is_any || shifts.size() != file.hunks.size()) continue;
    for (size_t i = 0; i < shifts.size(); ++i) {
      const int64_t start = file.hunks[i].old_start + shifts[i];
      file.hunks[i].old_start = static_cast<uint32_t>(std::max<int64_t>(start, 0));
    }
  }
}

EditSet narrowed(EditSet set, const ReadOptions& options) {
  std::string directory = options.directory;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  if (!directory.empty()) {
    for (FileEdit& edit : set.files) {
      put_below(edit.path, directory);
      put_below(edit.new_path, directory);
      put_below(edit.other_path, directory);
      put_below(edit.other_new_path, directory);
    }
    set.directory = directory;
  }
  if (!options.filters.empty()) {
    set.is_wanted = [filters = options.filters](const std::string& path) {
      return is_wanted(path, filters);
    };
    std::erase_if(set.files, [&](const FileEdit& edit) { return !set.is_wanted(target_of(edit)); });
  }
  return set;
}

}  // namespace

Result<EditSet> with_options(EditSet set, const ReadOptions& options) {
  if (options.reverse) {
    GALLEY_ASSIGN(set, reversed(std::move(set)));
  } else if (!options.is_partial) {
    follow_earlier_sections(set);
  }
  return narrowed(std::move(set), options);
}

}  // namespace galley
