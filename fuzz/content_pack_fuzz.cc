// Reads any bytes as a pack of staged contents. Every content in it has its id, and a writer can
// continue the pack.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doubles/memory_directory.h"
#include "staging/fs/content_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace galley;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<WritableDirectory> directory = make_memory_directory();
  {
    const auto pack =
        directory->open_writable_file(*RelPath::parse("pack-0"), OpenMode::kCreateNew);
    GALLEY_CHECK(pack.has_value() && (*pack)->write_at(0, input).has_value());
  }
  const ContentId wanted = ContentId::of("wanted");
  const auto before = make_disk_store(directory)->get(wanted);
  GALLEY_CHECK(!before || **before == "wanted");
  const auto id = make_disk_store(directory)->put("more");
  GALLEY_CHECK(id.has_value());
  const auto again = make_disk_store(directory);
  GALLEY_CHECK(**again->get(*id) == "more");
  GALLEY_CHECK(again->get(wanted).has_value() == before.has_value());
  return 0;
}
