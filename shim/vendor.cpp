#include "shim/vendor.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdio>

namespace k2k::shim {
namespace {

bool is_ours(const void* address) {
  Dl_info us{};
  Dl_info its{};
  return dladdr(reinterpret_cast<const void*>(&is_ours), &us) != 0 && dladdr(address, &its) != 0 &&
         us.dli_fbase == its.dli_fbase;
}

// Searches a loaded library and the libraries that it is linked to.
void* find_in(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);
  dlclose(handle);  // The library stays loaded.
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

struct Wanted {
  int number;
  char path[PATH_MAX];
};

// For dl_iterate_phdr(), which holds a lock of the loader: no library may be opened here.
int copy_path(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<Wanted*>(argument);
  if (wanted.number-- > 0) return 0;
  std::snprintf(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}

void* find_anywhere(const char* name) {
  Wanted wanted{};
  for (int number = 0;; ++number) {
    wanted.number = number;
    if (dl_iterate_phdr(copy_path, &wanted) == 0) return nullptr;
    if (wanted.path[0] == '\0') continue;
    if (void* const found = find_in(wanted.path, name)) return found;
  }
}

void* find_next(const char* name, const void* caller) {
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  Dl_info its{};
  if (dladdr(caller, &its) != 0 && its.dli_fname != nullptr) {
    if (void* const found = find_in(its.dli_fname, name)) return found;
  }
  return find_anywhere(name);
}

}  // namespace

void* Next::find(const void* caller) {
  if (void* const found = found_.load(std::memory_order_relaxed)) return found;
  void* const found = find_next(name_, caller);
  dlerror();  // The program must not see the error of this search.
  found_.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace k2k::shim
