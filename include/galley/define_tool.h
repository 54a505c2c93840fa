#pragma once

#include <galley/tool.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

/// Defines a tool from two structs and a function (docs/library.md). A struct describes its members
/// once. Galley derives the JSON Schema from this description, and reads and writes the JSON.
///
///     struct Sum {
///       std::string expression;
///       static void describe(auto& field) {
///         field("expression", &Sum::expression, "what to work out").max_length(1000);
///       }
///     };
///     auto tool = galley::define_tool<Sum, Answer>("calculator", "Works out an expression",
///         [](const Sum& sum, galley::ToolRun&) -> galley::Result<Answer> { … });
namespace galley {

/// The JSON form of a tool's structs. A member may be a bool, an integer, a floating-point number,
/// a std::string, an enumeration, a described struct, or a std::optional, std::vector or
/// std::map<std::string, …> of those.
///
/// Invariant: read() accepts every text that conforms to schema(), and write() returns only such
///            texts.
/// Ownership: a value; it keeps no reference to the structs.
/// Threads:   immutable after construction, safe to share.
class ToolDefinition::Shape {
  template <class T>
  struct Traits {
    using Bare = T;
    using Item = void;
    static constexpr bool kIsOptional = false;
    static constexpr bool kIsList = false;
    static constexpr bool kIsMap = false;
  };
  template <class T>
  struct Traits<std::optional<T>> : Traits<T> {
    static constexpr bool kIsOptional = true;
  };
  template <class T>
  struct Traits<std::vector<T>> : Traits<void> {
    using Bare = std::vector<T>;
    using Item = T;
    static constexpr bool kIsList = true;
  };
  template <class T>
  struct Traits<std::map<std::string, T>> : Traits<void> {
    using Bare = std::map<std::string, T>;
    using Item = T;
    static constexpr bool kIsMap = true;
  };
  template <class T>
  using bare = typename Traits<T>::Bare;
  template <class T>
  using item_of = typename Traits<T>::Item;
  template <class T>
  static constexpr bool is_optional = Traits<T>::kIsOptional;
  template <class T>
  static constexpr bool is_list = Traits<T>::kIsList;
  template <class T>
  static constexpr bool is_map = Traits<T>::kIsMap;
  template <class T>
  static constexpr bool is_text = std::same_as<bare<T>, std::string>;
  template <class T>
  static constexpr bool is_number = std::is_arithmetic_v<bare<T>> && !std::same_as<bare<T>, bool>;

  /// The description of one member, or of each item of a list or map.
  struct Member {
    std::string name;
    std::string description;
    size_t node = 0;
    std::function<void*(void*)> place;  ///< address of the member in its struct
    bool is_required = true;
    bool has_default = false;                                ///< the schema shows the default
    std::vector<std::pair<std::string, double>> bounds;      ///< keywords with a number
    std::vector<std::pair<std::string, std::string>> words;  ///< keywords with a text
    bool is_unique = false;
    std::vector<std::string> texts;                        ///< the allowed values; empty: any
    std::vector<std::pair<std::string, int64_t>> choices;  ///< names of enumerators
    std::vector<std::shared_ptr<const void>> examples;
    std::shared_ptr<Member> items;  ///< description of each item of a list or map
  };

 public:
  /// Returns the shape of a struct that has `static void describe(auto& field)`.
  template <class Struct>
  static Shape of() {
    Shape shape;
    shape.root_ = shape.node_of<Struct>();
    return shape;
  }

  /// Returns the text of a JSON Schema 2020-12 with `type: object`. It forbids unknown members.
  [[nodiscard]] std::string schema() const;
  /// Reads a JSON object into `object`, a default-constructed value of the described type.
  /// Errors: kInvalid `args.schema`, which names the member, and `json.*`.
  Result<void> read(std::string_view text, void* object) const;
  /// Returns the JSON text of `object`.
  /// Errors: kInternal `tool.output` for a text that is not UTF-8, a number that JSON cannot
  ///         express, or an enumerator without a name.
  [[nodiscard]] Result<std::string> write(const void* object) const;

  /// Adds constraints to the schema of a member of type T. Each function returns the same field.
  template <class T>
  class Field {
   public:
    explicit Field(Member& member) : member_(&member) {}

    Field& minimum(double least) requires is_number<T> { return bound("minimum", least); }
    Field& maximum(double most) requires is_number<T> { return bound("maximum", most); }
    /// Lengths count characters, as in JSON Schema.
    Field& min_length(size_t least) requires is_text<T> {
      return bound("minLength", static_cast<double>(least));
    }
    Field& max_length(size_t most) requires is_text<T> {
      return bound("maxLength", static_cast<double>(most));
    }
    /// An RE2 expression. Without ^ and $ it may match any part of the text.
    Field& pattern(std::string expression) requires is_text<T> {
      return word("pattern", std::move(expression));
    }
    /// uri, date-time, email, uuid and regex are validated; other formats are only documentation.
    Field& format(std::string name) requires is_text<T> { return word("format", std::move(name)); }
    Field& one_of(std::initializer_list<std::string> texts) requires is_text<T> {
      member_->texts = texts;
      return *this;
    }
    /// The JSON names of the enumerators. An enumerator without a name cannot be read or written.
    Field& one_of(std::initializer_list<std::pair<std::string, bare<T>>> names) requires
        std::is_enum_v<bare<T>> {
      for (const auto& [name, value] : names) {
        member_->choices.emplace_back(name, static_cast<int64_t>(value));
      }
      return *this;
    }
    Field& min_items(size_t least) requires is_list<T> {
      return bound("minItems", static_cast<double>(least));
    }
    Field& max_items(size_t most) requires is_list<T> {
      return bound("maxItems", static_cast<double>(most));
    }
    Field& unique_items() requires is_list<T> {
      member_->is_unique = true;
      return *this;
    }
    /// The member may be omitted. It then has the value of a default-constructed struct, which the
    /// schema shows as its default.
    Field& optional() requires(!is_optional<T>) {
      member_->is_required = false;
      member_->has_default = true;
      return *this;
    }
    Field& examples(std::initializer_list<bare<T>> values) {
      for (const auto& value : values) {
        member_->examples.push_back(std::make_shared<const bare<T>>(value));
      }
      return *this;
    }
    /// Describes each item of a list, or each value of a map.
    [[nodiscard]] auto each() requires(is_list<T> || is_map<T>) {
      if (!member_->items) member_->items = std::make_shared<Member>();
      return Field<item_of<T>>(*member_->items);
    }

   private:
    Field& bound(const char* keyword, double value) {
      member_->bounds.emplace_back(keyword, value);
      return *this;
    }
    Field& word(const char* keyword, std::string value) {
      member_->words.emplace_back(keyword, std::move(value));
      return *this;
    }
    Member* member_;
  };

  /// The argument of `describe`. Call it once for each member.
  template <class Struct>
  class Fields {
   public:
    Fields(Shape& shape, size_t node) : shape_(&shape), node_(node) {}

    template <class T, class Owner>
    requires std::derived_from<Struct, Owner> Field<T>
    operator()(std::string_view name, T Owner::*member, std::string_view description = {}) {
      const size_t node = shape_->template node_of<T>();
      Member& added = shape_->nodes_[node_].members.emplace_back();
      added.name = name;
      added.description = description;
      added.node = node;
      added.is_required = !is_optional<T>;
      added.place = [member](void* object) -> void* {
        return &(static_cast<Struct*>(object)->*member);
      };
      return Field<T>(added);
    }

   private:
    Shape* shape_;
    size_t node_;
  };

 private:
  enum class Kind : uint8_t {
    kFlag,
    kInteger,
    kNumber,
    kText,
    kChoice,
    kOptional,
    kList,
    kMap,
    kObject,
  };

  /// The description of one type. Functions that do not apply to its kind are null.
  struct Node {
    Kind kind = Kind::kObject;
    size_t item = 0;                                      ///< type of the value, item or map value
    std::deque<Member> members;                           ///< of an object
    int64_t least = std::numeric_limits<int64_t>::min();  ///< range of an integer
    int64_t most = std::numeric_limits<int64_t>::max();
    int64_t (*integer)(const void*) = nullptr;
    void (*set_integer)(void*, int64_t) = nullptr;
    double (*number)(const void*) = nullptr;
    void (*set_number)(void*, double) = nullptr;
    void* (*add)(void*, const std::string& key) = nullptr;  ///< adds an item; returns its address
    /// Calls `visit` for each item.
    void (*visit)(const void*,
                  const std::function<void(const std::string& key, const void*)>& visit) = nullptr;
    std::shared_ptr<void> (*make)() = nullptr;  ///< a default-constructed object
  };

  template <class T>
  size_t node_of() {
    const auto [known, is_new] = known_.try_emplace(std::type_index(typeid(T)), nodes_.size());
    const size_t index = known->second;
    if (!is_new) return index;
    Node& node = nodes_.emplace_back();  // a deque: the reference stays valid
    if constexpr (is_optional<T> || is_list<T> || is_map<T>) {
      add_container<T>(node);
    } else if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T> || is_text<T>) {
      add_scalar<T>(node);
    } else {
      static_assert(
          requires(Fields<T> & fields) { T::describe(fields); },
          "a member is of no type that has a shape in JSON: give its struct a "
          "`static void describe(auto& field)`");
      node.make = [] { return std::static_pointer_cast<void>(std::make_shared<T>()); };
      Fields<T> fields(*this, index);
      T::describe(fields);
    }
    return index;
  }

  template <class T>
  void add_scalar(Node& node) {
    if constexpr (is_text<T>) {
      node.kind = Kind::kText;
    } else if constexpr (std::same_as<T, bool>) {
      node.kind = Kind::kFlag;
    } else if constexpr (std::is_floating_point_v<T>) {
      node.kind = Kind::kNumber;
      node.number = [](const void* at) { return static_cast<double>(*static_cast<const T*>(at)); };
      node.set_number = [](void* at, double value) {
        *static_cast<T*>(at) = static_cast<T>(value);
      };
    } else {
      node.kind = std::is_enum_v<T> ? Kind::kChoice : Kind::kInteger;
      node.integer = [](const void* at) {
        return static_cast<int64_t>(*static_cast<const T*>(at));
      };
      node.set_integer = [](void* at, int64_t value) {
        *static_cast<T*>(at) = static_cast<T>(value);
      };
      if constexpr (std::is_integral_v<T>) {
        constexpr T kMost = std::numeric_limits<T>::max();
        node.least = static_cast<int64_t>(std::numeric_limits<T>::min());
        node.most = std::cmp_greater(kMost, std::numeric_limits<int64_t>::max())
                        ? std::numeric_limits<int64_t>::max()
                        : static_cast<int64_t>(kMost);
      }
    }
  }

  template <class T>
  void add_container(Node& node) {
    if constexpr (is_optional<T>) {
      using Item = typename T::value_type;
      static_assert(!is_optional<Item>, "an optional of an optional has no shape in JSON");
      node.kind = Kind::kOptional;
      node.item = node_of<Item>();
      node.add = [](void* at, const std::string&) -> void* {
        return &static_cast<T*>(at)->emplace();
      };
      node.visit = [](const void* at, const auto& visit) {
        if (const T& value = *static_cast<const T*>(at); value) visit({}, &*value);
      };
    } else if constexpr (is_list<T>) {
      static_assert(!std::same_as<T, std::vector<bool>>, "std::vector<bool> has no items");
      static_assert(!is_optional<item_of<T>>, "an item of a list is there or it is not");
      node.kind = Kind::kList;
      node.item = node_of<item_of<T>>();
      node.add = [](void* at, const std::string&) -> void* {
        return &static_cast<T*>(at)->emplace_back();
      };
      node.visit = [](const void* at, const auto& visit) {
        for (const auto& item : *static_cast<const T*>(at)) visit({}, &item);
      };
    } else {
      static_assert(!is_optional<item_of<T>>, "a value of a map is there or it is not");
      node.kind = Kind::kMap;
      node.item = node_of<item_of<T>>();
      node.add = [](void* at, const std::string& key) -> void* {
        return &(*static_cast<T*>(at))[key];
      };
      node.visit = [](const void* at, const auto& visit) {
        for (const auto& [key, item] : *static_cast<const T*>(at)) visit(key, &item);
      };
    }
  }

  friend class ShapeSchema;
  friend class ShapeReader;
  friend class ShapeWriter;

  std::deque<Node> nodes_;
  std::map<std::type_index, size_t> known_;
  size_t root_ = 0;
};

/// Defines a tool by a function `Result<Output>(const Input&, ToolRun&)`. If the function cannot
/// fail, it may return an Output. If it does not need the ToolRun, it may omit it. define_tool()
/// sets the two schemas of `info`; the caller sets the other members.
///
/// Errors: the caller of the tool gets the reason and message of an Error of the function; its kind
///         decides the error code. An exception becomes `tool.threw`: its text is recorded, but not
///         returned.
template <class Input, class Output, class Function>
requires std::invocable<const Function&, const Input&, ToolRun&> ||
    std::invocable<const Function&, const Input&>
[[nodiscard]] ToolDefinition define_tool(ToolInfo info, Function function) {
  const auto input =
      std::make_shared<const ToolDefinition::Shape>(ToolDefinition::Shape::of<Input>());
  const auto output =
      std::make_shared<const ToolDefinition::Shape>(ToolDefinition::Shape::of<Output>());
  ToolDefinition definition;
  definition.info = std::move(info);
  if (definition.info.title.empty()) definition.info.title = definition.info.name;
  definition.info.input_schema = input->schema();
  definition.info.output_schema = output->schema();
  definition.run = [input, output,
                    function = std::move(function)](ToolRun& call) -> Result<std::string> {
    Input asked{};
    if (auto read = input->read(call.arguments(), &asked); !read) return read.error();
    const auto answer = [&] {
      if constexpr (std::invocable<const Function&, const Input&, ToolRun&>) {
        return function(std::as_const(asked), call);
      } else {
        return function(std::as_const(asked));
      }
    }();
    if constexpr (std::convertible_to<decltype(answer), const Output&>) {
      return output->write(&static_cast<const Output&>(answer));
    } else {
      if (!answer) return answer.error();
      return output->write(&static_cast<const Output&>(*answer));
    }
  };
  return definition;
}

template <class Input, class Output, class Function>
[[nodiscard]] ToolDefinition define_tool(std::string name, std::string description,
                                         Function function) {
  ToolInfo info;
  info.name = std::move(name);
  info.description = std::move(description);
  return define_tool<Input, Output>(std::move(info), std::move(function));
}

}  // namespace galley
