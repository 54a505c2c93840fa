#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace galley {

/// A call in JSON as providers send it, or a problem of the document.
struct JsonCall {
  bool is_call = true;
  std::string name;                            ///< of the tool, as it is written
  std::shared_ptr<const nlohmann::json> args;  ///< an object; null if there is a problem
  std::string call_id;
  std::string reason;  ///< `call_text.*`; empty: no problem
  std::string message;
};

/// The calls of a document, in order: `{"tool", "args"}`, `{"name", "arguments"}` (or `parameters`,
/// `input`), a `function`, `function_call` or `functionCall`, a message or a response with calls,
/// or a list of these. Empty if it has none.
[[nodiscard]] std::vector<JsonCall> calls_of_json(const nlohmann::json& document);

}  // namespace galley
