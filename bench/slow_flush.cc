// Preload this into a program to make each of its flushes take GALLEY_FLUSH_MS milliseconds longer.
// This simulates a disk without a fast cache.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

int flush(const char* name, int descriptor) {
  const char* delay = std::getenv("GALLEY_FLUSH_MS");
  if (delay != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay)));
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(descriptor);
}

}  // namespace

extern "C" {
int fsync(int descriptor) { return flush("fsync", descriptor); }
int fdatasync(int descriptor) { return flush("fdatasync", descriptor); }
int syncfs(int descriptor) noexcept { return flush("syncfs", descriptor); }
}
