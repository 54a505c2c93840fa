// The server that the conformance tests of the Model Context Protocol need: tools, resources and
// prompts with prescribed names and answers, on the same core as `galley mcp`.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "base/limits.h"
#include "server/mcp/http_door.h"
#include "server/mcp/server.h"
#include "staging/fs/line_stream.h"
#include "staging/fs/local_listener.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg"
    "==";
constexpr const char* kWav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

ordered_json text(const std::string& words) { return {{"type", "text"}, {"text", words}}; }

ordered_json image() { return {{"type", "image"}, {"data", kPng}, {"mimeType", "image/png"}}; }

ordered_json embedded(const std::string& uri, const std::string& mime, const std::string& words) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", mime}, {"text", words}}}};
}

ordered_json result(std::vector<ordered_json> content) {
  return {{"content", std::move(content)}, {"isError", false}};
}

ordered_json message(ordered_json content) {
  return {{"role", "user"}, {"content", std::move(content)}};
}

ordered_json question(const std::string& words, ordered_json properties) {
  ordered_json params;
  params["message"] = words;
  params["requestedSchema"]["type"] = "object";
  params["requestedSchema"]["required"] = ordered_json::array();
  for (const auto& [name, schema] : properties.items()) {
    params["requestedSchema"]["required"].push_back(name);
  }
  params["requestedSchema"]["properties"] = std::move(properties);
  return params;
}

ordered_json sampling(const std::string& words, int tokens) {
  ordered_json params;
  params["messages"] = ordered_json::array({message(text(words))});
  params["maxTokens"] = tokens;
  return params;
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

ordered_json defaults_schema() {
  return ordered_json::parse(R"({
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": true}})");
}

ordered_json enums_schema() {
  return ordered_json::parse(R"({
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
      {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
      "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array",
      "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
      {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}})");
}

/// Returns the user's answer, if this is an answer to an elicitation.
std::string answer_text(const json& answer) {
  if (!answer.is_object()) return "action=cancel, content={}";
  return "action=" + answer.value("action", "cancel") +
         ", content=" + answer.value("content", json::object()).dump();
}

bool is_elicitation(const json& answer) {
  return answer.is_object() && answer.contains("action") && answer["action"].is_string();
}

class Fixture final : public McpFeatures {
 public:
  [[nodiscard]] Identity identity() const override {
    return {"conformance-fixture", "Conformance fixture", "1.0.0", "Answers as the tests ask."};
  }

  std::vector<ordered_json> tools() override {
    std::vector<ordered_json> out;
    for (const char* name : {"test_simple_text",
                             "test_image_content",
                             "test_audio_content",
                             "test_embedded_resource",
                             "test_multiple_content_types",
                             "test_tool_with_logging",
                             "test_error_handling",
                             "test_tool_with_progress",
                             "test_sampling",
                             "test_elicitation",
                             "test_elicitation_sep1034_defaults",
                             "test_elicitation_sep1330_enums",
                             "test_missing_capability",
                             "test_streaming_elicitation",
                             "test_logging_tool",
                             "test_input_required_result_elicitation",
                             "test_input_required_result_sampling",
                             "test_input_required_result_list_roots",
                             "test_input_required_result_request_state",
                             "test_input_required_result_multiple_inputs",
                             "test_input_required_result_multi_round",
                             "test_input_required_result_tampered_state",
                             "test_input_required_result_capabilities"}) {
      ordered_json tool;
      tool["name"] = name;
      tool["description"] = std::string("Does what the conformance tests want of ") + name;
      tool["inputSchema"] = {{"type", "object"}, {"properties", ordered_json::object()}};
      if (std::string_view(name) == "test_sampling") {
        tool["inputSchema"]["properties"]["prompt"]["type"] = "string";
      }
      if (std::string_view(name) == "test_elicitation") {
        tool["inputSchema"]["properties"]["message"]["type"] = "string";
      }
      out.push_back(std::move(tool));
    }
    return out;
  }

  McpArrival arrive(const std::string& /*method*/, const json& /*params*/) override { return {}; }
  McpAnswer call_tool(const std::string& name, const json& arguments,
                      McpRequest& request) override {
    if (name == "test_simple_text") {
      return result({text("This is a simple text response for testing.")});
    }
    if (name == "test_image_content") return result({image()});
    if (name == "test_audio_content") {
      return result({{{"type", "audio"}, {"data", kWav}, {"mimeType", "audio/wav"}}});
    }
    if (name == "test_embedded_resource") {
      return result({embedded("test://embedded-resource", "text/plain",
                              "This is an embedded resource content.")});
    }
    if (name == "test_multiple_content_types") {
      return result({text("Multiple content types test:"), image(),
                     embedded("test://mixed-content-resource", "application/json",
                              R"({"test":"data","value":123})")});
    }
    if (name == "test_error_handling") {
      ordered_json out = result({text("This tool intentionally returns an error for testing")});
      out["isError"] = true;
      return out;
    }
    if (name == "test_tool_with_logging" || name == "test_logging_tool") return log(request);
    if (name == "test_tool_with_progress") {
      for (const double done : {0.0, 50.0, 100.0}) {
        request.progress(done, 100, "");
        wait_a_little();
      }
      return result({text("done")});
    }
    if (name.starts_with("test_input_required_result_")) return rounds(name, request);
    return ask(name, arguments, request);
  }

  std::vector<ordered_json> resources() override {
    const auto made = [](const char* uri, const char* mime) {
      return ordered_json{
          {"uri", uri}, {"name", uri}, {"description", "of the tests"}, {"mimeType", mime}};
    };
    return {made("test://static-text", "text/plain"), made("test://static-binary", "image/png"),
            made("test://watched-resource", "text/plain")};
  }
  std::vector<ordered_json> resource_templates() override {
    return {{{"uriTemplate", "test://template/{id}/data"},
             {"name", "data"},
             {"mimeType", "application/json"}}};
  }
  McpAnswer read_resource(const std::string& uri, McpRequest& /*request*/) override {
    ordered_json content = {{"uri", uri}};
    constexpr std::string_view kPrefix = "test://template/";
    constexpr std::string_view kSuffix = "/data";
    if (uri == "test://static-text") {
      content["mimeType"] = "text/plain";
      content["text"] = "This is the content of the static text resource.";
    } else if (uri == "test://static-binary") {
      content["mimeType"] = "image/png";
      content["blob"] = kPng;
    } else if (uri == "test://watched-resource") {
      content["mimeType"] = "text/plain";
      content["text"] = "watched";
    } else if (uri.starts_with(kPrefix) && uri.ends_with(kSuffix)) {
      const std::string id =
          uri.substr(kPrefix.size(), uri.size() - kPrefix.size() - kSuffix.size());
      content["mimeType"] = "application/json";
      content["text"] =
          ordered_json{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}.dump();
    } else {
      return RpcError{rpc::kInvalidParams, "Resource not found", {{"uri", uri}}};
    }
    return ordered_json{{"contents", ordered_json::array({content})}};
  }

  std::vector<ordered_json> prompts() override {
    const auto argument = [](const char* name) {
      return ordered_json{{"name", name}, {"description", "of the tests"}, {"required", true}};
    };
    const auto made = [](const char* name, std::vector<ordered_json> arguments) {
      return ordered_json{
          {"name", name}, {"description", "of the tests"}, {"arguments", std::move(arguments)}};
    };
    return {made("test_simple_prompt", {}),
            made("test_prompt_with_arguments", {argument("arg1"), argument("arg2")}),
            made("test_prompt_with_embedded_resource", {argument("resourceUri")}),
            made("test_prompt_with_image", {}), made("test_input_required_result_prompt", {})};
  }
  McpAnswer get_prompt(const std::string& name, const json& arguments,
                       McpRequest& request) override {
    const auto messages = [](std::vector<ordered_json> list) {
      return ordered_json{{"messages", std::move(list)}};
    };
    if (name == "test_simple_prompt") {
      return messages({message(text("This is a simple prompt for testing."))});
    }
    if (name == "test_prompt_with_arguments") {
      return messages({message(text("Prompt with arguments: arg1='" + arguments.value("arg1", "") +
                                    "', arg2='" + arguments.value("arg2", "") + "'"))});
    }
    if (name == "test_prompt_with_embedded_resource") {
      return messages({message(embedded(arguments.value("resourceUri", ""), "text/plain",
                                        "Embedded resource content for testing.")),
                       message(text("Please process the embedded resource above."))});
    }
    if (name == "test_prompt_with_image") {
      return messages({message(image()), message(text("Please analyze the image above."))});
    }
    if (name == "test_input_required_result_prompt") {
      const auto context = request.ask(
          "user_context", "elicitation/create",
          question("What context should the prompt use?", {{"context", {{"type", "string"}}}}));
      return messages({message(text("With " + (context ? context->dump() : std::string())))});
    }
    return RpcError{rpc::kInvalidParams, "there is no such prompt"};
  }
  std::vector<std::string> complete(const Completion& wanted) override {
    std::vector<std::string> out;
    for (const char* word : {"paris", "park", "party"}) {
      if (std::string_view(word).starts_with(wanted.typed)) out.emplace_back(word);
    }
    return out;
  }
  void on_change(Changed /*changed*/) override {}

 private:
  static McpAnswer log(McpRequest& request) {
    for (const char* line :
         {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
      request.log("info", line);
      wait_a_little();
    }
    return result({text("logged")});
  }

  static McpAnswer ask(const std::string& name, const json& arguments, McpRequest& request) {
    std::optional<json> answer;
    if (name == "test_missing_capability") {
      answer = request.ask("sample", "sampling/createMessage", sampling("Say something", 10));
      return result({text(answer ? answer->dump() : "")});
    }
    if (name == "test_sampling") {
      if (!request.client_can("sampling")) {
        return RpcError{rpc::kInvalidParams, "this needs a client that can do 'sampling'"};
      }
      answer = request.ask("sample", "sampling/createMessage",
                           sampling(arguments.value("prompt", ""), 100));
      const bool is_text = answer && answer->is_object() && answer->contains("content");
      return result({text("LLM response: " +
                          (is_text ? (*answer)["content"].value("text", "") : std::string()))});
    }
    ordered_json asked;
    if (name == "test_elicitation") {
      asked = question(arguments.value("message", ""),
                       {{"username", {{"type", "string"}, {"description", "User's response"}}},
                        {"email", {{"type", "string"}, {"description", "User's email address"}}}});
    } else if (name == "test_elicitation_sep1034_defaults") {
      asked = question("Defaults", defaults_schema());
    } else if (name == "test_elicitation_sep1330_enums") {
      asked = question("Choices", enums_schema());
    } else if (name == "test_streaming_elicitation") {
      asked = question("Streaming", {{"name", {{"type", "string"}}}});
    } else {
      return RpcError{rpc::kInvalidParams, "there is no tool '" + name + "'"};
    }
    if (name != "test_streaming_elicitation" && !request.client_can("elicitation")) {
      return RpcError{rpc::kInvalidParams, "this needs a client that can do 'elicitation'"};
    }
    answer = request.ask("user", "elicitation/create", asked);
    const std::string begin =
        name == "test_elicitation" ? "User response: " : "Elicitation completed: ";
    return result({text(begin + answer_text(answer.value_or(json())))});
  }

  /// Handles tools that need several rounds.
  static McpAnswer rounds(const std::string& name, McpRequest& request) {
    const std::string which = name.substr(std::string_view("test_input_required_result_").size());
    const auto nothing = ordered_json::object();
    if (which == "elicitation") {
      const ordered_json asked = question("What is your name?", {{"name", {{"type", "string"}}}});
      auto answer = request.ask("user_name", "elicitation/create", asked);
      if (answer && !is_elicitation(*answer)) {
        return RpcError{rpc::kInvalidParams, "'user_name' is no answer to an elicitation"};
      }
      if (!answer) return nothing;
      const json content = answer->value("content", json::object());
      return result(
          {text("Hello, " + (content.is_object() ? content.value("name", "") : "") + "!")});
    }
    if (which == "sampling") {
      const auto answer = request.ask("capital_question", "sampling/createMessage",
                                      sampling("What is the capital of France?", 100));
      return result({text(answer ? answer->dump() : "")});
    }
    if (which == "list_roots") {
      const auto answer = request.ask("client_roots", "roots/list", nothing);
      return result({text(answer ? answer->dump() : "")});
    }
    if (which == "request_state" || which == "tampered_state") {
      const auto answer = request.ask("confirm", "elicitation/create",
                                      question("Please confirm", {{"ok", {{"type", "boolean"}}}}));
      request.keep({{"asked", true}});
      return result({text(answer && !request.kept().is_null() ? "state-ok" : "no state")});
    }
    if (which == "multiple_inputs") {
      const auto user =
          request.ask("user_name", "elicitation/create",
                      question("What is your name?", {{"name", {{"type", "string"}}}}));
      const auto greeting =
          request.ask("greeting", "sampling/createMessage", sampling("Generate a greeting", 50));
      const auto roots = request.ask("client_roots", "roots/list", nothing);
      return result({text(user && greeting && roots ? "all there" : "")});
    }
    if (which == "multi_round") {
      const auto first =
          request.ask("step1", "elicitation/create",
                      question("Step 1: What is your name?", {{"name", {{"type", "string"}}}}));
      if (!first) return nothing;
      const auto second = request.ask(
          "step2", "elicitation/create",
          question("Step 2: What is your favorite color?", {{"color", {{"type", "string"}}}}));
      return result({text(second ? "both there" : "")});
    }
    if (which == "capabilities") {
      if (request.client_can("sampling")) {
        static_cast<void>(
            request.ask("sample", "sampling/createMessage", sampling("Say something", 10)));
      }
      if (request.client_can("elicitation")) {
        static_cast<void>(request.ask("user", "elicitation/create",
                                      question("Who?", {{"name", {{"type", "string"}}}})));
      }
      return result({text("asked what can be asked")});
    }
    return RpcError{rpc::kInvalidParams, "there is no tool '" + name + "'"};
  }
};

int serve() {
  Fixture features;
  const SystemClock clock;
  McpServer server(features, clock, [&](const McpServer::Outgoing& message) {
    static_cast<void>(write_line(STDOUT_FILENO, message.line, Deadline(), clock));
  });
  LineReader lines(STDIN_FILENO, McpServer::kMaxMessageBytes);
  const auto served = server.serve([&lines]() -> Result<std::optional<McpServer::Line>> {
    GALLEY_ASSIGN(auto line, lines.next());
    if (!line) return std::optional<McpServer::Line>();
    return McpServer::Line{std::move(line->text), line->is_too_long, lines.has_next(),
                           std::move(line->end)};
  });
  return served ? 0 : 1;
}

/// Serves on a free port, without a token, because the tests cannot send one. Prints the address.
int serve_http() {
  const SystemClock clock;
  auto listener = LocalListener::open_loopback("127.0.0.1", 0, clock);
  if (!listener) return 1;
  McpHttpDoor::Options options;
  const std::string& name = (*listener)->name();
  options.host = {name, "localhost" + name.substr(name.find(':'))};
  options.paths["/mcp"] =
      [](const McpHttpDoor::Opening& /*opening*/) -> Result<std::shared_ptr<McpFeatures>> {
    return std::make_shared<Fixture>();
  };
  McpHttpDoor door(**listener, options, clock);
  if (!door.open()) return 1;
  static_cast<void>(write_line(STDOUT_FILENO, "http://" + name + "/mcp", Deadline(), clock));
  return door.serve() ? 0 : 1;
}

}  // namespace
}  // namespace galley

int main(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "--http" ? galley::serve_http() : galley::serve();
}
