#pragma once

// A custom tool in a few lines. A struct describes its arguments once; the JSON Schema, the reader
// and the writer are made from that description.
#include <galley/galley.h>

#include <algorithm>
#include <string>
#include <string_view>

struct Sum {
  std::string expression;
  static void describe(auto& field) {
    field("expression", &Sum::expression, "Mathematical expression to evaluate")
        .pattern("^[-0-9+*/(). ]+$")
        .max_length(1000)
        .examples({"2 + 2", "10 * (5 + 3)"});
  }
};

struct Answer {
  std::string expression;
  double answer = 0;
  static void describe(auto& field) {
    field("expression", &Answer::expression);
    field("answer", &Answer::answer);
  }
};

inline galley::Result<double> evaluate(std::string_view text);

inline galley::ToolDefinition calculator() {
  galley::ToolInfo info;
  info.name = "calculator";
  info.title = "Calculator";
  info.description = "Perform arithmetic calculations";
  info.security_tier = galley::ToolInfo::Tier::kSafe;
  return galley::define_tool<Sum, Answer>(
      info, [](const Sum& sum, galley::ToolRun&) -> galley::Result<Answer> {
        const auto value = evaluate(sum.expression);
        if (!value) return value.error();
        return Answer{sum.expression, *value};
      });
}

/// Evaluates + - * / and brackets by recursive descent. The nesting depth is limited because the
/// text comes from an agent.
class Expression {
 public:
  explicit Expression(std::string_view text) : rest_(text) {}

  galley::Result<double> value() {
    const auto found = sum(0);
    if (found && !next().empty()) return wrong("there is something behind it");
    return found;
  }

 private:
  static constexpr int kDeepest = 100;

  static galley::Error wrong(const std::string& why) {
    // kInvalid would mean that the arguments do not conform to the schema.
    return {galley::ErrorKind::kNotFound, "calculator.expression",
            "the expression cannot be worked out: " + why};
  }
  std::string_view next() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_;
  }
  bool take(char sign) {
    if (!next().starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  galley::Result<double> sum(int depth) {
    auto left = product(depth);
    while (left && !next().empty()) {
      const double sign = take('+') ? 1 : take('-') ? -1 : 0;
      if (sign == 0) break;
      const auto right = product(depth);
      if (!right) return right;
      *left += sign * *right;
    }
    return left;
  }
  galley::Result<double> product(int depth) {
    auto left = factor(depth);
    while (left) {
      const bool divides = take('/');
      if (!divides && !take('*')) break;
      const auto right = factor(depth);
      if (!right) return right;
      if (divides && *right == 0) return wrong("it divides by zero");
      *left = divides ? *left / *right : *left * *right;
    }
    return left;
  }
  galley::Result<double> factor(int depth) {
    if (depth > kDeepest) return wrong("its brackets are nested too deep");
    if (take('-')) {
      const auto value = factor(depth + 1);
      return value ? galley::Result<double>(-*value) : value;
    }
    if (!take('(')) return number();
    const auto value = sum(depth + 1);
    if (value && !take(')')) return wrong("a bracket is not closed");
    return value;
  }
  galley::Result<double> number() {
    const size_t length = std::min(next().find_first_not_of("0123456789."), rest_.size());
    const std::string digits(rest_.substr(0, length));
    if (digits.find_first_of("0123456789") == std::string::npos ||
        digits.find('.') != digits.rfind('.')) {
      return wrong("a number is missing");
    }
    rest_.remove_prefix(length);
    return std::stod(digits);
  }

  std::string_view rest_;
};

inline galley::Result<double> evaluate(std::string_view text) { return Expression(text).value(); }
