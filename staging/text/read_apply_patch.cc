#include <algorithm>

#include "base/limits.h"
#include "staging/text/lines.h"
#include "staging/text/read_edits.h"

namespace galley {
namespace {

constexpr std::string_view kAdd = "*** Add File: ";
constexpr std::string_view kDelete = "*** Delete File: ";
constexpr std::string_view kUpdate = "*** Update File: ";
constexpr std::string_view kMove = "*** Move to: ";
constexpr std::string_view kEndOfFile = "*** End of File";
constexpr std::string_view kEnd = "*** End Patch";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// Reads the grammar of OpenAI's apply_patch tool (its `apply_patch.lark`), leniently.
class ApplyPatchReader {
 public:
  ApplyPatchReader(std::string_view text, EditSet& set) : document_(text), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      const std::string_view line = text_at(at_);
      if (line.starts_with(kAdd)) {
        GALLEY_TRY(read_add(trimmed(line.substr(kAdd.size()))));
      } else if (line.starts_with(kDelete)) {
        FileEdit edit = begin(FileOp::kDelete, trimmed(line.substr(kDelete.size())));
        ++at_;
        GALLEY_TRY(add(std::move(edit)));
      } else if (line.starts_with(kUpdate)) {
        GALLEY_TRY(read_update(trimmed(line.substr(kUpdate.size()))));
      } else if (trimmed(line) == kEnd) {
        has_end_ = true;
        ++at_;
      } else if (trimmed(line) == "*** Begin Patch") {
        has_begin_ = true;
        ++at_;
      } else if (line.starts_with("*** ") && has_begin_ && !has_end_) {
        return bad("'" + std::string(line.substr(0, 60)) + "' is no operation of this format");
      } else {
        ++at_;  // a heredoc wrapper, a fence, prose
      }
    }
    if (!has_begin_) note("no_begin", "'*** Begin Patch' is missing");
    if (!has_end_) note("no_end", "'*** End Patch' is missing");
    return {};
  }

 private:
  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(ErrorKind::kInvalid, "edit.corrupt_hunk",
                "line " + std::to_string(at_ + 1) + " of the patch: " + what);
  }

  void note(const char* rule, std::string message) {
    set_.leniencies.push_back({rule, std::move(message), "", 0});
  }

  FileEdit begin(FileOp op, std::string_view path) const {
    FileEdit edit;
    edit.op = op;
    edit.path = path;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    return edit;
  }

  Result<void> add(FileEdit edit) {
    if (edit.path.empty()) return bad("an operation without a file name");
    if (set_.files.size() >= limits::kMaxFilesInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_files", "the patch names over 100,000 files");
    }
    set_.files.push_back(std::move(edit));
    return {};
  }

  Result<void> read_add(std::string_view path) {
    FileEdit edit = begin(FileOp::kCreate, path);
    std::string content;
    for (++at_; at_ < document_.size(); ++at_) {
      const std::string_view line = document_[at_];
      if (line.starts_with('+')) {
        content += line.substr(1);
      } else if (without_terminator(line).empty() && at_ + 1 < document_.size() &&
                 document_[at_ + 1].starts_with('+')) {
        content += line;
      } else {
        break;
      }
    }
    edit.whole = set_.keep(std::move(content));
    edit.new_mode = 0100644;
    return add(std::move(edit));
  }

  Result<void> read_update(std::string_view path) {
    FileEdit edit = begin(FileOp::kModify, path);
    ++at_;
    if (at_ < document_.size() && text_at(at_).starts_with(kMove)) {
      edit.new_path = trimmed(text_at(at_).substr(kMove.size()));
      if (edit.new_path != edit.path) {
        edit.op = FileOp::kRename;
      } else {
        edit.new_path.clear();
      }
      ++at_;
    }
    while (at_ < document_.size() && !ends_update()) {
      if (text_at(at_).empty() && !is_body_after_blank()) {
        ++at_;
        continue;
      }
      GALLEY_TRY(read_change(edit));
    }
    if (edit.hunks.empty() && edit.op != FileOp::kRename) {
      return bad("an update of '" + edit.path + "' without a change");
    }
    return add(std::move(edit));
  }

  [[nodiscard]] bool ends_update() const {
    const std::string_view line = text_at(at_);
    return line.starts_with("*** ") && line != kEndOfFile;
  }

  [[nodiscard]] static bool is_body(std::string_view line) {
    return line.starts_with('+') || line.starts_with('-') || line.starts_with(' ');
  }

  /// An empty line stands for an empty context line when the body goes on after it.
  [[nodiscard]] bool is_body_after_blank() const {
    size_t next = at_;
    while (next < document_.size() && text_at(next).empty()) ++next;
    return next < document_.size() && is_body(document_[next]);
  }

  void read_anchors(Hunk& hunk) {
    for (; at_ < document_.size() && text_at(at_).starts_with("@@"); ++at_) {
      std::string_view anchor = trimmed(text_at(at_).substr(2));
      if (anchor.ends_with("@@")) anchor = trimmed(anchor.substr(0, anchor.size() - 2));
      if (!anchor.empty() && !is_number_range(anchor)) hunk.anchors.push_back(anchor);
    }
  }

  static HunkLine body_line(std::string_view line) {
    const LineRole role = line.front() == '+'   ? LineRole::kAdded
                          : line.front() == '-' ? LineRole::kRemoved
                                                : LineRole::kContext;
    return {role, line.substr(1)};
  }

  Result<void> read_body(Hunk& hunk) {
    for (; at_ < document_.size(); ++at_) {
      const std::string_view line = document_[at_];
      const std::string_view text = text_at(at_);
      if (text == kEndOfFile) {
        hunk.at_end = true;
        ++at_;
        return {};
      }
      if (text.starts_with("@@") || ends_update()) return {};
      if (text.empty()) {
        if (!is_body_after_blank()) return {};
        hunk.lines.push_back({LineRole::kContext, line});
      } else if (is_body(line)) {
        hunk.lines.push_back(body_line(line));
      } else {
        return bad("a changed line begins with '+', '-' or a blank");
      }
    }
    return {};
  }

  Result<void> read_change(FileEdit& edit) {
    Hunk hunk;
    hunk.document_line = static_cast<uint32_t>(at_ + 1);
    read_anchors(hunk);
    GALLEY_TRY(read_body(hunk));
    if (hunk.lines.empty()) return bad("an @@ without lines");
    const bool only_adds = std::all_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
      return line.role == LineRole::kAdded;
    });
    // The format's own rule: lines without context go to the end of the file.
    if (only_adds && hunk.anchors.empty()) hunk.at_end = true;
    edit.hunks.push_back(std::move(hunk));
    return {};
  }

  /// "-1,3 +1,4": a unified header inside; its numbers say nothing in this format.
  [[nodiscard]] static bool is_number_range(std::string_view anchor) {
    return anchor.starts_with('-') && anchor.size() > 1 && anchor[1] >= '0' && anchor[1] <= '9' &&
           anchor.find('+') != std::string_view::npos;
  }

  Lines document_;
  EditSet& set_;
  size_t at_ = 0;
  bool has_begin_ = false;
  bool has_end_ = false;
};

}  // namespace

Result<EditSet> read_apply_patch(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kApplyPatch;
  if (text.find("\r\n") != std::string::npos &&
      text.find("*** Begin Patch\r\n") != std::string::npos) {
    std::erase(text, '\r');
    set.leniencies.push_back(
        {"crlf_patch", "the patch has CR LF line ends; they were read as LF", "", 0});
  }
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  GALLEY_TRY(ApplyPatchReader(set.keep(std::move(text)), set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch", "the patch names no file");
  }
  if (options.reverse) {
    for (const FileEdit& edit : set.files) {
      if (edit.op != FileOp::kDelete) continue;
      return fail(
          ErrorKind::kInvalid, "edit.not_reversible",
          "'" + edit.path + "' cannot be reversed: '*** Delete File' does not say what was in it",
          edit.path);
    }
    GALLEY_ASSIGN(set, reversed(std::move(set)));
  }
  return narrowed(std::move(set), options);
}

}  // namespace galley
