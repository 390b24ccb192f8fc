// What a compiler emits: C functions compiled by clang for NVPTX, run on the emulator, against the
// same functions compiled here.

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "emulator/cuda/tests/kernels_fixture.hpp"
#include "emulator/cuda/tests/ptx/sample.h"

namespace k2k::emulator {

namespace {

std::string sample_text() {
  const char* const root = std::getenv("K2K_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) +
                     "/emulator/cuda/tests/ptx/sample.ptx");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(EmulatorRuns, what_clang_emits_as_the_host_does) {
  const std::string text = sample_text();
  ASSERT_FALSE(text.empty()) << "start the test by ctest, or set K2K_SOURCE_DIR";
  constexpr std::uint32_t threads = 96;
  constexpr std::uint32_t blocks = 12;
  constexpr unsigned long long seed = 12345;
  std::vector<std::uint64_t> words(std::size_t{threads} * blocks * 6, 0);
  Kernels kernels = Kernels::of_module(text, "sample.ptx");
  kernels.share(words);
  const Outcome outcome = kernels.run("sample", {blocks, threads}, {address_of(words), seed});
  ASSERT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  for (std::uint32_t at = 0; at < threads * blocks; ++at) {
    const unsigned value = static_cast<unsigned>(seed) + at * 2654435761u;
    const Pair pair = sample_pair(value);
    const std::uint64_t* const own = &words[std::size_t{at} * 6];
    ASSERT_EQ(own[0], sample_steps(value | 1)) << at;
    ASSERT_EQ(own[1], pair.first) << at;
    ASSERT_EQ(static_cast<std::int64_t>(own[2]), pair.second + pair.tail) << at;
    ASSERT_EQ(own[3], std::bit_cast<std::uint64_t>(
                          sample_real(static_cast<double>(pair.second), static_cast<int>(at % 50))))
        << at;
    ASSERT_EQ(own[4], sample_choice(value)) << at;
    ASSERT_EQ(own[5], sample_sort(value)) << at;
  }
}

}  // namespace

}  // namespace k2k::emulator
