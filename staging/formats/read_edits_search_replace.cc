#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/patch_path.h"
#include "staging/formats/read_edits.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// Reads Aider's edit blocks: a file name, a fence, SEARCH, =======, REPLACE. If there are none, it
/// reads Aider's whole files: a name and a fence.
class BlockReader {
 public:
  BlockReader(std::string_view text, const ReadOptions& options, EditSet& set)
      : document_(text), options_(options), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      if (is_block_head(document_[at_])) {
        GALLEY_TRY(read_block());
      } else {
        ++at_;
      }
    }
    if (count_ == 0) GALLEY_TRY(read_shown_files());
    return count_ > 0 && options_.end != DocumentEnd::kComplete ? check_last_line()
                                                                : Result<void>();
  }

 private:
  /// Reads whole files. A fence may have only a part of its file; the comparison with the file
  /// shows that later.
  Result<void> read_shown_files() {
    const std::vector<FencedFile> files = fenced_files(document_);
    for (const FencedFile& shown : files) {
      if (shown.is_mentioned) {
        return bad("edit.unread", shown.fence,
                   "a sentence names '" + shown.name +
                       "' before this fence, which may be that file, so nothing was read: put the "
                       "name alone on its line, or leave the fence out");
      }
      if (shown.is_unclear) {
        return bad("edit.unread", shown.end,
                   "this fence may end the file '" + shown.name +
                       "' or be a part of it, so nothing was read: put the file in a fence of four "
                       "backticks");
      }
      FileEdit file;
      file.path = shown.name;
      file.whole = document_.span(shown.fence + 1, shown.end);
      file.document_line = static_cast<uint32_t>(shown.fence + 1);
      file.is_complete = options_.has_whole_files;
      // A bare word before a fence without a language may be the name of a command's output.
      const std::string_view head = trimmed(document_[shown.fence]);
      const bool names_folder = file.path.find('/') != std::string::npos;
      file.may_be_new = options_.has_whole_files ||
                        (names_folder ? head.find_first_not_of("`~") != std::string_view::npos
                                      : has_language_and_name(head) && is_only_fence(shown));
      set_.leniencies.push_back(
          {"whole_file", "a fence is taken for all of the file", file.path, file.document_line});
      set_.files.push_back(std::move(file));
    }
    return {};
  }

  /// Whether the first line of a fence names a language and then a file, as "```python app.py" or
  /// "```python:app.py".
  static bool has_language_and_name(std::string_view head) {
    head.remove_prefix(std::min(head.find_first_not_of("`~ "), head.size()));
    const std::string_view language = head.substr(0, head.find_first_of(" :"));
    return language.size() < head.size() && language.find_first_of("=./{") == std::string::npos &&
           language != "file" && language != "File" &&
           !fence_name_of("```" + std::string(head)).empty();
  }

  /// Refuses a document whose last line begins another block: the rest was cut off.
  [[nodiscard]] Result<void> check_last_line() const {
    const auto text_at = [this](size_t line) { return trimmed(document_[line]); };
    const auto is_start = [&](size_t line) {  // of a paragraph
      return line == after_block_ || text_at(line - 1).empty() || is_fence(text_at(line - 1));
    };
    const auto is_name = [&](size_t line) {
      const std::string name = block_name_of(text_at(line));
      return line >= after_block_ && is_start(line) && is_path(name) &&
             name.find("://") == std::string::npos;
    };
    size_t end = document_.size();
    while (end > after_block_ && text_at(end - 1).empty()) --end;
    if (end == after_block_) return {};
    const size_t last = end - 1;
    const bool is_cut = text_at(last).starts_with("<<<<<") || is_name(last) ||
                        (is_fence(text_at(last)) && last > after_block_ && is_name(last - 1));
    if (!is_cut) return {};
    return bad("edit.truncated", last,
               "this line begins another block, and the document ends: send it whole, or "
               "--complete takes it as it is (\"complete\": true in a tool call)");
  }

  [[nodiscard]] bool is_only_fence(const FencedFile& shown) const {
    for (size_t line = 0; line < document_.size(); ++line) {
      if ((line < shown.fence || line > shown.end) && is_fence(document_[line])) return false;
    }
    return true;
  }

  tl::unexpected<Error> bad(std::string reason, size_t line, const std::string& what) const {
    return fail(ErrorKind::kInvalid, std::move(reason),
                "line " + std::to_string(line + 1) + " of the edit: " + what);
  }

  struct BlockName {
    std::string text;
    bool is_word = false;  ///< it may be a word of prose
  };

  /// Returns the file name before the fence, in its title or before SEARCH. Empty if there is none:
  /// then the block is for the file of the last block. Nullopt if a tag or a name in prose says
  /// that another file may be meant.
  [[nodiscard]] std::optional<BlockName> name_before(size_t at) const {
    bool may_be_other = false;
    BlockName title;
    size_t others = 0;  // lines that are not tags
    for (size_t line = at; line > after_block_ && others < kBlockNameLines; --line) {
      const std::string_view text = trimmed(document_[line - 1]);
      const BlockTag tag = block_tag_of(text);
      if (!tag.name.empty()) return BlockName{tag.name};
      may_be_other = may_be_other || tag.begins_file;
      if (tag.is_tag) continue;
      ++others;
      if (is_fence(text) && title.text.empty()) title.text = fence_name_of(text);
      if (text.empty() || is_fence(text)) continue;
      BlockName name{block_name_of(text), is_bare_word(text)};
      if (!name.text.empty() && (title.text.empty() || !name.is_word)) return name;
      break;
    }
    if (!title.text.empty()) return title;
    if (may_be_other || mentions_other(at)) return std::nullopt;
    return title;
  }

  /// True if a line since the last block has the name of another file than the last one.
  [[nodiscard]] bool mentions_other(size_t at) const {
    const auto ends_with = [](std::string_view path, std::string_view end) {
      return path == end || path.ends_with("/" + std::string(end));
    };
    for (size_t line = after_block_; line < at && !last_name_.text.empty(); ++line) {
      std::string text(document_[line]);
      for (size_t i = 0; i < text.size(); ++i) {  // absolute names, too
        if (text[i] == '/' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '`')) text[i] = ' ';
      }
      std::vector<std::string> names;
      add_mentioned_names(text, names);
      for (const std::string& name : names) {
        if (is_path(name) && !ends_with(name, last_name_.text) &&
            !ends_with(last_name_.text, name)) {
          return true;
        }
      }
    }
    return false;
  }

  /// False for a name in code, as `os.path`, and for libraries that are called as files.
  static bool is_path(std::string_view name) {
    return name.find('/') != std::string_view::npos || has_file_ending(name);
  }

  Result<void> read_block() {
    const size_t head = at_;
    std::optional<BlockName> before = name_before(head);
    if (before && before->text.empty()) before = last_name_;
    const bool is_new = head + 1 < document_.size() && trimmed(document_[head + 1]) == "=======";
    if (!before || before->text.empty() || (before->is_word && is_new)) {
      return bad("edit.no_file_name", head,
                 before && before->is_word ? "a SEARCH block for a new file, '" + before->text +
                                                 "'; if that is its name, put it in quotes"
                                           : "a SEARCH block without a file name before it");
    }
    last_name_ = *std::move(before);
    const std::string name = last_name_.text;
    const BlockMarks marks = find_block(document_, head);
    if (!marks.reason.empty()) return bad(marks.reason, marks.problem_line, marks.problem);
    TextEdit edit;
    edit.whole_lines = true;
    edit.old_text = text_of_block(name, head + 1, marks.divider);
    edit.new_text = text_of_block(name, marks.divider + 1, marks.end);
    edit.document_line = static_cast<uint32_t>(head + 1);
    at_ = after_block_ = marks.end + 1;
    return add(name, edit);
  }

  /// Returns the text in lines [begin, end) of a block for the file `name`.
  std::string_view text_of_block(const std::string& name, size_t begin, size_t end) {
    const size_t first = skip_block_headers(document_, begin, end);
    if (first > begin) {
      set_.leniencies.push_back({"block_header",
                                 "line numbers are in the block before its text; they were not "
                                 "taken for text",
                                 name, static_cast<uint32_t>(begin + 1)});
    }
    return document_.span(first, end);
  }

  Result<void> add(const std::string& name, const TextEdit& edit) {
    if (++count_ > limits::kMaxHunksInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_hunks", "the document has over 1,000,000 blocks");
    }
    if (edit.old_text.empty()) {
      FileEdit file;
      file.op = FileOp::kCreate;
      file.path = name;
      file.whole = edit.new_text;
      file.new_mode = 0100644;
      file.document_line = edit.document_line;
      set_.files.push_back(std::move(file));
      return {};
    }
    const bool goes_on = !set_.files.empty() && set_.files.back().path == name &&
                         set_.files.back().op == FileOp::kModify;
    if (!goes_on) {
      FileEdit file;
      file.path = name;
      file.document_line = edit.document_line;
      set_.files.push_back(std::move(file));
    }
    set_.files.back().text_edits.push_back(edit);
    return {};
  }

  Lines document_;
  const ReadOptions& options_;
  EditSet& set_;
  size_t at_ = 0;
  size_t after_block_ = 0;  // the line after the last block
  size_t count_ = 0;
  BlockName last_name_;
};

}  // namespace

Result<EditSet> read_search_replace(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the document is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kSearchReplace;
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  GALLEY_TRY(BlockReader(set.keep(std::move(text)), options, set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch", "no '<<<<<<< SEARCH' block was found");
  }
  return with_options(std::move(set), options);
}

}  // namespace galley
