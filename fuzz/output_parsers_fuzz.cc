// Reads any bytes as the output of a command, with every parser. Nothing crashes or
// throws. Texts have one line, and places and replacements are inside the file.
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/validators/output_parsers.h"

namespace galley {
namespace {

constexpr OutputParser kLast = OutputParser::kShellcheck;

std::vector<OutputReader> every_parser() {
  std::vector<OutputReader> readers;
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    ValidatorConfig config;
    config.parser = static_cast<OutputParser>(i);
    if (config.parser == OutputParser::kRegex) config.parser_regex = "(?P<file>.*):(?P<message>.*)";
    auto reader = OutputReader::make(config);
    GALLEY_CHECK(reader.has_value());
    readers.push_back(std::move(*reader));
  }
  return readers;
}

void check(const Finding& finding, const SourceFile& file) {
  GALLEY_CHECK(finding.message.find('\n') == std::string::npos);
  GALLEY_CHECK(finding.rule.find('\n') == std::string::npos);
  GALLEY_CHECK(finding.end_line == 0 || finding.column != 0);
  GALLEY_CHECK(!finding.replacement || finding.end_line != 0);
  static_cast<void>(file.offset({finding.line, finding.column}, ColumnUnit::kBytes));
  static_cast<void>(file.offset({finding.end_line, finding.end_column}, ColumnUnit::kBytes));
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<galley::OutputReader> readers = galley::every_parser();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The input has the message first, then the text of its file.
  const size_t half = std::min(input.find("\n--8<--\n"), input.size());
  const auto text = std::make_shared<const std::string>(
      half < input.size() ? input.substr(half + 8) : std::string_view("a\tb \xc3\xa9\n{}\n"));
  const galley::SourceFile file(text);
  for (const auto& reader : readers) {
    const auto read = reader.read(input.substr(0, half), [&](const std::string&) { return text; });
    if (!read) continue;
    for (const galley::Finding& finding : *read) galley::check(finding, file);
  }
  return 0;
}
