#include "shim/far_side.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace k2k::shim {
namespace {

constexpr const char* library_name = "libk2k_io_router.so";

pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<bool> tried{false};
constinit std::atomic<const k2k_io_table*> table{nullptr};

// False if the path does not fit.
bool path_beside_us(char* path, std::size_t room) {
  Dl_info us{};
  if (dladdr(reinterpret_cast<const void*>(&path_beside_us), &us) == 0) return false;
  const char* const slash = std::strrchr(us.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - us.dli_fname);
  const int length = std::snprintf(path, room, "%.*s%s", folder, us.dli_fname, library_name);
  return length > 0 && static_cast<std::size_t>(length) < room;
}

struct Search {
  std::uintptr_t address;
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
};

// Of dl_iterate_phdr(): the executable segment that holds the address.
int find_code(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    if (search.address < first || search.address - first >= header.p_memsz) continue;
    search.first = first;
    search.last = first + header.p_memsz;
    return 1;
  }
  return 0;
}

void say_why(const char* path, const char* why) {
  dprintf(STDERR_FILENO,
          "k2k_io: %s: %s; reads into device memory go to libc. Install it beside libk2k_io.so, or "
          "name it in K2K_IO_LIBRARY\n",
          path, why);
}

void load() {
  char beside[PATH_MAX] = "";
  const char* path = secure_getenv("K2K_IO_LIBRARY");
  if (path == nullptr || *path == '\0') {
    path = path_beside_us(beside, sizeof beside) ? beside : library_name;
  }
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return say_why(path, dlerror());
  void* const symbol = dlsym(library, "k2k_io_table_get");
  if (symbol == nullptr) return say_why(path, "it has no k2k_io_table_get");

  Search search{.address = reinterpret_cast<std::uintptr_t>(symbol)};
  dl_iterate_phdr(find_code, &search);
  far_code.first.store(search.first, std::memory_order_relaxed);
  far_code.last.store(search.last, std::memory_order_relaxed);

  const k2k_io_table* const found =
      reinterpret_cast<decltype(&k2k_io_table_get)>(symbol)(k2k_io_table_version);
  if (found == nullptr) return say_why(path, std::strerror(errno));
  if (found->version != k2k_io_table_version || found->bytes < sizeof(k2k_io_table)) {
    return say_why(path, "it is of another version than libk2k_io.so");
  }
  table.store(found, std::memory_order_release);  // Pairs with the loads of far_side().
}

}  // namespace

constinit Code far_code;
thread_local constinit int Inside::depth_ = 0;

const k2k_io_table* far_side() {
  if (const k2k_io_table* const loaded = table.load(std::memory_order_acquire)) return loaded;
  if (tried.load(std::memory_order_acquire)) return nullptr;
  const Inside inside;
  pthread_mutex_lock(&loading);
  if (!tried.load(std::memory_order_relaxed)) {
    const int before = errno;
    load();
    errno = before;
    tried.store(true, std::memory_order_release);
  }
  pthread_mutex_unlock(&loading);
  return table.load(std::memory_order_acquire);
}

const k2k_io_table* far_side_if_loaded() { return table.load(std::memory_order_acquire); }

void far_side_before_fork() { pthread_mutex_lock(&loading); }

void far_side_after_fork(bool child) {
  const Inside inside;
  if (child) {
    if (const k2k_io_table* const far = far_side_if_loaded()) far->after_fork_child();
  }
  pthread_mutex_unlock(&loading);
}

}  // namespace k2k::shim
