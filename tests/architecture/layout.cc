#include "tests/architecture/layout.h"

#include <algorithm>
#include <regex>

namespace galley::architecture {
namespace {

enum class CommentLine { kNone, kEmpty, kProse, kContract, kContractGoesOn, kDrawing };

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Code points, since every one of our characters takes one column.
size_t columns(const std::string& line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

CommentLine kind_of(const std::string& line, CommentLine previous) {
  static const std::regex comment(R"(^ *///(?!<)(.*)$)");
  static const std::regex contract(R"(^ (Invariant|Ownership|Threads|Errors):( .*)?$)");
  std::smatch match;
  if (!std::regex_match(line, match, comment)) return CommentLine::kNone;
  const std::string text = match[1].str();
  const size_t indent = text.find_first_not_of(' ');
  if (indent == std::string::npos) return CommentLine::kEmpty;
  if (std::regex_match(text, contract)) return CommentLine::kContract;
  if (indent < 4) return CommentLine::kProse;
  const bool goes_on =
      previous == CommentLine::kContract || previous == CommentLine::kContractGoesOn;
  return goes_on ? CommentLine::kContractGoesOn : CommentLine::kDrawing;
}

/// Returns what is wrong with a line of this kind after one of that kind, or an empty text.
std::string misfit(CommentLine kind, CommentLine previous) {
  const bool after_contract =
      previous == CommentLine::kContract || previous == CommentLine::kContractGoesOn;
  if (kind == CommentLine::kProse && after_contract) {
    return "a contract's next line is not indented";
  }
  if (kind == CommentLine::kProse && previous == CommentLine::kDrawing) {
    return "no empty line after a drawing";
  }
  if (kind == CommentLine::kDrawing && previous == CommentLine::kProse) {
    return "no empty line before a drawing";
  }
  return "";
}

}  // namespace

std::vector<std::string> rooms_in_drawing(std::string_view architecture_page) {
  static const std::regex room(R"(^([a-z_/]+)/ {2,}\S.*$)");
  std::vector<std::string> found;
  bool is_inside = false;
  for (const std::string& line : lines_of(architecture_page)) {
    std::smatch match;
    if (line == "```") {
      if (is_inside) break;
      is_inside = true;
    } else if (is_inside && std::regex_match(line, match, room)) {
      found.push_back(match[1].str());
    }
  }
  return found;
}

std::map<std::string, std::set<std::string>> doors_in_page(std::string_view architecture_page) {
  static const std::regex row(R"(^\| [^|`]+ \| (`[^|]+) \| (`[^|]+) \|$)");
  static const std::regex quoted("`([^`]+)`");
  const auto words = [](const std::string& cell) {
    return std::set<std::string>(std::sregex_token_iterator(cell.begin(), cell.end(), quoted, 1),
                                 {});
  };
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& line : lines_of(architecture_page)) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    for (const std::string& header : words(match[1].str())) found[header] = words(match[2].str());
  }
  return found;
}

std::string header_of_source(std::string_view source_path, const std::set<std::string>& headers) {
  std::string stem(source_path.substr(0, source_path.rfind('.')));
  const size_t folder = stem.rfind('/');
  while (true) {
    if (headers.contains(stem + ".h")) return stem + ".h";
    const size_t cut = stem.rfind('_');
    if (cut == std::string::npos || (folder != std::string::npos && cut < folder)) return "";
    stem.resize(cut);
  }
}

Violations badly_laid_out_comments(std::string_view path, std::string_view source) {
  static const std::regex any_comment(R"(^ *//.*$)");
  static const std::regex inner_tag(R"(^ *///.*\S +(Invariant|Errors):.*$)");
  Violations found;
  CommentLine previous = CommentLine::kNone;
  int number = 0;
  for (const std::string& line : lines_of(source)) {
    ++number;
    const CommentLine kind = kind_of(line, previous);
    std::string what = misfit(kind, previous);
    if (what.empty() && kind != CommentLine::kNone && std::regex_match(line, inner_tag)) {
      what = "a contract begins inside a line";
    }
    if (columns(line) > kMaxCommentColumns && std::regex_match(line, any_comment)) {
      what = "a comment of " + std::to_string(columns(line)) + " columns";
    }
    if (!what.empty()) {
      found.push_back(std::string(path) + ":" + std::to_string(number) + ": " + what);
    }
    previous = kind;
  }
  return found;
}

}  // namespace galley::architecture
