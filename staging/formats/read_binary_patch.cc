#include "staging/formats/read_binary_patch.h"

#include <string>

#include "base/text.h"
#include "staging/formats/binary_patch.h"

namespace galley {
namespace {

/// Reads the two parts of one file.
class BinaryReader {
 public:
  BinaryReader(const Lines& document, size_t at, std::string_view path)
      : document_(document), at_(at), path_(path) {}

  [[nodiscard]] size_t at() const { return at_; }
  /// True if the document ended before the empty line after the part, and the part is incomplete.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Returns false if no part begins here.
  Result<bool> read_part(BinaryPatch& part) {
    if (at_ >= document_.size()) return false;
    std::string_view line = text();
    if (line.starts_with("literal ")) {
      part.kind = BinaryPatch::Kind::kLiteral;
      line.remove_prefix(8);
    } else if (line.starts_with("delta ")) {
      part.kind = BinaryPatch::Kind::kDelta;
      line.remove_prefix(6);
    } else {
      return false;
    }
    const auto size = number_of<uint64_t>(line);
    if (!size) {
      return fail(ErrorKind::kInvalid, "edit.bad_header",
                  here() + ": a binary patch without a size", path_);
    }
    part.inflated_size = *size;
    for (++at_; at_ < document_.size() && !text().empty(); ++at_) {
      auto bytes = decode_base85_line(text());
      if (!bytes) {
        bytes.error().message = here() + ": " + bytes.error().message;
        return fail(std::move(bytes.error()));
      }
      part.deflated += *bytes;
    }
    is_ended_ = at_ < document_.size();
    if (is_ended_) ++at_;
    return true;
  }

  /// Checks the stated sizes before anything is inflated: a document of a few bytes can state any
  /// number of gibibytes.
  Result<void> count_stated(const BinaryPatch& part, uint64_t& total) {
    auto stated = stated_bytes(part);
    if (!stated) {
      stated.error().message = "before " + here() + ": " + stated.error().message;
      return fail(std::move(stated.error()));
    }
    total += *stated;
    if (total > kMaxBinaryPatchBytes) {
      return fail(ErrorKind::kQuota, "limit.binary_patch",
                  "before " + here() +
                      ": its binary patches state that together they make more than " +
                      std::to_string(kMaxBinaryPatchBytes) + " bytes; split it");
    }
    // Without the empty line at its end, only the part itself shows whether it is complete.
    is_cut_ = !is_ended_ && !is_whole(part);
    return {};
  }

  [[nodiscard]] std::string here() const {
    return "line " + std::to_string(at_ + 1) + " of the patch";
  }

 private:
  [[nodiscard]] std::string_view text() const { return without_terminator(document_[at_]); }

  const Lines& document_;
  size_t at_;
  std::string path_;
  bool is_ended_ = false;
  bool is_cut_ = false;
};

tl::unexpected<Error> truncated(const BinaryReader& reader, const std::string& path,
                                std::string_view what) {
  return fail(ErrorKind::kInvalid, "edit.truncated",
              reader.here() + ": the patch ends before the binary patch of '" + path +
                  "' is whole; " + std::string(what),
              path);
}

}  // namespace

Result<size_t> read_binary_patch(const Lines& document, size_t at, const ReadOptions& options,
                                 FileEdit& edit, BinaryTotals& totals) {
  BinaryReader reader(document, at, edit.path);
  BinaryPatch forward;
  GALLEY_ASSIGN(const bool has_forward, reader.read_part(forward));
  if (!has_forward) {
    return fail(ErrorKind::kInvalid, "edit.corrupt_binary",
                reader.here() + ": 'literal' or 'delta' expected after 'GIT binary patch'",
                edit.path);
  }
  GALLEY_TRY(reader.count_stated(forward, totals.forward));
  if (reader.is_cut()) return truncated(reader, edit.path, "send it whole");
  edit.binary = std::move(forward);
  BinaryPatch backward;
  GALLEY_ASSIGN(const bool has_backward, reader.read_part(backward));
  if (!has_backward) return reader.at();
  GALLEY_TRY(reader.count_stated(backward, totals.backward));
  if (!reader.is_cut()) {
    edit.binary_reverse = std::move(backward);
  } else if (!options.recount) {
    return truncated(reader, edit.path,
                     "send it whole, or --recount takes it without the part that goes back");
  }
  return reader.at();
}

}  // namespace galley
