// Reads any bytes as a delta of a stored content, also with the right base and size in them.
// Reading is bounded, and returns the content with the wanted id or an error.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "doubles/memory_directory.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/content_delta.h"

namespace {

using galley::ContentId;

void put(const galley::WritableDirectory& directory, std::string_view content,
         std::string_view ending, std::string_view bytes) {
  const std::string hex = ContentId::of(content).hex();
  const auto path =
      galley::RelPath::parse("blob/own/" + hex.substr(0, 2) + "/" + hex + std::string(ending));
  GALLEY_CHECK(path && make_directories(directory, path->parent(), 0700));
  const auto file = directory.open_writable_file(*path, galley::OpenMode::kCreateNew, 0600);
  GALLEY_CHECK(file && (*file)->write_at(0, bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace galley;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const RelPath place = *RelPath::parse("blob/own");
  const std::string base = "the base of the delta\n";
  const std::string wanted = "the base of a delta\n";
  ContentDelta right = ContentDelta::whole(ContentId::of(base), base.size());
  right.size = wanted.size();
  right.pieces.clear();
  const std::string head = right.encode(wanted);
  std::string patched(input);
  patched.replace(0, head.size() - sizeof(uint32_t), head, 0, head.size() - sizeof(uint32_t));
  for (const std::string_view bytes : {input, std::string_view(patched)}) {
    const auto delta = parse_delta(bytes.substr(0, kDeltaHeadBytes), bytes.size());
    if (delta) GALLEY_CHECK(delta->encoded_bytes() == bytes.size());
    const auto state = make_memory_directory();
    put(*state, base, "", base);
    put(*state, wanted, kDeltaEnding, bytes);
    const auto content = read_blob(*state, place, ContentId::of(wanted));
    GALLEY_CHECK(!content || **content == wanted);
    const ReplacedContent replaced{ContentId::of(base), base};
    GALLEY_CHECK(write_blob(*state, place, ContentId::of(wanted), wanted, replaced).has_value());
    GALLEY_CHECK(**read_blob(*state, place, ContentId::of(wanted)) == wanted);
  }
  return 0;
}
