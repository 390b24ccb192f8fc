#include "shim/next_function.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace k2k::shim {
namespace {

void* next(const char* name) { return next_function(name, gnu_hash(name)); }

TEST(NextFunction, hashes_names_as_the_loader_does) {
  EXPECT_EQ(gnu_hash(""), 5381u);
  EXPECT_EQ(gnu_hash("exit"), 0x7c967e3fu);  // Both from the format's description.
  EXPECT_EQ(gnu_hash("flapenguin.me"), 0x8ae9f18eu);
}

TEST(NextFunction, is_the_loaders_next_definition) {
  for (const char* const name :
       {"read", "pread64", "readv", "preadv64", "preadv64v2", "write", "pwrite64", "writev",
        "pwritev64", "pwritev64v2", "posix_fadvise64", "close", "close_range", "closefrom", "dup2",
        "dup3", "fcntl64", "fclose", "syscall"}) {
    EXPECT_NE(next(name), nullptr) << name;
    EXPECT_EQ(next(name), dlsym(RTLD_NEXT, name)) << name;
  }
}

TEST(NextFunction, is_chosen_by_the_loader_where_the_processor_matters) {
  EXPECT_NE(next("memcpy"), nullptr);
  EXPECT_EQ(next("memcpy"), dlsym(RTLD_NEXT, "memcpy"));
}

TEST(NextFunction, is_none_without_a_definition) {
  EXPECT_EQ(next("k2k_nobody_defines_this"), nullptr);
}

}  // namespace
}  // namespace k2k::shim
