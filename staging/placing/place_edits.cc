#include <algorithm>

#include "base/result.h"
#include "staging/placing/anchors.h"
#include "staging/placing/damage.h"
#include "staging/placing/place.h"
#include "staging/placing/text_view.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

PlacedEdits place_in(const EndQuestion& is_over, std::string_view content, const FileEdit& edit,
                     const MatchOptions& options) {
  return edit.text_edits.empty() ? place_hunks_until(is_over, content, edit, options)
                                 : place_text_edits_until(is_over, content, edit, options);
}

/// True if the edit contains the raw bytes `raw`, which the view hides.
bool speaks_of(std::string_view raw, const FileEdit& edit) {
  const auto has = [&](std::string_view text) { return text.find(raw) != std::string_view::npos; };
  return std::any_of(edit.hunks.begin(), edit.hunks.end(),
                     [&](const Hunk& hunk) {
                       return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                                          [&](const HunkLine& line) { return has(line.text); });
                     }) ||
         std::any_of(edit.text_edits.begin(), edit.text_edits.end(),
                     [&](const TextEdit& text) { return has(text.old_text); });
}

/// Whether the edit is for the text of the view, even if it also matches the raw bytes.
bool is_of_text(const TextView& view, const FileEdit& edit) {
  using namespace std::string_view_literals;
  if (view.is_utf16()) return !speaks_of("\0"sv, edit);
  return view.form() == TextView::Form::kCrLines && !speaks_of("\r"sv, edit);
}

/// Whether a placed edit would insert bytes before the byte order mark, or remove the mark although
/// it does not contain it.
bool moves_mark(const TextView& view, const FileEdit& edit, const PlacedEdits& placed) {
  return view.form() == TextView::Form::kUtf8WithMark && !placed.splices.is_empty() &&
         placed.splices.all().front().offset == 0 && !speaks_of("\xEF\xBB\xBF", edit);
}

Leniency leniency_of(const TextView& view, const FileEdit& edit) {
  switch (view.form()) {
    case TextView::Form::kUtf16LittleEndian:
    case TextView::Form::kUtf16BigEndian:
      return {"utf16", "the file is UTF-16; it was edited as text and stays UTF-16", edit.path, 0};
    case TextView::Form::kUtf8WithMark:
      return {"byte_order_mark", "the file begins with a byte order mark, which stays", edit.path,
              0};
    case TextView::Form::kCrLines:
      break;
  }
  return {"cr_lines", "the file's lines end in CR; so do the new ones", edit.path, 0};
}

PlacedEdits place_as_written(const EndQuestion& is_over, std::string_view content,
                             const FileEdit& edit, const MatchOptions& options) {
  const std::optional<TextView> view = TextView::of(content);
  PlacedEdits raw;
  const bool is_text = view && is_of_text(*view, edit);
  if (!is_text) raw = place_in(is_over, content, edit, options);
  const bool must_view = is_text || (view && moves_mark(*view, edit, raw));
  const bool may_view = view && options.last_step >= MatchStep::kLineEnds;
  if (!must_view && (raw.failures.empty() || !may_view)) return raw;
  PlacedEdits viewed = place_in(is_over, view->text(), edit, options);
  if (!must_view && viewed.failures.size() >= raw.failures.size()) return raw;
  auto splices = view->to_raw(viewed.splices);
  if (!splices) return is_text ? place_in(is_over, content, edit, options) : std::move(raw);
  viewed.splices = std::move(*splices);
  viewed.leniencies.push_back(leniency_of(*view, edit));
  return viewed;
}

PlacedEdits place_below_anchors(const EndQuestion& is_over, std::string_view content,
                                const FileEdit& edit, const MatchOptions& options) {
  const auto is_below = [](const Hunk& hunk) { return hunk.is_below_anchor; };
  if (std::none_of(edit.hunks.begin(), edit.hunks.end(), is_below)) {
    return place_as_written(is_over, content, edit, options);
  }
  const Lines file(content);
  FileEdit meant = edit;
  for (Hunk& hunk : meant.hunks) {
    if (auto below = with_anchor_as_context(file, hunk)) hunk = *std::move(below);
  }
  return place_as_written(is_over, content, meant, options);
}

}  // namespace

PlacedEdits place_edits(std::string_view content, const FileEdit& edit,
                        const MatchOptions& options) {
  return place_edits_until({}, content, edit, options);
}

PlacedEdits place_edits_until(const EndQuestion& is_over, std::string_view content,
                              const FileEdit& edit, const MatchOptions& options) {
  const bool may_read = options.last_step >= MatchStep::kMended && !options.min_context &&
                        !options.is_strict("escaped_markup");
  const auto plain = may_read ? with_signs(content, edit) : std::nullopt;
  if (!plain) return place_below_anchors(is_over, content, edit, options);
  PlacedEdits out = place_below_anchors(is_over, content, plain->edit, options);
  out.leniencies.push_back({"escaped_markup",
                            "'<', '>' and '&' of new lines are escaped as in HTML; they were read "
                            "as signs",
                            edit.path, edit.document_line});
  return out;
}

std::string_view match_step_name(MatchStep step) {
  switch (step) {
    case MatchStep::kExact:
      return "exact";
    case MatchStep::kOffset:
      return "offset";
    case MatchStep::kLineEnds:
      return "line_ends";
    case MatchStep::kFuzz:
      return "fuzz";
    case MatchStep::kWhiteSpace:
      return "white_space";
    case MatchStep::kUnicode:
      return "unicode";
    case MatchStep::kMended:
      return "mended";
  }
  GALLEY_CHECK(false);
}

bool indentation_is_syntax(std::string_view path) {
  static constexpr std::array<std::string_view, 24> kSuffixes = {
      ".py",   ".pyi", ".pyx",  ".pxd",  ".yaml", ".yml",    ".mk",  ".mak",
      ".haml", ".pug", ".jade", ".sass", ".styl", ".coffee", ".nim", ".hs",
      ".fs",   ".fsx", ".elm",  ".slim", ".rst",  ".gd",     ".bzl", ".star"};
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name == "Makefile" || name == "makefile" || name == "GNUmakefile" || name == "BUILD" ||
      name == "SConstruct" || name == "Snakefile" || name == "wscript") {
    return true;
  }
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace galley
