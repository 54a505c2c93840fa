#include "server/agents/toml_config_entry.h"

#include <algorithm>

#include "engine/policy/toml_document.h"
#include "server/agents/json_config_entry.h"

namespace galley {
namespace {

/// Whether the values are equal, wherever they are. Recursion is bounded by kMaxTomlDepth.
bool is_equal(const TomlNode& a, const TomlNode& b) {
  const bool is_alike = a.kind == b.kind && a.text == b.text && a.integer == b.integer &&
                        a.number == b.number && a.flag == b.flag &&
                        a.elements.size() == b.elements.size() &&
                        a.entries.size() == b.entries.size();
  if (!is_alike) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!is_equal(a.elements[i], b.elements[i])) return false;
  }
  for (size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key != b.entries[i].key) return false;
    if (!is_equal(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

/// hook_of_galley() of the first text that has one. Recursion is bounded as above.
std::string hook_in(const TomlNode& node) {
  std::string hook = hook_of_galley(node.text);
  for (const TomlNode& element : node.elements) {
    if (hook.empty()) hook = hook_in(element);
  }
  for (const auto& entry : node.entries) {
    if (hook.empty()) hook = hook_in(entry.value);
  }
  return hook;
}

const TomlNode* node_at(const TomlNode& root, const std::vector<std::string>& keys) {
  const TomlNode* node = &root;
  for (const std::string& key : keys) {
    node = node->kind == TomlNode::Kind::kTable ? node->find(key) : nullptr;
    if (node == nullptr) return nullptr;
  }
  return node;
}

std::string with_line_ends_of(const std::string& text, const std::string& block) {
  if (text.find("\r\n") == std::string::npos) return block;
  std::string lines;
  for (const char c : block) lines += c == '\n' ? "\r\n" : std::string(1, c);
  return lines;
}

}  // namespace

Result<std::optional<uint32_t>> TomlConfigEntry::find(const std::string& text,
                                                      const std::string& file) const {
  using Line = std::optional<uint32_t>;
  const auto root = parse_toml(text, file);
  if (!root) {
    return fail(ErrorKind::kInvalid, "agents.configuration",
                root.error().message + "; nothing was changed", file);
  }
  GALLEY_ASSIGN(const TomlNode own, parse_toml(block_, "the entry"));
  const TomlNode* wanted = node_at(own, keys_);
  const TomlNode* there = node_at(*root, keys_);
  if (wanted == nullptr || there == nullptr) return Line();
  if (is_element_) {
    if (there->kind != TomlNode::Kind::kArray) return Line();
    for (const TomlNode& element : there->elements) {
      if (is_equal(element, wanted->elements.front())) return Line(element.line);
    }
    const std::string hook = hook_in(wanted->elements.front());
    for (const TomlNode& element : there->elements) {
      if (hook.empty() || hook_in(element) != hook) continue;
      return fail(ErrorKind::kRefused, "agents.foreign_entry",
                  file + ":" + std::to_string(element.line) +
                      ": a hook of Galley is here that this command did not write, or it was "
                      "changed since; nothing was changed. Remove it yourself",
                  file);
    }
    return Line();
  }
  if (is_equal(*there, *wanted)) return Line(there->line);
  return fail(ErrorKind::kRefused, "agents.foreign_entry",
              file + ":" + std::to_string(std::max(there->line, there->key_line)) + ": a table '" +
                  keys_.back() +
                  "' exists, but this command did not write it, or it was changed since; nothing "
                  "was changed. Remove it yourself, or rename it",
              file);
}

/// Adds the block after a newline, even if the text ends with one. So different texts have
/// different results, and the original can be restored.
std::string TomlConfigEntry::with_block(const std::string& text) const {
  return text + with_line_ends_of(text, "\n" + block_);
}

Result<std::string> TomlConfigEntry::add(const std::optional<std::string>& text,
                                         const std::string& file) const {
  if (!text) return block_;
  GALLEY_ASSIGN(const auto there, find(*text, file));
  if (there) return *text;
  std::string changed = with_block(*text);
  const auto again = find(changed, file);
  if (again && *again) return changed;
  return fail(ErrorKind::kInvalid, "agents.configuration",
              file + ": a table '" + keys_.back() +
                  "' cannot be added to this file as it is written, and nothing was changed" +
                  (again ? "" : " (" + again.error().message + ")") +
                  "; write its tables as [table] and [[table]], not inline",
              file);
}

Result<std::optional<std::string>> TomlConfigEntry::remove_entry(const std::string& text,
                                                                 const std::string& file) const {
  GALLEY_ASSIGN(const auto line, find(text, file));
  if (!line) return std::optional(text);
  if (text == block_) return std::optional<std::string>();
  const std::string block = with_line_ends_of(text, "\n" + block_);
  const std::string alone = block.substr(block.find('\n') + 1);
  std::optional<std::string> left;
  if (const size_t at = text.rfind(block); at != std::string::npos) {
    left = text.substr(0, at) + text.substr(at + block.size());
  } else if (text.starts_with(alone)) {
    left = text.substr(alone.size());
  }
  if (left) {
    const auto still = find(*left, file);
    if (still && !*still) return left;
  }
  return fail(ErrorKind::kRefused, "agents.foreign_entry",
              file + ":" + std::to_string(*line) +
                  ": the entry was rewritten since, so Galley cannot tell which lines are its own; "
                  "nothing was changed. Remove it yourself",
              file);
}

Result<bool> TomlConfigEntry::is_installed_in(const std::string& text,
                                              const std::string& file) const {
  GALLEY_ASSIGN(const auto line, find(text, file));
  return line.has_value();
}

}  // namespace galley
