// Reads any bytes as a stage folder: its `pool` up to the first NUL, and its `overlay` after that.
// Reading is bounded. Readable input is written back unchanged. Removing the stage touches nothing
// else.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/result.h"
#include "doubles/memory_directory.h"
#include "engine/commit/stage_directory.h"
#include "staging/overlay/overlay_file.h"

namespace {

using galley::RelPath;

constexpr const char* kId = "0123456789ab";

void put(const galley::WritableDirectory& directory, const std::string& name,
         std::string_view content) {
  const auto path = RelPath::parse(name);
  GALLEY_CHECK(path && make_directories(directory, path->parent(), 0755));
  const auto file = directory.open_writable_file(*path, galley::OpenMode::kCreateNew, 0644);
  GALLEY_CHECK(file && (*file)->write_at(0, content));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(input.find('\0'), size);
  const std::string_view overlay = split < size ? input.substr(split + 1) : std::string_view();

  // The last line is a checksum of the others. Without it, no generated input would be read.
  const std::string sealed =
      std::string(overlay) + "end " + galley::ContentId::of(overlay).hex() + "\n";
  static_cast<void>(galley::decode_entries(overlay));
  const auto entries = galley::decode_entries(sealed);
  if (entries) {
    const auto again = galley::decode_entries(galley::encode_entries(*entries));
    GALLEY_CHECK(again && *again == *entries);
  }

  const auto workspace = galley::make_memory_directory();
  put(*workspace, ".git/config", "canary");
  put(*workspace, "contents/canary", "canary");
  const auto state = galley::StateDirectory::open_or_create(*workspace);
  GALLEY_CHECK(state.has_value());
  put(*workspace, ".galley/" + state->own("contents/ba9876543210/x").str(), "canary");
  const std::string folder = ".galley/" + state->own(std::string("stage/") + kId).str();
  put(*workspace, folder + "/owner", "");
  put(*workspace, folder + "/overlay", sealed);
  put(*workspace, folder + "/pool", input.substr(0, split));
  static_cast<void>(list_stages(*state));
  static_cast<void>(unused_contents(*state));
  auto stage = galley::StageDirectory::adopt(*state, kId);
  if (stage) {
    static_cast<void>(stage->open_contents(*state));
    static_cast<void>(galley::StageDirectory::remove(*state, std::move(*stage)));
  }
  for (const char* name : {".git/config", "contents/canary"}) {
    const auto canary = read_file(*workspace, *RelPath::parse(name), 100);
    GALLEY_CHECK(canary && *canary == "canary");
  }
  return 0;
}
