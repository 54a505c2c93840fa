// Reads every source of every room and checks it against the rules of docs/ARCHITECTURE.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/architecture/layout.h"
#include "tests/architecture/rules.h"
#include "tests/architecture/source_text.h"
#include "tests/architecture/type_names.h"
#include "tests/architecture/write_access.h"

namespace galley::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GALLEY_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Source {
  std::string path;
  std::string text;
};

/// Every .h and .cc of the rooms.
const std::vector<Source>& sources() {
  static const std::vector<Source> all = [] {
    std::vector<Source> found;
    for (const Room& room : rooms()) {
      if (!fs::exists(kRoot / room.folder)) continue;
      for (const auto& entry : fs::directory_iterator(kRoot / room.folder)) {
        const std::string extension = entry.path().extension();
        if (extension != ".h" && extension != ".cc") continue;
        found.push_back(
            {room.folder + "/" + entry.path().filename().string(), text_of(entry.path())});
      }
    }
    for (const auto& [header, room] : installed_headers()) {
      found.push_back({"include/" + header, text_of(kRoot / "include" / header)});
    }
    return found;
  }();
  return all;
}

std::string joined(const Violations& violations) {
  std::string text;
  for (const std::string& violation : violations) text += "\n  " + violation;
  return text;
}

template <class Rule>
Violations broken_by_all(Rule rule) {
  Violations all;
  for (const Source& source : sources()) {
    const Violations found = rule(source);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

TEST(Rooms, TableEqualsCMakeLists) {
  const auto declared = rooms_in_cmake(text_of(kRoot / "CMakeLists.txt"));
  ASSERT_EQ(declared.size(), rooms().size());
  for (size_t i = 0; i < declared.size(); ++i) {
    EXPECT_EQ(declared[i].folder, rooms()[i].folder);
    EXPECT_EQ(declared[i].depends, rooms()[i].depends) << declared[i].folder;
  }
}

TEST(Rooms, TheDrawingOnTheArchitecturePageMatchesCMake) {
  std::vector<std::string> drawn = rooms_in_drawing(text_of(kRoot / "docs/ARCHITECTURE.md"));
  std::reverse(drawn.begin(), drawn.end());
  std::vector<std::string> declared;
  for (const Room& room : rooms_in_cmake(text_of(kRoot / "CMakeLists.txt"))) {
    declared.push_back(room.folder);
  }
  EXPECT_EQ(drawn, declared);
}

TEST(Rooms, EachDependsOnlyOnRoomsListedBeforeIt) {
  std::set<std::string> seen;
  for (const Room& room : rooms()) {
    for (const std::string& below : room.depends) {
      EXPECT_EQ(seen.count(below), 1U) << room.folder << " -> " << below;
    }
    seen.insert(room.folder);
  }
}

TEST(Rooms, EverySourceBelongsToARoom) {
  Violations strays;
  for (const char* top : {"base", "staging", "tools", "engine", "testing", "server", "cli"}) {
    if (!fs::exists(kRoot / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string path = fs::relative(entry.path(), kRoot).string();
      const std::string extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      if (room_of(path) != fs::path(path).parent_path().string()) strays.push_back(path);
    }
  }
  EXPECT_TRUE(strays.empty()) << joined(strays);
}

TEST(Rooms, NoRoomIncludesARoomAboveIt) {
  ASSERT_GT(sources().size(), 20U);
  const auto broken = broken_by_all([](const Source& s) { return upward_arrows(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, EachLibraryHasOneDoor) {
  const auto broken = broken_by_all([](const Source& s) { return wrong_doors(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, TheTableOfDoorsOnTheArchitecturePageIsTheCheckedOne) {
  std::map<std::string, std::set<std::string>> checked;
  for (const Door& door : library_doors()) {
    checked[door.header] = {door.places.begin(), door.places.end()};
  }
  EXPECT_EQ(doors_in_page(text_of(kRoot / "docs/ARCHITECTURE.md")), checked);
}

TEST(Rooms, EveryPlaceOfADoorIsUsed) {
  for (const Door& door : library_doors()) {
    for (const std::string place : door.places) {
      const bool is_used = std::any_of(sources().begin(), sources().end(), [&](const Source& s) {
        return s.path.starts_with(place) &&
               s.text.find(std::string("#include <") + door.header) != std::string::npos;
      });
      EXPECT_TRUE(is_used) << door.header << " in " << place;
    }
  }
}

TEST(Rooms, OnlyTheCommandLineWritesToTheStreams) {
  const auto broken =
      broken_by_all([](const Source& s) { return output_of_the_library(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, HeadersHaveNoForeignTypes) {
  const auto broken =
      broken_by_all([](const Source& s) { return foreign_types_in_header(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, EveryInstalledHeaderBelongsToARoom) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "include")) {
    if (entry.is_directory()) continue;
    ++count;
    const std::string header = fs::relative(entry.path(), kRoot / "include").string();
    EXPECT_EQ(installed_headers().count(header), 1U) << header;
  }
  EXPECT_EQ(count, installed_headers().size());
  const std::string install = text_of(kRoot / "cmake/install.cmake");
  EXPECT_EQ(install.find(".h\""), install.find("*.h\"") + 1) << "something else is installed";
}

TEST(Rooms, InstalledHeadersUseOnlyInstalledTypes) {
  std::map<std::string, std::string> headers;
  std::set<std::string> installed;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "include")) {
    if (entry.is_directory()) continue;
    const std::string& text = headers[entry.path()] = text_of(entry.path());
    const auto types = namespace_types(text);
    installed.insert(types.begin(), types.end());
  }
  EXPECT_TRUE(installed.contains("Transaction"));
  Violations broken;
  for (const auto& [path, text] : headers) {
    const Violations here = inner_types(path, text, installed);
    broken.insert(broken.end(), here.begin(), here.end());
  }
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, OnlyFsAndSandboxCallTheSystem) {
  const auto broken =
      broken_by_all([](const Source& s) { return raw_system_calls(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Rooms, StagingToolsAndValidatorsCannotWrite) {
  const auto broken = broken_by_all([](const Source& s) { return write_access(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Headers, NoTwoTypesHaveOneName) {
  std::map<std::string, std::string> homes;
  Violations repeated;
  for (const Source& source : sources()) {
    if (fs::path(source.path).extension() != ".h") continue;
    for (const std::string& name : namespace_types(source.text)) {
      const auto [known, is_new] = homes.emplace(name, source.path);
      if (!is_new) repeated.push_back(name + " in " + known->second + " and " + source.path);
    }
  }
  EXPECT_GT(homes.size(), 300U);
  EXPECT_TRUE(repeated.empty()) << joined(repeated);
}

// Sources of a room are compiled together (docs/adr/0092), where an anonymous constant is found
// before one that another file takes from a namespace of a header.
TEST(Headers, NoConstantOfASourceHidesAConstantOfItsRoom) {
  const std::regex in_header(R"(\ninline constexpr [^=\n{(]*?\b(k[A-Z]\w*)(\[\w*\])? ?[={])");
  const std::regex in_source(R"(\nconstexpr [^=\n{(]*?\b(k[A-Z]\w*)(\[\w*\])? ?[={])");
  const auto names = [](const std::string& text, const std::regex& pattern) {
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
      found.insert((*at)[1]);
    }
    return found;
  };
  std::set<std::pair<std::string, std::string>> of_headers;
  for (const Source& source : sources()) {
    if (fs::path(source.path).extension() != ".h") continue;
    for (const std::string& name : names(source.text, in_header)) {
      of_headers.emplace(room_of(source.path), name);
    }
  }
  EXPECT_TRUE(of_headers.contains({"engine/commit", "kHeaderBytes"}));
  const auto broken = broken_by_all([&](const Source& s) -> Violations {
    Violations hidden;
    if (fs::path(s.path).extension() != ".cc") return hidden;
    for (const std::string& name : names(s.text, in_source)) {
      if (of_headers.contains({room_of(s.path), name})) hidden.push_back(s.path + " hides " + name);
    }
    return hidden;
  });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Style, FilesAndFunctionsStayShort) {
  const auto broken = broken_by_all([](const Source& s) { return too_long(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Style, EverySourceBelongsToAHeaderOfItsName) {
  std::set<std::string> headers;
  for (const Source& source : sources()) {
    const fs::path path = source.path;
    if (path.extension() != ".h") continue;
    headers.insert(source.path);
    // The functions of an installed header are in the room that it belongs to.
    headers.insert(room_of(source.path) + "/" + path.filename().string());
  }
  const auto broken = broken_by_all([&headers](const Source& s) -> Violations {
    const fs::path path = s.path;
    if (path.extension() != ".cc" || path.stem() == "main") return {};
    if (room_of(s.path) == "cli") return {};  // a file a command
    if (!header_of_source(s.path, headers).empty()) return {};
    return {s.path + " belongs to no header"};
  });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Style, ContractsKeepTheirForm) {
  const auto broken =
      broken_by_all([](const Source& s) { return badly_laid_out_comments(s.path, s.text); });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

TEST(Style, OwnHeadersComeFirstAndNamesAreNotVague) {
  const auto broken = broken_by_all([](const Source& s) {
    fs::path header = kRoot / s.path;
    header.replace_extension(".h");
    const bool has_own_header = fs::path(s.path).extension() == ".cc" && fs::exists(header);
    return bad_manners(s.path, s.text, has_own_header);
  });
  EXPECT_TRUE(broken.empty()) << joined(broken);
}

}  // namespace
}  // namespace galley::architecture
