#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "staging/text/binary_patch.h"
#include "staging/text/dialect_marks.h"
#include "staging/text/lines.h"
#include "staging/text/patch_path.h"
#include "staging/text/read_edits.h"
#include "staging/text/read_hunk.h"

namespace galley {
namespace {

constexpr uint32_t kDefaultFileMode = 0100644;

/// Reads a whole document, file by file.
class UnifiedReader {
 public:
  UnifiedReader(std::string_view text, const ReadOptions& options, EditSet& set)
      : document_(text), options_(options), set_(set) {}

  Result<void> run() {
    while (at_ < document_.size()) {
      const std::string_view line = text_at(at_);
      if (line.starts_with("diff --git ")) {
        GALLEY_TRY(read_git_file(line.substr(11)));
      } else if (line.starts_with("diff --cc ") || line.starts_with("diff --combined ")) {
        return unsupported("a combined diff of a merge", "diff against one parent");
      } else if (line.starts_with("***************")) {
        return unsupported("a context diff", "use diff -u");
      } else if (is_traditional_header(at_)) {
        GALLEY_TRY(read_traditional_file());
      } else if (line.starts_with("Index: ")) {
        index_name_ = std::string(line.substr(7));
        ++at_;
      } else if (line.starts_with("Binary files ") && line.ends_with(" differ")) {
        GALLEY_TRY(read_bare_binary(line));
      } else if (is_orphan_hunk(line)) {
        return fail(ErrorKind::kInvalid, "edit.no_file_name",
                    "line " + std::to_string(at_ + 1) +
                        " of the patch: a hunk without a file name before it; put '--- a/PATH' and "
                        "'+++ b/PATH' lines before it");
      } else {
        note_fence(line);
        ++at_;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::string_view text_at(size_t at) const {
    return without_terminator(document_[at]);
  }

  tl::unexpected<Error> unsupported(std::string_view what, std::string_view remedy) const {
    return fail(ErrorKind::kInvalid, "edit.unsupported_diff",
                "line " + std::to_string(at_ + 1) + " of the patch: this is " + std::string(what) +
                    ", which cannot be applied; " + std::string(remedy));
  }

  tl::unexpected<Error> bad_header(size_t at, std::string_view what) const {
    return fail(ErrorKind::kInvalid, "edit.bad_header",
                "line " + std::to_string(at + 1) + " of the patch: " + std::string(what));
  }

  void note_fence(std::string_view line) {
    if (line.starts_with("```") && !has_fence_) {
      has_fence_ = true;
      note("markdown_fence", "the patch stands in a markdown fence", {});
    }
  }

  void note(const char* rule, std::string message, std::string_view path) {
    set_.leniencies.push_back(
        {rule, std::move(message), std::string(path), static_cast<uint32_t>(at_ + 1)});
  }

  [[nodiscard]] bool is_orphan_hunk(std::string_view line) const {
    if (!line.starts_with("@@")) return false;
    const auto header = read_hunk_header(line);
    return header && (header->has_numbers || line == "@@" || line.starts_with("@@ ...")) &&
           at_ + 1 < document_.size();
  }

  /// `--- x` and `+++ y`, or one of them directly before a hunk.
  [[nodiscard]] bool is_traditional_header(size_t at) const {
    const std::string_view line = text_at(at);
    const bool is_old = line.starts_with("--- ") && line.size() > 4;
    const bool is_new = line.starts_with("+++ ") && line.size() > 4;
    if ((!is_old && !is_new) || at + 1 >= document_.size()) return false;
    const std::string_view next = text_at(at + 1);
    if (is_old && next.starts_with("+++ ")) return true;
    return next.starts_with("@@");
  }

  Result<void> add(FileEdit edit) {
    if (set_.files.size() >= limits::kMaxFilesInPatch) {
      return fail(ErrorKind::kQuota, "limit.patch_files", "the patch names over 100,000 files");
    }
    set_.files.push_back(std::move(edit));
    return {};
  }

  Result<void> read_traditional_file() {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    HeaderName old_name;
    HeaderName new_name;
    read_name_lines(old_name, new_name);
    if (!old_name.is_given || !new_name.is_given) {
      const HeaderName given = old_name.is_given ? old_name : new_name;
      old_name = new_name = given;
      note("header_incomplete", "only one of the --- and +++ lines is there", given.text);
    }
    if (!resolve_paths(old_name, new_name, options_, set_, edit)) {
      if (index_name_.empty()) return bad_header(edit.document_line - 1, "no usable file name");
      edit.path = index_name_;
    }
    index_name_.clear();
    if (old_name.is_null) edit.op = FileOp::kCreate;
    if (new_name.is_null) edit.op = FileOp::kDelete;
    GALLEY_TRY(read_hunks(edit));
    if (edit.hunks.empty()) {
      return bad_header(edit.document_line - 1, "a file header without a hunk after it");
    }
    return add(std::move(edit));
  }

  void read_name_lines(HeaderName& old_name, HeaderName& new_name) {
    if (text_at(at_).starts_with("--- ")) {
      old_name = read_header_name(text_at(at_).substr(4));
      ++at_;
    }
    if (at_ < document_.size() && text_at(at_).starts_with("+++ ")) {
      new_name = read_header_name(text_at(at_).substr(4));
      ++at_;
    }
  }

  Result<void> read_hunks(FileEdit& edit) {
    while (at_ < document_.size() && text_at(at_).starts_with("@@")) {
      if (text_at(at_).starts_with("@@@")) {
        return unsupported("a combined diff of a merge", "diff against one parent");
      }
      if (++hunk_count_ > limits::kMaxHunksInPatch) {
        return fail(ErrorKind::kQuota, "limit.patch_hunks", "the patch has over 1,000,000 hunks");
      }
      Hunk hunk;
      GALLEY_ASSIGN(at_, read_hunk(document_, at_, options_, edit.path, set_, hunk));
      edit.hunks.push_back(std::move(hunk));
      skip_blank_before_hunk();
    }
    return {};
  }

  /// Models put blank lines between hunks.
  void skip_blank_before_hunk() {
    size_t next = at_;
    while (next < document_.size() && text_at(next).empty()) ++next;
    if (next < document_.size() && next > at_ && text_at(next).starts_with("@@")) at_ = next;
  }

  Result<void> read_git_file(std::string_view names) {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    const auto pair = split_git_names(names);
    ++at_;
    GitHeader header;
    GALLEY_TRY(read_extended_headers(edit, header));
    HeaderName old_name;
    HeaderName new_name;
    const bool has_names = at_ < document_.size() && (is_traditional_header(at_));
    if (has_names) read_name_lines(old_name, new_name);
    if (!old_name.is_given && pair) old_name = {pair->old_name, false, true};
    if (!new_name.is_given && pair) new_name = {pair->new_name, false, true};
    GALLEY_TRY(name_git_file(header, old_name, new_name, edit));
    GALLEY_TRY(read_git_body(edit));
    return add(std::move(edit));
  }

  struct GitHeader {
    std::string from;  ///< of rename or copy lines, unstripped
    std::string to;
  };

  Result<void> read_extended_headers(FileEdit& edit, GitHeader& header) {
    for (; at_ < document_.size(); ++at_) {
      const std::string_view line = text_at(at_);
      if (line.starts_with("old mode ")) {
        GALLEY_ASSIGN(edit.old_mode, mode_of(line.substr(9)));
      } else if (line.starts_with("new mode ")) {
        GALLEY_ASSIGN(edit.new_mode, mode_of(line.substr(9)));
      } else if (line.starts_with("deleted file mode ")) {
        edit.op = FileOp::kDelete;
        GALLEY_ASSIGN(edit.old_mode, mode_of(line.substr(18)));
      } else if (line.starts_with("new file mode ")) {
        edit.op = FileOp::kCreate;
        GALLEY_ASSIGN(edit.new_mode, mode_of(line.substr(14)));
      } else if (line.starts_with("index ")) {
        GALLEY_TRY(read_index_line(line.substr(6), edit));
      } else if (!read_rename_line(line, edit, header) && !line.starts_with("similarity index ") &&
                 !line.starts_with("dissimilarity index ")) {
        return {};
      }
    }
    return {};
  }

  static bool read_rename_line(std::string_view line, FileEdit& edit, GitHeader& header) {
    struct Form {
      std::string_view prefix;
      FileOp op;
      bool is_from;
    };
    static constexpr Form kForms[] = {
        {"rename from ", FileOp::kRename, true}, {"rename to ", FileOp::kRename, false},
        {"rename old ", FileOp::kRename, true},  {"rename new ", FileOp::kRename, false},
        {"copy from ", FileOp::kCopy, true},     {"copy to ", FileOp::kCopy, false}};
    for (const Form& form : kForms) {
      if (!line.starts_with(form.prefix)) continue;
      edit.op = form.op;
      (form.is_from ? header.from : header.to) =
          read_header_name(line.substr(form.prefix.size())).text;
      return true;
    }
    return false;
  }

  Result<uint32_t> mode_of(std::string_view text) const {
    uint32_t mode = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
    const bool is_known = mode == 0100644 || mode == 0100755 || mode == 0100664 ||
                          mode == 0120000 || mode == 0160000 || mode == 0100600 ||
                          mode == 0100640 || mode == 0100700 || mode == 0100775;
    if (code != std::errc() || !is_known) {
      return bad_header(at_, "'" + std::string(text.substr(0, 20)) + "' is not a file mode of git");
    }
    return mode;
  }

  Result<void> read_index_line(std::string_view text, FileEdit& edit) {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) return bad_header(at_, "an index line without '..'");
    const size_t blank = std::min(text.find(' ', dots), text.size());
    edit.old_blob = text.substr(0, dots);
    edit.new_blob = text.substr(dots + 2, blank - dots - 2);
    if (blank < text.size() && !edit.old_mode) {
      GALLEY_ASSIGN(edit.old_mode, mode_of(text.substr(blank + 1)));
      if (!edit.new_mode) edit.new_mode = edit.old_mode;
    }
    return {};
  }

  Result<void> name_git_file(const GitHeader& header, const HeaderName& old_name,
                             const HeaderName& new_name, FileEdit& edit) {
    const bool is_move = edit.op == FileOp::kRename || edit.op == FileOp::kCopy;
    if (is_move) {
      if (header.from.empty() || header.to.empty()) {
        return bad_header(edit.document_line - 1, "a rename or copy needs both 'from' and 'to'");
      }
      // The names of these lines have no a/ or b/ before them.
      const uint32_t strip = options_.strip.value_or(1) > 0 ? options_.strip.value_or(1) - 1 : 0;
      edit.path = strip_components(header.from, strip);
      edit.new_path = strip_components(header.to, strip);
      if (edit.path.empty() || edit.new_path.empty()) {
        return bad_header(edit.document_line - 1, "-p takes off more than the names have");
      }
      return {};
    }
    HeaderName from = old_name;
    HeaderName to = new_name;
    if (edit.op == FileOp::kCreate) from.is_null = true;
    if (edit.op == FileOp::kDelete) to.is_null = true;
    if (!resolve_paths(from, to, options_, set_, edit)) {
      return bad_header(edit.document_line - 1,
                        "no usable file name; are the names quoted as git quotes them?");
    }
    if (from.is_null) edit.op = FileOp::kCreate;
    if (to.is_null) edit.op = FileOp::kDelete;
    return {};
  }

  Result<void> read_git_body(FileEdit& edit) {
    if (at_ >= document_.size()) return {};
    const std::string_view line = text_at(at_);
    if (line == "GIT binary patch") return read_binary(edit);
    if (line.starts_with("Binary files ") && line.ends_with(" differ")) {
      edit.binary_missing = true;
      ++at_;
      return {};
    }
    return read_hunks(edit);
  }

  Result<void> read_bare_binary(std::string_view line) {
    FileEdit edit;
    edit.document_line = static_cast<uint32_t>(at_ + 1);
    const size_t split = line.find(" and ");
    std::string_view name = line.substr(13, line.size() - 13 - 7);
    if (split != std::string_view::npos) name = line.substr(13, split - 13);
    edit.path = strip_components(name, options_.strip.value_or(name.starts_with("a/") ? 1 : 0));
    if (edit.path.empty()) edit.path = std::string(name);
    edit.binary_missing = true;
    ++at_;
    return add(std::move(edit));
  }

  Result<void> read_binary(FileEdit& edit) {
    ++at_;
    BinaryPatch forward;
    GALLEY_ASSIGN(const bool has_forward, read_binary_part(forward));
    if (!has_forward) {
      return fail(ErrorKind::kInvalid, "edit.corrupt_binary",
                  "line " + std::to_string(at_ + 1) +
                      " of the patch: 'literal' or 'delta' expected after 'GIT binary patch'",
                  edit.path);
    }
    GALLEY_TRY(count_stated(forward, forward_bytes_));
    edit.binary = std::move(forward);
    BinaryPatch backward;
    GALLEY_ASSIGN(const bool has_backward, read_binary_part(backward));
    if (!has_backward) return {};
    GALLEY_TRY(count_stated(backward, backward_bytes_));
    edit.binary_reverse = std::move(backward);
    return {};
  }

  /// Before anything is inflated: a document of a few bytes can state any number of gibibytes.
  Result<void> count_stated(const BinaryPatch& part, uint64_t& total) const {
    auto stated = stated_bytes(part);
    if (!stated) {
      stated.error().message =
          "before line " + std::to_string(at_ + 1) + " of the patch: " + stated.error().message;
      return fail(std::move(stated.error()));
    }
    total += *stated;
    if (total <= kMaxBinaryPatchBytes) return {};
    return fail(ErrorKind::kQuota, "limit.binary_patch",
                "before line " + std::to_string(at_ + 1) +
                    " of the patch: its binary patches state that together they make more than " +
                    std::to_string(kMaxBinaryPatchBytes) + " bytes; split it");
  }

  Result<bool> read_binary_part(BinaryPatch& part) {
    if (at_ >= document_.size()) return false;
    std::string_view line = text_at(at_);
    if (line.starts_with("literal ")) {
      part.kind = BinaryPatch::Kind::kLiteral;
      line.remove_prefix(8);
    } else if (line.starts_with("delta ")) {
      part.kind = BinaryPatch::Kind::kDelta;
      line.remove_prefix(6);
    } else {
      return false;
    }
    const auto [end, code] =
        std::from_chars(line.data(), line.data() + line.size(), part.inflated_size);
    if (code != std::errc() || end != line.data() + line.size()) {
      return bad_header(at_, "a binary patch without a size");
    }
    for (++at_; at_ < document_.size() && !text_at(at_).empty(); ++at_) {
      auto bytes = decode_base85_line(text_at(at_));
      if (!bytes) {
        bytes.error().message =
            "line " + std::to_string(at_ + 1) + " of the patch: " + bytes.error().message;
        return fail(std::move(bytes.error()));
      }
      part.deflated += *bytes;
    }
    if (at_ < document_.size()) ++at_;
    return true;
  }

  Lines document_;
  const ReadOptions& options_;
  EditSet& set_;
  size_t at_ = 0;
  size_t hunk_count_ = 0;
  uint64_t forward_bytes_ = 0;  ///< what binary patches state that they make
  uint64_t backward_bytes_ = 0;
  std::string index_name_;
  bool has_fence_ = false;
};

/// True when the first header line of the document ends in CR LF: then a transport did that to the
/// whole document (GNU patch's rule), for git never ends a header so.
bool has_crlf_headers(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("@@") ||
        line.starts_with("diff --git ")) {
      return line.ends_with('\r');
    }
    at = end + 1;
  }
  return false;
}

/// A created or deleted file whose body is its whole content.
void finish_file(FileEdit& edit) {
  if (edit.op == FileOp::kCreate && edit.hunks.empty() && !edit.binary && !edit.binary_missing) {
    edit.whole = std::string_view();
  }
  if (edit.op == FileOp::kCreate && !edit.new_mode) edit.new_mode = kDefaultFileMode;
}

}  // namespace

Result<EditSet> read_unified(std::string text, const ReadOptions& options) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  EditSet set;
  set.format = EditFormat::kUnified;
  if (has_crlf_headers(text)) {
    text = without_crlf(text);
    set.leniencies.push_back(
        {"crlf_patch", "the patch has CR LF line ends; they were read as LF", "", 0});
  }
  // A patch pasted without its last line end means the line end, not "no newline".
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  const std::string_view kept = set.keep(std::move(text));
  GALLEY_TRY(UnifiedReader(kept, options, set).run());
  if (set.files.empty() && !options.allow_empty) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch",
                kept.empty() ? "the patch is empty"
                             : "no patch was found: no 'diff --git', '---'/'+++' or '@@' line");
  }
  for (FileEdit& edit : set.files) finish_file(edit);
  if (options.reverse) {
    GALLEY_ASSIGN(set, reversed(std::move(set)));
  }
  return narrowed(std::move(set), options);
}

}  // namespace galley
