#include <galley/define_tool.h>

#include <cmath>
#include <stdexcept>
#include <system_error>

#include "tools/tool_factory.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

enum class Action : uint8_t { kRead, kWrite };

struct Options {
  bool recursive = false;
  std::optional<double> timeout;
  static void describe(auto& field) {
    field("recursive", &Options::recursive).optional();
    field("timeout", &Options::timeout, "seconds").minimum(0.5);
  }
};

/// One member of every type that there is.
struct Everything {
  std::string path;
  Action action = Action::kRead;
  int64_t limit = 10;
  uint8_t small = 0;
  double ratio = 0.5;
  std::vector<std::string> tags;
  std::map<std::string, int> counts;
  Options options;
  std::optional<std::vector<Options>> more;
  static void describe(auto& field) {
    field("path", &Everything::path, "where").min_length(1).max_length(20).pattern("^[a-z./]+$");
    field("action", &Everything::action)
        .one_of({{"read", Action::kRead}, {"write", Action::kWrite}});
    field("limit", &Everything::limit).minimum(1).maximum(1000).optional();
    field("small", &Everything::small).optional();
    field("ratio", &Everything::ratio).maximum(1).optional();
    field("tags", &Everything::tags)
        .max_items(2)
        .unique_items()
        .optional()
        .each()
        .one_of({"a", "b", "c"});
    field("counts", &Everything::counts).optional().each().minimum(0);
    field("options", &Everything::options, "how").optional();
    field("more", &Everything::more);
  }
};

struct Tree {
  std::string name;
  std::vector<Tree> children;
  static void describe(auto& field) {
    field("name", &Tree::name);
    field("children", &Tree::children, "below it").optional();
  }
};

struct Nothing {
  static void describe(auto&) {}
};

struct Text {
  std::string text;
  static void describe(auto& field) { field("text", &Text::text); }
};

class DefineTool : public ToolFixture {
 protected:
  void add(ToolDefinition definition) {
    auto tool = make_defined_tool(std::move(definition));
    ASSERT_TRUE(tool);
    const auto added = registry_.add(*std::move(tool));
    ASSERT_TRUE(added) << added.error().message;
  }
  std::string verdict(const std::string& tool, const std::string& args) {
    return describe((*registry_.get(tool))->input.check(json::parse(args)));
  }
  /// Returns what the caller of such a tool is told.
  ToolResult outcome_of(const std::function<Result<Text>(const Nothing&)>& function) {
    registry_.clear();
    add(define_tool<Nothing, Text>("Does", "does", function));
    return call("Does", json::object());
  }
};

TEST_F(DefineTool, TheSchemaFollowsFromTheDescriptionOfAStruct) {
  const auto schema = json::parse(ToolDefinition::Shape::of<Everything>().schema());
  EXPECT_EQ(schema["required"], json::array({"path", "action"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  const json& members = schema["properties"];
  EXPECT_EQ(members["path"], json::parse(R"({"description":"where","type":"string","minLength":1,
    "maxLength":20,"pattern":"^[a-z./]+$"})"));
  EXPECT_EQ(members["action"], json::parse(R"({"type":"string","enum":["read","write"]})"));
  EXPECT_EQ(members["limit"],
            json::parse(R"({"type":"integer","minimum":1,"maximum":1000,"default":10})"));
  EXPECT_EQ(members["small"],
            json::parse(R"({"type":"integer","minimum":0,"maximum":255,"default":0})"));
  EXPECT_EQ(members["ratio"], json::parse(R"({"type":"number","maximum":1,"default":0.5})"));
  EXPECT_EQ(members["tags"], json::parse(R"({"type":"array","maxItems":2,"uniqueItems":true,
    "items":{"type":"string","enum":["a","b","c"]},"default":[]})"));
  EXPECT_EQ(members["counts"]["additionalProperties"]["minimum"], 0);
  EXPECT_EQ(members["options"]["default"], json::parse(R"({"recursive":false})"));
  EXPECT_EQ(members["more"]["items"]["properties"]["timeout"]["minimum"], 0.5);
}

TEST_F(DefineTool, AStructIsReadAndWrittenUnchanged) {
  add(define_tool<Everything, Everything>("Echo", "echoes",
                                          [](const Everything& all) { return all; }));
  const json full = json::parse(R"({"path":"a/b.c","action":"write","limit":7,"small":255,
    "ratio":0.25,"tags":["a","c"],"counts":{"x":1,"y z":2},
    "options":{"recursive":true,"timeout":1.5},"more":[{"recursive":false}]})");
  EXPECT_EQ(json(done("Echo", full)), full);
  const json least = json::parse(R"({"path":"a","action":"read"})");
  EXPECT_EQ(json(done("Echo", least)), json::parse(R"({"path":"a","action":"read","limit":10,
    "small":0,"ratio":0.5,"tags":[],"counts":{},"options":{"recursive":false}})"));
}

TEST_F(DefineTool, InvalidArgumentsDoNotReachTheFunction) {
  bool was_called = false;
  add(define_tool<Everything, Nothing>("Looks", "looks", [&](const Everything&) {
    was_called = true;
    return Nothing();
  }));
  const json good = json::parse(R"({"path":"a","action":"read"})");
  for (const char* wrong :
       {R"({"path":""})", R"({"path":"A"})", R"({"action":"delete"})", R"({"limit":0})",
        R"({"limit":1001})", R"({"small":256})", R"({"small":-1})", R"({"ratio":2})",
        R"({"tags":["a","a"]})", R"({"tags":["d"]})", R"({"tags":["a","b","c"]})",
        R"({"counts":{"x":-1}})", R"({"counts":{"x":2147483648}})", R"({"options":{"deep":1}})",
        R"({"options":7})", R"({"more":null})", R"({"lmit":1})"}) {
    json args = good;
    args.update(json::parse(wrong));
    EXPECT_NE(verdict("Looks", args.dump()), "") << wrong;
  }
  EXPECT_EQ(verdict("Looks", R"({"path":"a","action":"read","lmit":1})"),
            "there is no property 'lmit'; did you mean 'limit'?");
  EXPECT_FALSE(was_called);
}

TEST_F(DefineTool, AStructMayContainItself) {
  add(define_tool<Tree, Tree>("Turn", "turns", [](const Tree& tree) {
    Tree turned{tree.name, {tree.children.rbegin(), tree.children.rend()}};
    return turned;
  }));
  const json tree = json::parse(R"({"name":"a","children":[{"name":"b","children":[]},
    {"name":"c","children":[{"name":"d","children":[]}]}]})");
  const auto turned = done("Turn", tree);
  EXPECT_EQ(turned["children"][0]["children"][0]["name"], "d");
  EXPECT_EQ(verdict("Turn", R"({"name":"a","children":[{"name":7}]})"),
            "/children/0/name: is an integer; wanted string");
}

TEST_F(DefineTool, TheFunctionReadsAndWritesFilesOfTheCall) {
  put("a.txt", "one\n");
  add(define_tool<Text, Text>("Twice", "doubles", [](const Text& in, ToolRun& run) -> Result<Text> {
    const auto text = run.read(in.text);
    if (!text) return text.error();
    if (auto written = run.write(in.text, *text + *text); !written) return written.error();
    return Text{*text};
  }));
  EXPECT_EQ(done("Twice", {{"text", "a.txt"}})["text"], "one\n");
  EXPECT_EQ(staged("a.txt"), "one\none\n");
  EXPECT_EQ(refused("Twice", {{"text", "none"}}), "ERUNTIME path.not_found");
}

TEST_F(DefineTool, AnErrorReachesTheCallerWithItsReason) {
  const std::vector<std::pair<ErrorKind, std::string>> kinds = {
      {ErrorKind::kInvalid, "EVALIDATION"}, {ErrorKind::kUsage, "EVALIDATION"},
      {ErrorKind::kRefused, "EPERMISSION"}, {ErrorKind::kNotFound, "ERUNTIME"},
      {ErrorKind::kTimeout, "ETIMEOUT"},    {ErrorKind::kQuota, "EQUOTA"}};
  for (const auto& [kind, code] : kinds) {
    const ToolResult result = outcome_of([kind = kind](const Nothing&) -> Result<Text> {
      return Error{kind, "own.reason", "what to do"};
    });
    ASSERT_TRUE(result.error);
    EXPECT_EQ(to_string(result.error->code), code);
    EXPECT_EQ(result.error->reason, "own.reason");
    EXPECT_EQ(result.error->message, "what to do");
  }
}

template <class Thrown>
std::function<Result<Text>(const Nothing&)> throws(Thrown thrown) {
  return [thrown](const Nothing&) -> Result<Text> { throw thrown; };
}

TEST_F(DefineTool, TheTextOfAnExceptionGoesOnlyToTheRecord) {
  const std::vector<std::pair<std::function<Result<Text>(const Nothing&)>, std::string>> cases = {
      {throws(std::invalid_argument("internals")), "EVALIDATION"},
      {throws(std::out_of_range("internals")), "EVALIDATION"},
      {throws(std::system_error(std::make_error_code(std::errc::permission_denied), "internals")),
       "EPERMISSION"},
      {throws(std::system_error(std::make_error_code(std::errc::timed_out), "internals")),
       "ETIMEOUT"},
      {throws(std::length_error("internals")), "EQUOTA"},
      {throws(std::runtime_error("internals")), "ERUNTIME"}};
  for (const auto& [function, code] : cases) {
    const ToolResult result = outcome_of(function);
    ASSERT_TRUE(result.error);
    EXPECT_EQ(to_string(result.error->code), code);
    EXPECT_EQ(result.error->reason, "tool.threw");
    EXPECT_NE(result.error->cause.find("internals"), std::string::npos);
    EXPECT_EQ(to_json(result).dump().find("internals"), std::string::npos);
  }
  EXPECT_EQ(outcome_of(throws(7)).error->reason, "tool.threw");
}

TEST_F(DefineTool, AnAnswerThatJsonCannotExpressIsAnError) {
  EXPECT_EQ(outcome_of([](const Nothing&) -> Result<Text> { return Text{"\xff"}; }).error->reason,
            "tool.output");
  const auto nan = ToolDefinition::Shape::of<Options>();
  const Options options{true, std::nan("")};
  EXPECT_EQ(nan.write(&options).error().reason, "tool.output");
}

struct Twice {
  std::string name;
  static void describe(auto& field) {
    field("name", &Twice::name);
    field("name", &Twice::name);
  }
};

struct Nameless {
  Action action = Action::kRead;
  static void describe(auto& field) { field("action", &Nameless::action); }
};

struct BadPattern {
  std::string text;
  static void describe(auto& field) { field("text", &BadPattern::text).pattern("(?=x)"); }
};

template <class T>
concept TakesPattern = requires(ToolDefinition::Shape::Field<T> field) {
  field.pattern("x").max_length(1);
};
template <class T>
concept TakesMinimum = requires(ToolDefinition::Shape::Field<T> field) {
  field.minimum(1);
};
template <class T>
concept TakesItems = requires(ToolDefinition::Shape::Field<T> field) {
  field.max_items(1).each();
};

TEST_F(DefineTool, ABoundThatDoesNotFitTheTypeDoesNotCompile) {
  static_assert(TakesPattern<std::string> && TakesPattern<std::optional<std::string>>);
  static_assert(!TakesPattern<int64_t> && !TakesPattern<std::vector<std::string>>);
  static_assert(TakesMinimum<double> && TakesMinimum<uint8_t> && !TakesMinimum<bool>);
  static_assert(!TakesMinimum<std::string> && !TakesMinimum<Action>);
  static_assert(TakesItems<std::vector<int>> && !TakesItems<std::string>);
}

TEST_F(DefineTool, AWrongDescriptionIsRefusedAtRegistration) {
  const auto refusal = [&](ToolDefinition definition) {
    auto tool = make_defined_tool(std::move(definition));
    const auto added = registry_.add(*std::move(tool));
    return added ? "taken" : added.error().reason + ": " + added.error().message;
  };
  const auto nothing = [](const auto&) { return Nothing(); };
  EXPECT_NE(refusal(define_tool<Twice, Nothing>("T", "t", nothing)).find("'name' occurs twice"),
            std::string::npos);
  EXPECT_EQ(refusal(define_tool<Nameless, Nothing>("T", "t", nothing)).substr(0, 12),
            "tool.schema:");
  EXPECT_EQ(refusal(define_tool<BadPattern, Nothing>("T", "t", nothing)).substr(0, 12),
            "tool.schema:");
}

}  // namespace
}  // namespace galley
