// A tool of one's own in ten lines: a struct describes its arguments once, and the JSON Schema, the
// reading and the writing are made of that.
//   example_calculator WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <iostream>
#include <string>
#include <string_view>

namespace {

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

galley::Result<double> evaluate(std::string_view text);

galley::ToolDefinition calculator() {
  return galley::define_tool<Sum, Answer>(
      "calculator", "Perform arithmetic calculations",
      [](const Sum& sum, galley::ToolRun&) -> galley::Result<Answer> {
        const auto value = evaluate(sum.expression);
        if (!value) return value.error();
        return Answer{sum.expression, *value};
      });
}

/// + - * / and brackets, by recursive descent; nesting is bounded, since the text is an agent's.
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
    return {galley::ErrorKind::kInvalid, "calculator.expression",
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

galley::Result<double> evaluate(std::string_view text) { return Expression(text).value(); }

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

int run(const std::string& directory) {
  galley::WorkspaceOptions options;
  options.tools.push_back(calculator());
  std::cout << options.tools.back().info.input_schema << "\n";
  auto workspace = galley::Workspace::open(directory, options);
  if (!workspace) return stop(workspace.error());
  auto transaction = (*workspace)->begin({.agent = "example"});
  if (!transaction) return stop(transaction.error());
  const auto show = [&](const std::string& arguments) {
    const auto called = transaction->call("calculator", arguments);
    std::cout << (called ? called.json() : called.error().reason + ": " + called.error().message)
              << "\n";
  };
  show(R"j({"expression": "10 * (5 + 3)"})j");
  show(R"j({"expression": "evil()"})j");
  show(R"j({"expresion": "1"})j");
  show(R"j({"expression": "1 / (2 - 2)"})j");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
