#include "base/limits.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// Reads Aider's edit blocks: a file name, a fence, SEARCH, =======, REPLACE. If there are none, it
/// reads Aider's whole files: a name and a fence.
class BlockReader {
 public:
  BlockReader(std::string_view text, EditSet& set) : document_(text), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      if (is_block_head(document_[at_])) {
        GALLEY_TRY(read_block());
      } else {
        ++at_;
      }
    }
    if (count_ == 0) read_shown_files();
    return {};
  }

 private:
  /// Reads whole files. A fence may have only a part of its file; the comparison with the file
  /// shows that later.
  void read_shown_files() {
    for (const FencedFile& shown : fenced_files(document_)) {
      FileEdit file;
      file.path = shown.name;
      file.whole = document_.span(shown.fence + 1, shown.end);
      file.document_line = static_cast<uint32_t>(shown.fence + 1);
      set_.leniencies.push_back({"whole_file",
                                 "a fence holds all of the file; it was compared with the file and "
                                 "taken in its place",
                                 file.path, file.document_line});
      set_.files.push_back(std::move(file));
    }
  }

  tl::unexpected<Error> bad(std::string reason, size_t line, const std::string& what) const {
    return fail(ErrorKind::kInvalid, std::move(reason),
                "line " + std::to_string(line + 1) + " of the edit: " + what);
  }

  /// Returns the file name before the fence or before SEARCH. Empty if there is none: then the
  /// block is for the file of the last block.
  [[nodiscard]] std::string name_before(size_t at) const {
    for (size_t back = 1; back <= kBlockNameLines && back <= at; ++back) {
      const std::string_view line = trimmed(document_[at - back]);
      if (line.empty() || is_fence(line)) continue;
      if (at - back < after_block_) break;
      return block_name_of(line);
    }
    return {};
  }

  Result<void> read_block() {
    const size_t head = at_;
    std::string name = name_before(head);
    if (name.empty()) name = last_name_;
    if (name.empty()) {
      return bad("edit.no_file_name", head, "a SEARCH block without a file name before it");
    }
    last_name_ = name;
    const BlockMarks marks = find_block(document_, head);
    if (!marks.reason.empty()) return bad(marks.reason, marks.problem_line, marks.problem);
    TextEdit edit;
    edit.whole_lines = true;
    const size_t begin = skip_block_headers(document_, marks);
    if (begin > head + 1) {
      set_.leniencies.push_back({"block_header",
                                 "line numbers are in the block before its text; they were not "
                                 "taken for text",
                                 name, static_cast<uint32_t>(head + 2)});
    }
    edit.old_text = document_.span(begin, marks.divider);
    edit.new_text = document_.span(marks.divider + 1, marks.end);
    edit.document_line = static_cast<uint32_t>(head + 1);
    at_ = after_block_ = marks.end + 1;
    return add(name, edit);
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
  EditSet& set_;
  size_t at_ = 0;
  size_t after_block_ = 0;  // the line after the last block
  size_t count_ = 0;
  std::string last_name_;
};

}  // namespace

Result<EditSet> read_search_replace(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the document is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kSearchReplace;
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  GALLEY_TRY(BlockReader(set.keep(std::move(text)), set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch", "no '<<<<<<< SEARCH' block was found");
  }
  return with_options(std::move(set), options);
}

}  // namespace galley
