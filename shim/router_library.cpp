#include "shim/router_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
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

// The path from which Linux mapped this library: absolute, independent of LD_PRELOAD's text and of
// the program's present folder. Returns false if the path is unknown or does not fit.
bool path_of_us(char* path, std::size_t room) {
  const auto here = reinterpret_cast<std::uintptr_t>(&path_of_us);
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  char line[PATH_MAX + 128];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long first = 0;
    unsigned long last = 0;
    int name = 0;
    if (std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &first, &last, &name) < 2) continue;
    if (here < first || here >= last || line[name] != '/') continue;
    line[std::strcspn(line, "\n")] = '\0';
    const int length = std::snprintf(path, room, "%s", line + name);
    found = length > 0 && static_cast<std::size_t>(length) < room;
  }
  std::fclose(maps);
  return found;
}

// The router library lies beside this library and belongs to the same user, or to root. Returns the
// reason why it does not, or nullptr.
const char* find_beside_us(char* path, std::size_t room) {
  struct stat us{};
  struct stat router{};
  if (!path_of_us(path, room) || stat(path, &us) != 0) return "the path of libk2k_io.so is unknown";
  char* const name = std::strrchr(path, '/') + 1;
  const auto left = room - static_cast<std::size_t>(name - path);
  if (std::snprintf(name, left, "%s", library_name) >= static_cast<int>(left)) {
    return "the path is too long";
  }
  if (stat(path, &router) != 0) return std::strerror(errno);
  if (router.st_uid != us.st_uid && router.st_uid != 0)
    return "its owner is not libk2k_io.so's owner";
  return nullptr;
}

struct Search {
  std::uintptr_t address;
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
};

// For dl_iterate_phdr(): finds the executable segment that contains the address.
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
    const char* const why = find_beside_us(beside, sizeof beside);
    path = beside[0] != '\0' ? beside : library_name;
    if (why != nullptr) return say_why(path, why);
  } else if (*path != '/' && std::strchr(path, '/') != nullptr) {
    return say_why(path, "K2K_IO_LIBRARY must be an absolute path or a name without slashes");
  }
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return say_why(path, dlerror());
  void* const symbol = dlsym(library, "k2k_io_table_get");
  if (symbol == nullptr) return say_why(path, "it lacks the symbol k2k_io_table_get");

  Search search{.address = reinterpret_cast<std::uintptr_t>(symbol)};
  dl_iterate_phdr(find_code, &search);
  router_code.first.store(search.first, std::memory_order_relaxed);
  router_code.last.store(search.last, std::memory_order_relaxed);

  const k2k_io_table* const found =
      reinterpret_cast<decltype(&k2k_io_table_get)>(symbol)(k2k_io_table_version);
  if (found == nullptr) return say_why(path, std::strerror(errno));
  if (found->version != k2k_io_table_version || found->bytes < sizeof(k2k_io_table)) {
    return say_why(path, "its version differs from that of libk2k_io.so");
  }
  table.store(found, std::memory_order_release);  // Pairs with the loads of router_library().
}

}  // namespace

constinit Code router_code;
thread_local constinit int Inside::depth_ = 0;

const k2k_io_table* router_library() {
  if (const k2k_io_table* const loaded = table.load(std::memory_order_acquire)) return loaded;
  if (tried.load(std::memory_order_acquire)) return nullptr;
  const Inside inside;
  pthread_mutex_lock(&loading);
  if (!tried.load(std::memory_order_relaxed)) {
    const int before = errno;
    int cancellable = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);  // The lock is held.
    load();
    pthread_setcancelstate(cancellable, nullptr);
    errno = before;
    tried.store(true, std::memory_order_release);
  }
  pthread_mutex_unlock(&loading);
  return table.load(std::memory_order_acquire);
}

const k2k_io_table* router_library_if_loaded() { return table.load(std::memory_order_acquire); }

void router_library_before_fork() { pthread_mutex_lock(&loading); }

void router_library_after_fork(bool child) {
  const Inside inside;
  if (child) {
    if (const k2k_io_table* const router = router_library_if_loaded()) router->after_fork_child();
  }
  pthread_mutex_unlock(&loading);
}

}  // namespace k2k::shim
