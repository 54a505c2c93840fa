#include <algorithm>

#include "base/limits.h"
#include "staging/text/lines.h"
#include "staging/text/read_edits.h"

namespace galley {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// "<<<<<<< SEARCH" with five to nine signs, as models write it.
bool is_mark(std::string_view line, char sign, std::string_view word) {
  const size_t count = std::min(line.find_first_not_of(sign), line.size());
  return count >= 5 && count <= 9 && trimmed(line.substr(count)) == word;
}

/// Reads Aider's edit blocks: a file name, a fence, SEARCH, =======, REPLACE.
class BlockReader {
 public:
  BlockReader(std::string_view text, EditSet& set) : document_(text), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      if (is_mark(text_at(at_), '<', "SEARCH")) {
        GALLEY_TRY(read_block());
      } else {
        ++at_;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  tl::unexpected<Error> bad(std::string reason, size_t line, const std::string& what) const {
    return fail(ErrorKind::kInvalid, std::move(reason),
                "line " + std::to_string(line + 1) + " of the edit: " + what);
  }

  /// The file name stands before the fence, or before SEARCH; else the last block's file is meant.
  [[nodiscard]] std::string name_before(size_t at) const {
    for (size_t back = 1; back <= 3 && back <= at; ++back) {
      std::string_view line = trimmed(text_at(at - back));
      if (line.empty()) continue;
      if (line.starts_with("```") || line.starts_with("~~~")) continue;
      if (is_mark(line, '>', "REPLACE")) break;
      while (!line.empty() && (line.front() == '#' || line.front() == '*' || line.front() == '`' ||
                               line.front() == ' ')) {
        line.remove_prefix(1);
      }
      while (!line.empty() && (line.back() == ':' || line.back() == '*' || line.back() == '`')) {
        line.remove_suffix(1);
      }
      if (line.empty() || line.find(' ') != std::string_view::npos) break;
      return std::string(line);
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
    const size_t search = ++at_;
    while (at_ < document_.size() && !is_mark(text_at(at_), '=', "")) ++at_;
    if (at_ >= document_.size()) {
      return bad("edit.truncated", head, "a SEARCH block without '=======' after it");
    }
    const size_t middle = at_++;
    while (at_ < document_.size() && !is_mark(text_at(at_), '>', "REPLACE")) {
      if (is_mark(text_at(at_), '<', "SEARCH")) {
        return bad("edit.corrupt_hunk", at_, "a SEARCH inside a block; '>>>>>>> REPLACE' missing");
      }
      ++at_;
    }
    if (at_ >= document_.size()) {
      return bad("edit.truncated", head, "a SEARCH block without '>>>>>>> REPLACE' after it");
    }
    TextEdit edit;
    edit.whole_lines = true;
    edit.old_text = document_.span(search, middle);
    edit.new_text = document_.span(middle + 1, at_);
    edit.document_line = static_cast<uint32_t>(head + 1);
    ++at_;
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
  if (options.reverse) {
    GALLEY_ASSIGN(set, reversed(std::move(set)));
  }
  return narrowed(std::move(set), options);
}

}  // namespace galley
