#include "tools/tool_call_parser.h"

#include <string>

#include "tools/call_text_scanner.h"
#include "tools/edit_formats.h"
#include "tools/tool_factory.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

class ToolCallParser : public ToolFixture {
 protected:
  CallsOfText parsed(const std::string& text) {
    auto found = parse_tool_calls(text, registry_);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : CallsOfText();
  }
  /// The calls as `tool {args}`, one a line.
  std::string calls_of(const std::string& text) {
    std::string out;
    for (const FoundCall& call : parsed(text).calls) {
      out += call.tool + " " + json_text(*call.args) + "\n";
    }
    return out;
  }
  /// `reason`, with a `+` where it was recovered, one a line.
  std::string problems_of(const std::string& text) {
    std::string out;
    for (const CallProblem& problem : parsed(text).problems) {
      out += problem.reason + (problem.is_recovered ? "+" : "") + "\n";
    }
    return out;
  }
  static std::string tool_use(const std::string& tool, const std::string& parameters) {
    return "<tool_use>\n<tool_name>" + tool + "</tool_name>\n<parameters>\n" + parameters +
           "\n</parameters>\n</tool_use>";
  }
};

TEST_F(ToolCallParser, TheDocumentedBlockIsACall) {
  const std::string text =
      "I will read it.\n" + tool_use("Read", "<file>/path/to/file.ts</file>") + "\nThen we see.";
  EXPECT_EQ(calls_of(text), "Read {\"file\":\"/path/to/file.ts\"}\n");
  const CallsOfText found = parsed(text);
  EXPECT_TRUE(found.is_whole());
  EXPECT_EQ(found.calls[0].place, (TextPlace{16, 2, 1}));
}

TEST_F(ToolCallParser, BlocksOfEveryKindAreReadInOrder) {
  const std::string text =
      tool_use("Read", "<file>a</file>") +
      "\n<function_calls>\n<invoke name=\"Write\">\n<parameter name=\"file\">b</parameter>\n"
      "<parameter name=\"content\">x</parameter>\n</invoke>\n<invoke name=\"Delete\">"
      "<parameter name=\"path\">c</parameter></invoke>\n</function_calls>\n"
      "```json\n[{\"tool\": \"Read\", \"args\": {\"file\": \"d\"}},\n"
      " {\"name\": \"Read\", \"arguments\": \"{\\\"file\\\": \\\"e\\\"}\"}]\n```\n" +
      tool_use("Read", "{\"file\": \"f\"}");
  EXPECT_EQ(calls_of(text),
            "Read {\"file\":\"a\"}\nWrite {\"content\":\"x\",\"file\":\"b\"}\n"
            "Delete {\"path\":\"c\"}\nRead {\"file\":\"d\"}\nRead {\"file\":\"e\"}\n"
            "Read {\"file\":\"f\"}\n");
  EXPECT_EQ(problems_of(text), "");
}

TEST_F(ToolCallParser, EachLineMayBeADocument) {
  const std::string use = R"({"type":"tool_use","name":"Read","input":{"file":"a"}})";
  const std::string two = use + "\n\n" + use + "\n";
  EXPECT_EQ(calls_of(two), "Read {\"file\":\"a\"}\nRead {\"file\":\"a\"}\n");
  EXPECT_EQ(problems_of(two), "");
  EXPECT_EQ(calls_of(use + "\n{\"type\":"), "");
  // A line end in a string is no end of a document.
  const std::string broken =
      "{\"name\":\"Write\",\"arguments\":{\"file_path\":\"a\",\"content\":\"1\n2\n\n3\n\"}}";
  EXPECT_EQ(calls_of(broken), "Write {\"content\":\"1\\n2\\n\\n3\\n\",\"file_path\":\"a\"}\n");
  EXPECT_EQ(problems_of(broken), "call_text.json_mended+\n");
}

TEST_F(ToolCallParser, TypesComeFromTheSchema) {
  EXPECT_EQ(calls_of(tool_use("Read", "<file>7</file><offset> 3 </offset><limit>10</limit>")),
            "Read {\"file\":\"7\",\"limit\":10,\"offset\":3}\n");
  EXPECT_EQ(calls_of(tool_use("Delete", "<path>true</path><recursive>true</recursive>")),
            "Delete {\"path\":\"true\",\"recursive\":true}\n");
  EXPECT_EQ(calls_of(tool_use("MultiEdit",
                              "<file_path>a</file_path><edits>[{\"old_string\":\"x\","
                              "\"new_string\":\"y\"}]</edits>")),
            "MultiEdit {\"edits\":[{\"new_string\":\"y\",\"old_string\":\"x\"}],"
            "\"file_path\":\"a\"}\n");
  const CallsOfText wrong = parsed(tool_use("Read", "<file>a</file>\n<offset>three</offset>"));
  EXPECT_FALSE(wrong.is_whole());
  EXPECT_EQ(wrong.problems[0].reason, "call_text.value");
  EXPECT_EQ(wrong.problems[0].message.substr(0, 51),
            "line 5, column 1: the value of 'offset' is no integ");
}

TEST_F(ToolCallParser, ValuesAreTakenByteForByte) {
  for (const std::string value :
       {"<div class=\"a\">&amp;<br/></div>", "if (a < b && c > d) {}", "  two\r\n spaces \n",
        "<![CDATA[ inside", "]]>", "</div></parameters", "```\ncode\n```", "a\n\n",
        "<content>nested</content>", "<content><content>twice</content></content>",
        "<path>of another</path>", "<!-- <tool_name>x</tool_name> -->", ""}) {
    const std::string text = tool_use("Write", "<file>a</file><content>" + value + "</content>");
    EXPECT_EQ(calls_of(text), "Write " + json_text(json{{"file", "a"}, {"content", value}}) + "\n")
        << text;
    EXPECT_EQ(problems_of(text), "") << text;
  }
}

TEST_F(ToolCallParser, OneNewlineAfterATagIsIgnored) {
  EXPECT_EQ(calls_of(tool_use("Write", "<file>a</file><content>\nx\n</content>")),
            "Write {\"content\":\"x\\n\",\"file\":\"a\"}\n");
}

TEST_F(ToolCallParser, ABlankLineThatBeginsAValueOfAFunctionStays) {
  const auto value = [&](const std::string& text) {
    return calls_of("<function=Write>\n<parameter=file>a</parameter>\n<parameter=content>\n" +
                    text + "</parameter>\n</function>\n");
  };
  EXPECT_EQ(value("\nx\n"), "Write {\"content\":\"\\nx\",\"file\":\"a\"}\n");
  EXPECT_EQ(value("\n\n\nx\n"), "Write {\"content\":\"\\n\\n\\nx\",\"file\":\"a\"}\n");
}

TEST_F(ToolCallParser, ACallInsideAValueIsNotACall) {
  const std::string quoted = tool_use("Delete", "<path>a</path>") +
                             "<invoke name=\"Delete\"><parameter name=\"path\">a</parameter>"
                             "</invoke>\n```json\n{\"tool\":\"Delete\",\"args\":{}}\n```\n";
  const std::string text = tool_use("Write", "<file>a</file><content>" + quoted + "</content>");
  const CallsOfText found = parsed(text);
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ((*found.calls[0].args)["content"], quoted);
  EXPECT_TRUE(found.is_whole());
  const std::string invoke =
      "<invoke name=\"Write\"><parameter name=\"file\">a</parameter>"
      "<parameter name=\"content\">" +
      quoted + "</parameter></invoke>";
  ASSERT_EQ(parsed(invoke).calls.size(), 1U);
  EXPECT_EQ((*parsed(invoke).calls[0].args)["content"], quoted);
}

TEST_F(ToolCallParser, AValueInCdataEndsWithItsSection) {
  EXPECT_EQ(calls_of(tool_use("Write",
                              "<file>a</file><content><![CDATA[</content>"
                              "</parameters></tool_use>]]]]><![CDATA[>]]></content>")),
            "Write {\"content\":\"</content></parameters></tool_use>]]>\",\"file\":\"a\"}\n");
}

TEST_F(ToolCallParser, AValueWithTheEndOfItsCallInItIsNotCutShort) {
  for (const char* text :
       {"<tool_use>\n<tool_name>Write</tool_name>\n<parameters>\n<file>t</file>\n<content>Close it "
        "with\n</content>\n</parameters>\n</tool_use>\nand wait.\n</content>\n</parameters>\n"
        "</tool_use>\n",
        "<function_calls><invoke name=\"Write\"><parameter name=\"file\">t</parameter><parameter "
        "name=\"content\">Close it with\n</parameter>\n</invoke>\n</function_calls>\nand wait.\n"
        "</parameter>\n</invoke>\n</function_calls>",
        "<function=Write><parameter=file>t</parameter><parameter=content>Close it with\n"
        "</parameter>\n</function>\nand wait.\n</parameter>\n</function>"}) {
    EXPECT_EQ(problems_of(text), "call_text.unbalanced\n") << text;
  }
  EXPECT_EQ(problems_of(tool_use("Read", "<file>a</file>") + "\n</tool_use>\nDone: <b>a</b>.\n"),
            "");
}

TEST_F(ToolCallParser, ClearMistakesAreRecoveredAndReported) {
  EXPECT_EQ(problems_of("<tool_use>\n<tool_name>Read\n<parameters><file>a</file>"),
            "call_text.not_closed+\ncall_text.not_closed+\ncall_text.not_closed+\n");
  EXPECT_EQ(calls_of("<tool_use>\n<tool_name>Read\n<parameters><file>a</file>"),
            "Read {\"file\":\"a\"}\n");
  EXPECT_EQ(problems_of("<tool_use><tool_name>Read</tool_name><parameters><file>a</file>"
                        "</tool_use> more"),
            "call_text.not_closed+\n");
  EXPECT_EQ(problems_of("```json\n{\"tool\":\"Read\",\"args\":{\"file\":\"a\"}}"),
            "call_text.not_closed+\n");
  EXPECT_EQ(problems_of(tool_use("Write", "<file>a</file><content>a <content> b</content>")),
            "call_text.unbalanced+\n");
  EXPECT_EQ(calls_of(tool_use("Write", "<file>a</file><content>a <content> b</content>")),
            "Write {\"content\":\"a <content> b\",\"file\":\"a\"}\n");
}

TEST_F(ToolCallParser, CallsInTheFormatsOfProvidersAreRead) {
  const std::string call = "Read {\"file\":\"a\"}\n";
  const std::string use = R"({"type":"tool_use","id":"t1","name":"Read","input":{"file":"a"}})";
  const std::string function =
      R"({"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"file\":\"a\"}"}})";
  for (
      const std::string& text :
      {use, "[" + use + "]", R"({"role":"assistant","content":[{"type":"text"},)" + use + "]}",
       function, R"({"role":"assistant","content":null,"tool_calls":[)" + function + "]}",
       R"({"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[)" + function +
           "]}}]}",
       std::string(
           R"({"output":[{"type":"function_call","name":"Read","arguments":"{\"file\":\"a\"}"}]})"),
       std::string(R"([TOOL_CALLS][{"name":"Read","arguments":{"file":"a"}}])"),
       std::string(R"({"name":"Read","parameters":{"file":"a"}})"),
       std::string(R"({"name":"Read","input":{"file":"a"}})"),
       std::string(R"({"function_call":{"name":"Read","arguments":"{\"file\":\"a\"}"}})"),
       std::string(R"({"choices":[{"message":{"role":"assistant","content":null,"function_call":)"
                   R"({"name":"Read","arguments":"{\"file\":\"a\"}"}}}]})"),
       std::string(R"({"name":"Read","parameters":{"file":"a"}}<|eom_id|>)"),
       std::string(R"(<|python_tag|>{"name":"Read","parameters":{"file":"a"}}<|eot_id|>)"),
       std::string("{'name': 'Read', 'arguments': {'file': 'a'},}")}) {
    EXPECT_EQ(calls_of(text), call) << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  EXPECT_EQ(parsed(use).calls[0].call_id, "t1");
  EXPECT_EQ(parsed(function).calls[0].call_id, "c1");
  EXPECT_EQ(problems_of("{'name': 'Read', 'arguments': {'file': 'a'}}"),
            "call_text.json_mended+\n");
  EXPECT_EQ(problems_of(R"({"stop_reason":"max_tokens","content":[)" + use + "]}"),
            "call_text.cut_off\n");
}

TEST_F(ToolCallParser, CallsInTheFormatsOfChatTemplatesAreRead) {
  const std::string call = "Write {\"content\":\"</tool_call>\\n <b>\",\"file\":\"a\"}\n";
  const std::string values = R"({"content": "</tool_call>\n <b>", "file": "a"})";
  const std::string tool_call = R"({"name": "Write", "arguments": )" + values + "}";
  for (const std::string& text :
       {"I write it.\n<tool_call>\n" + tool_call + "\n</tool_call>\nDone.",
        "<tool_call>" + tool_call, "<function=Write>" + values + "</function>",
        "<|tool_call|>[" + tool_call + "]", "I write it.\n<|tool_call|>[" + tool_call + "]",
        "<|tool_call|>[" + tool_call + "]<|/tool_call|><|end|>",
        "<tool_calls>\n[" + tool_call + "]\n</tool_calls>",
        "Now.\n<TOOLCALL>[" + tool_call + "]</TOOLCALL>",
        std::string(
            "<tool_call>\n<function=Write>\n<parameter=content>\n</tool_call>\n <b>\n"
            "</parameter>\n<parameter=file>\na\n</parameter>\n</function>\n</tool_call>")}) {
    EXPECT_EQ(calls_of(text), call) << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  EXPECT_FALSE(parsed("<function=Write><parameter=file>a</function>").is_whole());
  EXPECT_FALSE(parsed("<tool_call>{\"name\": \"Write\", \"argu").is_whole());
  EXPECT_FALSE(is_raw_calls("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-<tool_call>\n+<tool_use>\n"));
  EXPECT_FALSE(is_raw_calls("A call is written as <tool_call>.\n"));
}

TEST_F(ToolCallParser, CallsInThoughtsAreNotMade) {
  const std::string call = tool_use("Read", "<file>a</file>") + "\n";
  const std::string other = tool_use("Read", "<file>b</file>") + "\n";
  const std::string made = "Read {\"file\":\"a\"}\n";
  for (const std::string& text :
       {"<think>\n" + other + "No.\n</think>\n" + call,
        call + "<thinking>" + other + "</thinking>\n", "Perhaps:\n" + other + "</think>\n\n" + call,
        call + "<think>\n" + other,
        std::string("<think>a</think>\n{\"tool\": \"Read\", \"args\": {\"file\": \"a\"}}\n")}) {
    EXPECT_EQ(calls_of(text), made) << text;
  }
  const std::string content = "<content>\n<think>\nx\n</think>\n</content><file>a</file>";
  EXPECT_EQ(parsed(tool_use("Write", content)).calls.at(0).args->at("content"),
            "<think>\nx\n</think>\n");
}

TEST_F(ToolCallParser, CallsInFencesAreFoundBetweenProse) {
  const std::string call = "{\"name\":\"Read\",\"arguments\":{\"file\":\"a\"}}\n";
  for (const std::string& text : {"```json\n" + call + "```\n", "Now:\n```json\n" + call + "```\n",
                                  "<think>x</think>\n```json\n" + call + "```\n"}) {
    EXPECT_TRUE(is_raw_calls(text)) << text;
    EXPECT_EQ(calls_of(text), "Read {\"file\":\"a\"}\n") << text;
  }
  EXPECT_FALSE(is_raw_calls("```python\n" + call + "```\n"));
  EXPECT_FALSE(is_raw_calls("```json\n{\"name\": \"a package\"}\n```\n"));
}

TEST_F(ToolCallParser, JsonBetweenProseIsACallWithoutOtherCalls) {
  const std::string call = R"({"tool": "Read", "args": {"file": "a"}})";
  const std::string raw = R"({"name": "Read", "arguments": {"file": "a"}})";
  const std::string made = "Read {\"file\":\"a\"}\n";
  for (const std::string& text :
       {"Here:\n```json\n" + call + "\n```\nDone.\n", "Here:\n\n" + call + "\n\nDone.\n",
        "Here:\n" + raw + "\n", "Here:\n  [" + raw + "]\n"}) {
    EXPECT_EQ(calls_of(text), made) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  const std::string other = R"({"tool": "Read", "args": {"file": "b"}})";
  EXPECT_EQ(calls_of("Not " + other + ", but:\n" + other + "\n```json\n" + call + "\n```\n"), made);
  EXPECT_EQ(calls_of("Here:\n{\"name\": \"Read\"}\n"), "");
  for (const std::string cut :
       {"{", "{\"name", "{\"name\": \"Read\", \"argu", "[{\"tool\": \"Re\n"}) {
    EXPECT_FALSE(parsed("Here:\n" + call + "\n" + cut).is_whole()) << cut;
  }
  EXPECT_EQ(calls_of("```js\n" + call + "\n```\n"), "");
}

TEST_F(ToolCallParser, AnUnclearCallIsAProblemWithItsPlace) {
  const CallsOfText cut = parsed(
      "text\n  <tool_use><tool_name>Write</tool_name>\n<parameters>\n"
      "<file>a</file><content>half of it");
  EXPECT_FALSE(cut.is_whole());
  EXPECT_TRUE(cut.calls.empty());
  ASSERT_EQ(cut.problems.size(), 1U);
  EXPECT_EQ(cut.problems[0].message, "line 4, column 15: the value of 'content' is not closed");
  EXPECT_EQ(cut.problems[0].place.offset, 73U);
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"<tool_use><parameters></parameters></tool_use>", "call_text.no_name\n"},
           {"<invoke><parameter name=\"a\">b</parameter></invoke>", "call_text.no_name\n"},
           {"<invoke name=\"Read\"><parameter>b</parameter></invoke>", "call_text.no_name\n"},
           {tool_use("Read", "<file>a</file><file>b</file>"), "call_text.twice\n"},
           {tool_use("Read", "{\"file\": }"), "call_text.value\n"},
           {tool_use("Read", "[1]"), "call_text.not_closed\n"},
           {tool_use("Raed", "<file>a</file>"), "tool.unknown\n"},
           {"```json\n{\"tool\": \"Read\", \"args\": {\"file\": }}\n```", "call_text.value\n"},
           {"```json\n{\"tool\": \"Read\", \"args\": []}\n```", "call_text.value\n"}}) {
    EXPECT_EQ(problems_of(text), reason) << text;
    EXPECT_FALSE(parsed(text).is_whole());
  }
  EXPECT_NE(parsed(tool_use("Raed", "")).problems[0].message.find("did you mean 'Read'?"),
            std::string::npos);
}

TEST_F(ToolCallParser, AMalformedBlockDoesNotHideTheNextOne) {
  const std::string text = tool_use("Write", "<file>a</file><content>not closed") + "\nand\n" +
                           tool_use("Write", "<file>b</file><content>x</content>");
  EXPECT_EQ(calls_of(text), "Write {\"content\":\"x\",\"file\":\"b\"}\n");
  EXPECT_EQ(problems_of(text), "call_text.not_closed\n");
}

TEST_F(ToolCallParser, ProseAndOtherCodeAreNotCalls) {
  for (const std::string text :
       {"Use <tool_use> blocks.", "a < b", "<tool_user>x</tool_user>", "</tool_use>", "",
        "```json\n{\"name\": \"package\", \"version\": 1}\n```", "```json\n[1, 2]\n```",
        "inline ```{\"tool\":\"Read\"}``` code",
        "```json\n{\"example\": \"<invoke name='Read'></invoke>\"}\n```",
        "```python\nprint('<invoke name=\"Read\"></invoke>')\n```"}) {
    EXPECT_EQ(calls_of(text), "") << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
  }
}

TEST_F(ToolCallParser, AnUnreadCallBesideACallIsAProblem) {
  const std::string call = tool_use("Read", "<file>a</file>") + "\n";
  const std::string json_call = R"({"name": "Read", "arguments": {"file": "a"}})";
  const std::string element =
      "<insert_content>\n<path>a</path>\n<line>1</line>\n</insert_content>\n";
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {call + element, "line 7, column 1: <insert_content>"},
           {element + call, "line 1, column 1: <insert_content>"},
           {call + "  " + element, "line 7, column 3: <insert_content>"},
           {call + "<insert_content path=\"a\" line=\"1\">\nx\n</insert_content>\n",
            "line 7, column 1: <insert_content>"},
           {call + "<insert_content>\n<path>a</path>\n", "line 7, column 1: <insert_content>"},
           {call + "<rename_file>\n<old_path>a</old_path>\n</rename_file>\n",
            "line 7, column 1: <rename_file>"},
           {call + "```xml\n" + element + "```\n", "line 8, column 1: <insert_content>"},
           {call + "<Write>\n<file_path>b</file_path>\n</Write>\n", "line 7, column 1: <Write>"},
           {call + "<tool_call>\nEdit {\"file\": \"b\"}\n</tool_call>\n",
            "line 7, column 1: <tool_call>"},
           {call + "<tool_use>\n{\"name\": \"Read\"}\n</tool_use>\n",
            "line 7, column 1: <tool_use>"},
           {call + "```json\n{\"name\": \"Edit\", \"args\": {\"file\": \"b\"}}\n```\n",
            "line 7, column 1: the JSON"},
           {call + "```json\n{\"name\": \"Edit\", \"parameters\": {\"file\": \"b\", }]}\n```\n",
            "line 7, column 1: the JSON"},
           {"[" + json_call + ", {\"name\": \"Edit\", \"args\": {\"file\": \"b\"}}]",
            "item 2 of the list, 'Edit', "},
           {"[{\"name\": \"Edit\"}, " + json_call + "]", "item 1 of the list, 'Edit', "},
           {"[" + json_call + ", \"{\\\"name\\\": \\\"Edit\\\"}\"]", "item 2 of the list "},
           {call + "<function name=\"Write\">\n<file>b</file>\n</function>\n",
            "line 7, column 1: <function>"},
           {json_call + "\n{\"tool_name\": \"Edit\", \"arguments\": {\"file\": \"b\"}}\n",
            "item 2 of the list, 'Edit', "},
           {"{\"tool_calls\": [" + json_call + ", {\"type\": \"function\", \"id\": \"c2\"}]}",
            "item 2 of the list "},
           {"{\"output\": [" + json_call +
                ", {\"type\": \"custom_tool_call\", \"name\": \"apply_patch\", \"input\": \"x\"}]}",
            "item 2 of the list, 'apply_patch', "}}) {
    const CallsOfText found = parsed(text);
    EXPECT_FALSE(found.is_whole()) << text;
    ASSERT_FALSE(found.problems.empty()) << text;
    EXPECT_EQ(found.problems.back().reason, "edit.unread") << text;
    EXPECT_NE(found.problems.back().message.find(what), std::string::npos)
        << found.problems.back().message;
  }
}

TEST_F(ToolCallParser, TextBesideACallIsNotAnUnreadCall) {
  const std::string call = tool_use("Read", "<file>a</file>") + "\n";
  const std::string json_call = R"({"name": "Read", "arguments": {"file": "a"}})";
  const std::string element = "<insert_content>\n<path>a</path>\n</insert_content>\n";
  for (const std::string& text :
       {call + "Write <insert_content><path>a</path></insert_content> to insert.\n",
        call + "```xml\n<config>\n<path>a</path>\n</config>\n```\n",
        call + "```html\n" + element + "```\n",
        call + "<insert_content> inserts.\n",
        call + "<details>\n<summary>x</summary>\n</details>\n",
        call + "<attempt_completion>\n<result>Done.</result>\n</attempt_completion>\n",
        call + "<tool_call> is the tag of a call.\n",
        call + "<my_calls>\n" + call + "</my_calls>\n",
        call + "```json\n{\"name\": \"a package\", \"version\": 1}\n```\n",
        call + "```json\n[{\"type\":\"function\",\"name\":\"transfer\",\"inputs\":[]}]\n```\n",
        call + "```json\n{\"type\": \"function\", \"name\": \"Edit\"}\n```\n",
        call + "```json\n{\"name\": \"my-app\", \"params\": {\"x\": 1}}\n```\n",
        call + "```\n{\"name\": \"web\", \"kwargs\": {}}\n```\n",
        call + "```json\n{\"name\": \"web\", \"input\": {\"a\": 1, // first\n}}\n```\n",
        call + "```xml\n<log_file>\n <path>/var/log/x</path>\n</log_file>\n```\n",
        call + "```\n<log_file>\n <path>/var/log/x</path>\n</log_file>\n```\n",
        call + "```xml\n<button name=\"Edit\">Edit</button>\n```\n",
        call + "```\n<button name=\"Edit\">Edit</button>\n```\n",
        call + "```xml\n<Edit>\n<file>a</file>\n</Edit>\n```\n",
        call + "<file_content>\n<path>a</path>\n<content>x</content>\n</file_content>\n",
        "<tool_result>\n<path>a</path>\n</tool_result>\n" + call,
        call + "<final_summary>\n<content>\nI wrote.\n</content>\n</final_summary>\n",
        call + "<test_plan>\n<command>make test</command>\n</test_plan>\n",
        call + "<details name=\"Read\">\n<summary>x</summary>\n</details>\n",
        call + "<tool_call> opens a call and </tool_call> closes it.\n",
        call + "<read_file> opens a call and </read_file> closes it.\n",
        call + "<attempt_completion>\n<command>open a</command>\n<result>Done.</result>\n"
               "</attempt_completion>\n",
        call + "```json\n{\"name\": \"Launch\", \"args\": [\"x\"]}\n```\n",
        tool_use("Write", "<file>a</file><content>" + element + "</content>"),
        "<write_to_file>\n<path>a</path>\n<content>\n" + element + "</content>\n</write_to_file>\n",
        "{\"content\": [{\"type\": \"text\", \"text\": \"x\"}, " + json_call + "]}",
        "[{\"role\": \"user\", \"name\": \"me\", \"content\": \"x\"}, " + json_call + "]",
        "[" + json_call + ", {\"type\": \"tool_result\", \"tool_use_id\": \"t\", \"name\": \"x\"}]",
        "<think>\n" + element + "</think>\n" + call,
        element}) {
    EXPECT_TRUE(parsed(text).is_whole()) << text << problems_of(text);
  }
}

TEST_F(ToolCallParser, AnElementAroundACallDoesNotTakeIt) {
  const std::string write =
      "<write_to_file>\n<path>b</path>\n<content>\nx\n</content>\n</write_to_file>\n";
  const std::string wrapper = "<file_edits>\n<path>.</path>\n" + write;
  for (const std::string& text : {wrapper + "</file_edits>\n", wrapper}) {
    EXPECT_EQ(problems_of(text), "");
    EXPECT_EQ(parsed(text).calls.size(), 1U);
  }
}

TEST_F(ToolCallParser, AnUnreadCallIsFoundBehindManyCalls) {
  const std::string call =
      "<tool_call>\n<function=Read>\n<parameter=file>\na\n</parameter>\n</function>\n</"
      "tool_call>\n";
  std::string text;
  for (size_t i = 0; i < 2 * kMaxCallProblems; ++i) text += call;
  EXPECT_TRUE(parsed(text).is_whole());
  EXPECT_FALSE(parsed(text + "<insert_content>\n<path>a</path>\n</insert_content>\n").is_whole());
}

TEST_F(ToolCallParser, AToolIsFoundByItsNameWithoutDots) {
  ToolDefinition definition;
  definition.info.name = "fs.stat";
  definition.info.description = "Says what a path is.";
  definition.info.input_schema = definition.info.output_schema = R"({"type":"object"})";
  definition.run = [](ToolRun&) { return Result<std::string>("{}"); };
  ASSERT_TRUE(registry_.add(*make_defined_tool(std::move(definition))));
  EXPECT_EQ(calls_of(tool_use("fs_stat", "<path>a</path>")), "fs.stat {\"path\":\"a\"}\n");
  EXPECT_EQ(calls_of(tool_use("fs.stat", "<path>a</path>")), "fs.stat {\"path\":\"a\"}\n");
}

TEST_F(ToolCallParser, PrefixesOfTagsAreIgnored) {
  EXPECT_EQ(calls_of("<x:function_calls><x:invoke name='Read'><x:parameter name='file'>a"
                     "</x:parameter></x:invoke></x:function_calls>"),
            "Read {\"file\":\"a\"}\n");
}

// Limit: kMaxCallProblems of tools/tool_call_parser.h
// Limit: kMaxCallTextBytes of tools/tool_call_parser.h
// Limit: kMaxCallsInText of tools/tool_call_parser.h
// Limit: kMaxReadings of tools/tool_call_parser.h
TEST_F(ToolCallParser, HostileTextsAreReadInBoundedTime) {
  std::string open;
  for (int i = 0; i < 20'000; ++i) {
    open += "<tool_use><tool_name>Write</tool_name><parameters><content></content>x";
  }
  const auto many = parse_tool_calls(open, registry_);
  EXPECT_TRUE(!many || !many->is_whole());
  EXPECT_TRUE(parse_tool_calls(std::string(1'000'000, '<'), registry_));
  EXPECT_TRUE(parse_tool_calls(std::string(1'000'000, '`'), registry_));
  std::string calls;
  for (int i = 0; i < 2000; ++i) calls += tool_use("Read", "<file>a</file>");
  EXPECT_EQ(parse_tool_calls(calls, registry_).error().reason, "limit.call_text");
}

// Limit: kMaxCallTextBytes of tools/tool_call_parser.h
TEST_F(ToolCallParser, ATextThatIsTooLargeIsRefused) {
  const std::string text(kMaxCallTextBytes + 1, 'a');
  EXPECT_EQ(parse_tool_calls(text, registry_).error().reason, "limit.call_text");
}

TEST_F(ToolCallParser, ReadsTheSpecialTokensOfChatTemplates) {
  const std::string json_args = R"({"file":"a","content":"x<|call|>"})";
  const std::string want = "Write {\"content\":\"x<|call|>\",\"file\":\"a\"}\n";
  for (const std::string& text : {
           "I write.<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>"
           "function<\uff5ctool\u2581sep\uff5c>Write\n```json\n" +
               json_args +
               "\n```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>",
           "<\uff5ctool\u2581call\u2581begin\uff5c>Write<\uff5ctool\u2581sep\uff5c>" + json_args +
               "<\uff5ctool\u2581call\u2581end\uff5c>",
           "<|tool_calls_section_begin|><|tool_call_begin|>functions.Write:0"
           "<|tool_call_argument_begin|>" +
               json_args + "<|tool_call_end|><|tool_calls_section_end|>",
           "<|channel|>analysis<|message|>I should write <tool_call>{}</tool_call><|end|>"
           "<|start|>assistant<|channel|>commentary to=functions.Write "
           "<|constrain|>json<|message|>" +
               json_args + "<|call|>",
           "<|start|>assistant to=functions.Write<|channel|>commentary json<|message|>" +
               json_args + "<|call|>",
       }) {
    EXPECT_EQ(calls_of(text), want) << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  const std::string cut =
      "<|tool_call_begin|>functions.Write:0<|tool_call_argument_begin|>{\"file\":\"a\",\"cont";
  EXPECT_EQ(calls_of(cut), "");
  EXPECT_EQ(problems_of(cut), "call_text.not_closed\n");
}

TEST_F(ToolCallParser, AThoughtOfHarmonyEndsAtTheNextMessage) {
  const std::string call =
      "<|start|>assistant<|channel|>commentary "
      "to=functions.Read<|message|>{\"file\":\"a\"}<|call|>";
  const std::string thought = "<|channel|>analysis<|message|>I read it.";
  EXPECT_EQ(calls_of(thought + call + thought + "<|end|>" + call),
            "Read {\"file\":\"a\"}\nRead {\"file\":\"a\"}\n");
}

TEST_F(ToolCallParser, AlternativesAreNotAllExecuted) {
  const std::string gemini =
      R"({"content":{"parts":[{"functionCall":{"name":"Read","args":{"file":"a"}}}]}})";
  const std::string openai =
      R"({"message":{"tool_calls":[{"function":{"name":"Read","arguments":"{\"file\":\"a\"}"}}]}})";
  for (const std::string& text : {R"({"candidates":[)" + gemini + "," + gemini + "]}",
                                  R"({"choices":[)" + openai + "," + openai + "]}"}) {
    EXPECT_EQ(problems_of(text), "call_text.alternatives\n") << text;
  }
  EXPECT_TRUE(parsed(R"({"choices":[{"message":{"content":"no"}},)" + openai + "]}").is_whole());
}

TEST_F(ToolCallParser, ReadsArgumentsOfGlmByteForByte) {
  const std::string text =
      "<tool_call>Write\n<arg_key>file</arg_key>\n<arg_value>a</arg_value>\n<arg_key>content</"
      "arg_key>"
      "\n<arg_value>\n<b>&lt;</arg_value> x\n</arg_value>\n</tool_call>";
  EXPECT_EQ(calls_of(text), "Write {\"content\":\"\\n<b>&lt;</arg_value> x\\n\",\"file\":\"a\"}\n");
  EXPECT_TRUE(parsed(text).is_whole());
  EXPECT_EQ(calls_of("<tool_call>Read<arg_key>file</arg_key><arg_value>a</arg_value><arg_key>limit"
                     "</arg_key><arg_value>3</arg_value></tool_call>"),
            "Read {\"file\":\"a\",\"limit\":3}\n");
  const std::string inner =
      "<tool_call>Read\\n<arg_key>file</arg_key>\\n<arg_value>a</arg_value>\\n</tool_call>";
  const std::string head =
      "<tool_call>Write\n<arg_key>file</arg_key>\n<arg_value>a</arg_value>\n<arg_key>content"
      "</arg_key>\n<arg_value>";
  const std::string tail = "</arg_value>\n</tool_call>";
  std::string shown = inner;
  for (size_t at = shown.find("\\n"); at != std::string::npos; at = shown.find("\\n")) {
    shown.replace(at, 2, "\n");
  }
  EXPECT_EQ(calls_of(head + shown + tail),
            "Write {\"content\":\"" + inner + "\",\"file\":\"a\"}\n");
  EXPECT_TRUE(parsed(head + shown + tail).is_whole());
  EXPECT_FALSE(parsed(head + "x" + tail + " ends it" + tail).is_whole());
  EXPECT_FALSE(parsed(head + "<arg_value>" + tail).is_whole());
  EXPECT_EQ(problems_of("<tool_call>Read\n<arg_key>file</arg_key>\n<arg_value>a"),
            "call_text.not_closed\n");
}

TEST_F(ToolCallParser, ReadsCallsOfGemini) {
  const std::string call = R"({"functionCall":{"name":"Read","args":{"file":"a"}}})";
  for (const std::string& text :
       {call, "```json\n" + call + "\n```",
        R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Now:"},)" + call +
            R"(]},"finishReason":"STOP"}]})",
        std::string("Now:\n```tool_code\nprint(default_api.Read(file='a'))\n```\n"),
        std::string("```tool_code\nRead(file=\"\"\"a\"\"\",)  # the file\n```\n")}) {
    EXPECT_EQ(calls_of(text), "Read {\"file\":\"a\"}\n") << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  EXPECT_EQ(calls_of("```tool_code\nMultiEdit(file_path='a', edits=[{'old_string': 'x\\n\\'', "
                     "'new_string': \"\"\"y\n\"z\"\"\"}])\n```"),
            "MultiEdit {\"edits\":[{\"new_string\":\"y\\n\\\"z\",\"old_string\":\"x\\n'\"}],"
            "\"file_path\":\"a\"}\n");
  for (const std::string code :
       {"Read(file=f'{x}')", "Read('a')", "x = Read(file='a')", "Read(file=name)",
        "Read(file='a') if x else None", "Read(file='a', file='b')", "Read(file='a\nb')",
        "Read(file='a'"}) {
    EXPECT_EQ(calls_of("```tool_code\n" + code + "\n```"), "") << code;
    EXPECT_EQ(problems_of("```tool_code\n" + code + "\n```"), "call_text.value\n") << code;
  }
  EXPECT_EQ(problems_of(R"({"candidates":[{"content":{"parts":[]},"finishReason":"MAX_TOKENS"}]})"),
            "call_text.cut_off\n");
}

TEST_F(ToolCallParser, ReadsTheElementsOfClineAndRoo) {
  EXPECT_EQ(
      calls_of("<write_to_file>\n<path>a.py</path>\n<content>\nif a < b:\n    pass\n</content>\n"
               "<line_count>2</line_count>\n</write_to_file>\n"),
      "Write {\"content\":\"if a < b:\\n    pass\\n\",\"file_path\":\"a.py\"}\n");
  const std::string block =
      "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE\n";
  const std::string want = "Edit {\"file_path\":\"a.py\",\"patch\":" + json(block).dump() + "}\n";
  for (const std::string& text :
       {"I edit.\n<apply_diff>\n<path>a.py</path>\n<diff>\n" + block + "</diff>\n</apply_diff>\n",
        "<replace_in_file>\n<path>a.py</path>\n<diff>\n" + block + "</diff>\n</replace_in_file>\n",
        "<apply_diff>\n<args>\n<file>\n<path>a.py</path>\n<diff>\n<content>\n" + block +
            "</content>\n<start_line>3</start_line>\n</diff>\n</file>\n</args>\n</apply_diff>\n"}) {
    EXPECT_EQ(calls_of(text), want) << text;
    EXPECT_TRUE(parsed(text).is_whole()) << text;
    EXPECT_TRUE(is_raw_calls(text)) << text;
  }
  const std::string progress = "<task_progress>\n- [x] read it\n- [ ] edit it\n</task_progress>\n";
  const std::string with_progress = "<replace_in_file>\n<path>a.py</path>\n<diff>\n" + block +
                                    "</diff>\n" + progress + "</replace_in_file>\n";
  EXPECT_EQ(calls_of(with_progress), want);
  EXPECT_TRUE(parsed(with_progress).is_whole());
  const std::string cut = "<apply_diff>\n<path>a.py</path>\n<diff>\n" + block;
  EXPECT_EQ(calls_of(cut), "");
  EXPECT_FALSE(parsed(cut).is_whole());
  EXPECT_EQ(calls_of("<apply_diff>\n<diff>\n" + block + "</diff>\n</apply_diff>\n"), "");
}

TEST_F(ToolCallParser, AContentWithLessThanHalfOfItsLinesWasCutOff) {
  const auto element = [](const std::string& count) {
    return "<write_to_file>\n<path>a</path>\n<content>\n1\n2\n3\n</content>\n<line_count>" + count +
           "</line_count>\n</write_to_file>\n";
  };
  for (const char* count : {"1", "3", "4", "6", "many", "", "-9", "99999999999999999999999"}) {
    EXPECT_EQ(problems_of(element(count)), "") << count;
  }
  EXPECT_EQ(problems_of("<write_to_file>\n<path>__init__.py</path>\n<content></content>\n"
                        "<line_count>1</line_count>\n</write_to_file>\n"),
            "");
  EXPECT_EQ(problems_of("<write_to_file>\n<path>a</path>\n<content>\none\n</content>\n"
                        "<line_count>3</line_count>\n</write_to_file>\n"),
            "");
  EXPECT_EQ(problems_of("<write_to_file>\n<path>a</path>\n<content>\n1\r2\r3\r4\r5\r\n</content>\n"
                        "<line_count>5</line_count>\n</write_to_file>\n"),
            "");
  const CallsOfText cut = parsed(element("7"));
  ASSERT_EQ(cut.problems.size(), 1U);
  EXPECT_EQ(cut.problems[0].reason, "call_text.cut_off");
  EXPECT_EQ(cut.problems[0].message,
            "line 1, column 1: the content of 'a' has 3 lines, and <line_count> says 7: it was cut "
            "off; send all of it");
  EXPECT_TRUE(cut.calls.empty());
}

TEST_F(ToolCallParser, AProgramInCdataBeginsWithItsFirstLine) {
  const auto element = [](const std::string& value) {
    return tool_use("Write", "<file>a</file><content><![CDATA[" + value + "]]></content>");
  };
  for (const std::string text : {"#!/bin/sh\nexit 0\n", "<?xml version=\"1.0\"?>\n<a/>\n"}) {
    for (const std::string line_end : {"\n", "\r\n"}) {
      const CallsOfText found = parsed(element(line_end + text));
      EXPECT_EQ(found.calls.at(0).args->at("content"), text);
      ASSERT_EQ(found.problems.size(), 1U);
      EXPECT_EQ(found.problems[0].reason, "call_text.cdata_newline");
      EXPECT_TRUE(found.problems[0].is_recovered);
    }
    EXPECT_EQ(parsed(element(text)).calls.at(0).args->at("content"), text);
    EXPECT_EQ(problems_of(element(text)), "");
  }
  const std::string edit =
      tool_use("Edit",
               "<file_path>a</file_path><old_string><![CDATA[\n#!/bin/sh\n]]></old_string>"
               "<new_string><![CDATA[\n#!/bin/bash\n]]></new_string>");
  EXPECT_EQ(problems_of(edit), "");
  EXPECT_EQ(parsed(edit).calls.at(0).args->at("old_string"), "\n#!/bin/sh\n");
  EXPECT_EQ(parsed(edit).calls.at(0).args->at("new_string"), "\n#!/bin/bash\n");
  for (const std::string value : {"\nx\n", "\n\n#!/bin/sh\n", "\n # !\n", "\n<xml>\n", "\n"}) {
    EXPECT_EQ(parsed(element(value)).calls.at(0).args->at("content"), value);
    EXPECT_EQ(problems_of(element(value)), "");
  }
}

TEST_F(ToolCallParser, BlocksOfAnElementAreForItsFile) {
  put("a.py", "x\ny\nx\n");
  EXPECT_EQ(
      done("Edit", {{"file_path", "a.py"},
                    {"patch", "<<<<<<< SEARCH\ny\n=======\nz\n>>>>>>> REPLACE\n"}})["applied"],
      true);
  EXPECT_EQ(staged("a.py"), "x\nz\nx\n");
  put("my file.py", "x\ny\n");
  EXPECT_EQ(
      done("Edit", {{"file_path", "my file.py"},
                    {"patch", "<<<<<<< SEARCH\ny\n=======\nz\n>>>>>>> REPLACE\n"}})["applied"],
      true);
  EXPECT_EQ(staged("my file.py"), "x\nz\n");
}

// Limit: kMaxTagBytes of tools/call_text_scanner.h
TEST_F(ToolCallParser, ANameThatIsTooLongIsNoCall) {
  const auto kimi = [](const std::string& name) {
    return "<|tool_call_begin|>functions." + name +
           ":0<|tool_call_argument_begin|>{\"file\": \"a\"}<|tool_call_end|>";
  };
  EXPECT_EQ(calls_of(kimi("Read")), "Read {\"file\":\"a\"}\n");
  EXPECT_EQ(calls_of(kimi(std::string(kMaxTagBytes, 'x'))), "");
  EXPECT_EQ(problems_of(kimi(std::string(kMaxTagBytes, 'x'))), "call_text.no_name\n");
}

}  // namespace
}  // namespace galley
