#include "engine/calls/sanitizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace galley {
namespace {

using nlohmann::json;

std::string refusal_of(const json& arguments) {
  const auto error = input_refusal(arguments);
  return error ? error->reason : "ok";
}

TEST(InputSanitizer, RejectsInvalidText) {
  EXPECT_EQ(refusal_of({{"content", "a\xed\xa0\x80"}}), "args.encoding") << "a lone surrogate";
  EXPECT_EQ(refusal_of({{"content", "\xff"}}), "args.encoding");
  EXPECT_EQ(refusal_of({{"content", std::string("a\0b", 3)}}), "args.nul");
  EXPECT_EQ(refusal_of({{"edits", {{{"new_string", std::string(1, '\0')}}}}}), "args.nul");
  EXPECT_EQ(refusal_of({{"\xff", 1}}), "args.encoding");
  EXPECT_NE(input_refusal({{"a", {1, "\xff"}}})->message.find("'/a/1'"), std::string::npos);
}

TEST(InputSanitizer, ControlCharactersAreRefusedInNamesAndCommandsButNotInContents) {
  const std::string odd = "\x1b[31m\f\r\xe2\x80\xae\xc2\x9b\x07";
  for (const char* content : {"content", "old_string", "new_string", "patch", "text", "pattern"}) {
    EXPECT_EQ(refusal_of({{content, odd}}), "ok") << content;
  }
  for (const char* name : {"path", "file_path", "source", "cwd"}) {
    EXPECT_EQ(refusal_of({{name, "ta\tb\n\x1b"}}), "ok") << name;
  }
  for (const char* name : {"tool", "branch", "url", "agent"}) {
    EXPECT_EQ(refusal_of({{name, "a\x1b"}}), "args.control") << name;
    EXPECT_EQ(refusal_of({{name, "a\nb"}}), "args.control") << name;
    EXPECT_EQ(refusal_of({{name, "a\xc2\x85"}}), "args.control") << name;
  }
  for (const char* name : {"path", "file_path", "source", "url", "agent"}) {
    EXPECT_EQ(refusal_of({{name,
                           "a\xe2\x80\xae"
                           "b"}}),
              "args.bidi")
        << name;
    EXPECT_EQ(refusal_of({{name, "\xd7\xa9\xd7\x9c\xe2\x80\x8f.txt"}}), "ok")
        << "Hebrew with a mark";
  }
  EXPECT_EQ(refusal_of({{"command", "make\n\tall"}}), "ok");
  EXPECT_EQ(refusal_of({{"command", "echo \x1b[2J"}}), "args.control");
  EXPECT_EQ(refusal_of({{"command", "echo a\r"}}), "args.control");
  EXPECT_EQ(refusal_of({{"args", {"ok", "a\xe2\x81\xa6"}}}), "args.bidi");
  EXPECT_EQ(refusal_of({{"file", {{"content", "a\nb"}}}}), "ok")
      << "what lies inside has its own name";
}

// Limit: kMaxCommandArgumentBytes of engine/calls/sanitizer.h
// Limit: kMaxNameArgumentBytes of engine/calls/sanitizer.h
TEST(InputSanitizer, TooLongNamesAndCommandsAreRefused) {
  EXPECT_EQ(refusal_of({{"path", std::string(kMaxNameArgumentBytes, 'a')}}), "ok");
  EXPECT_EQ(refusal_of({{"path", std::string(kMaxNameArgumentBytes + 1, 'a')}}),
            "limit.name_bytes");
  EXPECT_EQ(refusal_of({{"command", std::string(kMaxCommandArgumentBytes, 'a')}}), "ok");
  const auto error = input_refusal({{"command", std::string(kMaxCommandArgumentBytes + 1, 'a')}});
  EXPECT_EQ(error->reason, "limit.command_bytes");
  EXPECT_EQ(error->code, ToolErrorCode::kQuota);
  EXPECT_EQ(refusal_of({{"content", std::string(1 << 20, 'a')}}), "ok");
}

}  // namespace
}  // namespace galley
