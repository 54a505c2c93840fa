#include "server/session/bounded_structure.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

/// How much of each text and each list stays.
struct Caps {
  size_t text_bytes;
  size_t items;
};
/// From generous to strict; the first that makes it short enough is taken.
constexpr std::array<Caps, 8> kSteps = {{{24'000, 1'000},
                                         {12'000, 500},
                                         {6'000, 200},
                                         {3'000, 100},
                                         {1'500, 50},
                                         {600, 25},
                                         {200, 10},
                                         {60, 3}}};
constexpr size_t kMaxNamedPlaces = 20;

/// The beginning of a text, up to the end of a line where there is one.
std::string beginning_of(std::string_view text, size_t most) {
  size_t end = text.rfind('\n', most - 1);
  end = end == std::string_view::npos ? most : end + 1;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

class Cutter {
 public:
  explicit Cutter(Caps caps) : caps_(caps) {}

  ordered_json cut(const ordered_json& value, const std::string& place) {
    if (value.is_string()) return cut_text(value.get_ref<const std::string&>(), place);
    if (value.is_array()) return cut_list(value, place);
    if (!value.is_object()) return value;
    ordered_json out = ordered_json::object();
    for (const auto& [key, member] : value.items()) out[key] = cut(member, place + "/" + key);
    return out;
  }

  /// What is missing, by place.
  [[nodiscard]] ordered_json left_out() && {
    if (unnamed_ > 0) places_["more"] = std::to_string(unnamed_) + " more places";
    return std::move(places_);
  }

 private:
  ordered_json cut_text(const std::string& text, const std::string& place) {
    if (text.size() <= caps_.text_bytes) return text;
    std::string kept = beginning_of(text, caps_.text_bytes);
    note(place, "bytes", text.size() - kept.size());
    return kept;
  }
  ordered_json cut_list(const ordered_json& list, const std::string& place) {
    ordered_json out = ordered_json::array();
    for (size_t i = 0; i < std::min(list.size(), caps_.items); ++i) {
      out.push_back(cut(list[i], place + "/" + std::to_string(i)));
    }
    if (out.size() < list.size()) note(place, "items", list.size() - out.size());
    return out;
  }
  void note(const std::string& place, const char* unit, size_t missing) {
    if (places_.size() >= kMaxNamedPlaces) {
      ++unnamed_;
      return;
    }
    places_[place] = "the last " + std::to_string(missing) + " " + unit + "; ask for a part of it";
  }

  Caps caps_;
  ordered_json places_ = ordered_json::object();
  size_t unnamed_ = 0;
};

}  // namespace

ordered_json bounded_structure(ordered_json structure) {
  if (json_text(structure).size() <= kMaxStructureText) return structure;
  for (const Caps& caps : kSteps) {
    Cutter cutter(caps);
    const ordered_json cut = cutter.cut(structure, "");
    ordered_json out;
    out["leftOut"] = std::move(cutter).left_out();
    out.update(cut);
    if (json_text(out).size() <= kMaxStructureText) return out;
  }
  ordered_json out;
  out["leftOut"][""] = "all of it; ask for a part of it";
  return out;
}

}  // namespace galley
