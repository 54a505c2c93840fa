#include <algorithm>
#include <pugixml.hpp>

#include "engine/validators/builtin.h"
#include "engine/validators/file_validator.h"

namespace galley {
namespace {

class XmlValidator final : public FileValidator {
 public:
  XmlValidator(const ValidatorConfig& config, ValidatorCache* cache)
      : FileValidator(config, cache,
                      {.default_paths = {"*.xml", "*.svg", "*.xsd", "*.xsl", "*.xslt", "*.plist"},
                       .skips_binaries = false,
                       .max_bytes = uint64_t{16} << 20U}) {}

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    constexpr std::string_view kRemedy = "make it well-formed XML";
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(file.text.data(), file.text.size(), pugi::parse_full);
    if (!result) {
      const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(0, result.offset));
      const auto [line, column] = FindingSink::place(file.text, offset);
      sink.add("xml.syntax", line, column, result.description(), std::string(kRemedy));
      return {};
    }
    const auto roots = std::count_if(document.begin(), document.end(), [](const auto& node) {
      return node.type() == pugi::node_element;
    });
    if (roots != 1) {
      sink.add("xml.syntax", 0, 0,
               "a document has exactly one root element, this one has " + std::to_string(roots),
               std::string(kRemedy));
    }
    return {};
  }
};

}  // namespace

ValidatorPtr make_xml_validator(const ValidatorConfig& config, ValidatorCache* cache) {
  return std::make_unique<XmlValidator>(config, cache);
}

}  // namespace galley
