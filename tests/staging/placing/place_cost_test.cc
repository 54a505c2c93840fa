// Counts the bytes that the search for the places of edits allocates. It measures no time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "staging/placing/place.h"

namespace {
thread_local size_t bytes_allocated = 0;

void* counted_or_null(size_t bytes) {
  bytes_allocated += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
}  // namespace

void* operator new(size_t bytes) {
  void* memory = counted_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace galley {
namespace {

/// The bytes that are allocated for edits none of which fits `file`.
size_t bytes_for(size_t edits, const std::string& file) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < edits; ++i) texts.push_back(file.substr(i * 2, 90) + "c");
  FileEdit edit;
  for (const std::string& text : texts) {
    TextEdit one;
    one.old_text = text;
    one.new_text = "changed\n";
    edit.text_edits.push_back(one);
  }
  const size_t before = bytes_allocated;
  EXPECT_EQ(place_edits(file, edit, {}).failures.size(), edits);
  return bytes_allocated - before;
}

TEST(PlaceCost, EditsThatDoNotFitShareTheIndexesOfTheFile) {
  std::string file;
  for (size_t i = 0; file.size() < (1U << 20U); ++i) file += (i * i / 7) % 3 == 0 ? "a\n" : "b\n";
  const size_t few = bytes_for(2, file);
  const size_t many = bytes_for(12, file);
  EXPECT_LT((many - few) / 10, 2 * file.size());
}

}  // namespace
}  // namespace galley
