// Runs a fuzz target without libFuzzer, which g++ does not have: first every file of a corpus, then
// for some seconds files made of them by random changes. No look at coverage.
//
//   slots_fuzz [--seconds N] [--seed S] [--keep FILE] CORPUS...
//
// The input that is being run lies in FILE, so a crash leaves it there: slots_fuzz FILE repeats it.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace k2k::fuzz {
namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

constexpr std::size_t bytes_max = 4096;
constexpr std::size_t block = 16;  // Changes move whole operations more often than single bytes.

struct Options {
  std::uint64_t seconds = 0;
  std::uint64_t seed = std::random_device()();
  std::string keep;
  std::vector<fs::path> corpus;
};

[[noreturn]] void usage(std::string_view wrong) {
  std::fprintf(stderr, "%.*s\nusage: [--seconds N] [--seed S] [--keep FILE] CORPUS...\n",
               static_cast<int>(wrong.size()), wrong.data());
  std::exit(2);
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) usage(text);
  return number;
}

Options parse(int count, char** words) {
  Options options;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (!word.starts_with("--")) {
      options.corpus.emplace_back(word);
      continue;
    }
    if (++at == count) usage(word);
    if (word == "--seconds") {
      options.seconds = number_of(words[at]);
    } else if (word == "--seed") {
      options.seed = number_of(words[at]);
    } else if (word == "--keep") {
      options.keep = words[at];
    } else {
      usage(word);
    }
  }
  return options;
}

Input read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) usage("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Input> read_all(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) files.push_back(entry);
  }
  std::sort(files.begin(), files.end());  // A folder lists them in any order.
  std::vector<Input> inputs;
  for (const fs::path& file : files) inputs.push_back(read(file));
  if (inputs.empty()) usage("no corpus");
  return inputs;
}

class Mutator {
 public:
  Mutator(std::vector<Input> corpus, std::uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  Input next() {
    Input input = any();
    for (std::uint64_t changes = 1 + below(12); changes > 0; --changes) change(input);
    input.resize(std::min(input.size(), bytes_max));
    return input;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Input& any() { return corpus_[below(corpus_.size())]; }
  std::ptrdiff_t block_of(const Input& input) {
    return static_cast<std::ptrdiff_t>(
        std::min(4 + below(input.size() / block) * block, input.size()));
  }

  void change(Input& input) {
    if (input.empty()) input.push_back(0);
    switch (below(8)) {
      case 0:
        input[below(input.size())] ^= static_cast<std::uint8_t>(1u << below(8));
        return;
      case 1:
      case 2:
        input[below(input.size())] = static_cast<std::uint8_t>(random_());
        return;
      case 3: {  // An operation of random bytes.
        Input made(block);
        for (std::uint8_t& byte : made) byte = static_cast<std::uint8_t>(random_());
        input.insert(input.begin() + block_of(input), made.begin(), made.end());
        return;
      }
      case 4: {  // Operations of another input.
        const Input& other = any();
        const auto first = block_of(other);
        const auto last = std::min<std::ptrdiff_t>(std::ssize(other), first + 16 * 8);
        input.insert(input.begin() + block_of(input), other.begin() + first, other.begin() + last);
        return;
      }
      case 5: {
        const auto first = block_of(input);
        const auto last =
            std::min(std::ssize(input), first + static_cast<std::ptrdiff_t>(block * below(4)));
        input.erase(input.begin() + first, input.begin() + last);
        return;
      }
      case 6: {  // An operation again.
        const auto first = block_of(input);
        const auto last = std::min<std::ptrdiff_t>(std::ssize(input), first + 16);
        const Input again(input.begin() + first, input.begin() + last);
        input.insert(input.begin() + block_of(input), again.begin(), again.end());
        return;
      }
      default:
        for (std::size_t at = 0; at < std::min<std::size_t>(4, input.size()); ++at) {
          input[at] = static_cast<std::uint8_t>(random_());
        }
        return;
    }
  }

  const std::vector<Input> corpus_;
  std::mt19937_64 random_;
};

void run(const Options& options, const Input& input) {
  if (!options.keep.empty()) {
    std::ofstream(options.keep, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()), std::ssize(input));
  }
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace
}  // namespace k2k::fuzz

int main(int count, char** words) {
  using namespace k2k::fuzz;
  const Options options = parse(count, words);
  const std::vector<Input> corpus = read_all(options.corpus);
  std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::uint64_t runs = 0;
  for (const Input& input : corpus) {
    run(options, input);
    ++runs;
  }
  Mutator mutator(corpus, options.seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  while (std::chrono::steady_clock::now() < end) {
    run(options, mutator.next());
    ++runs;
  }
  if (!options.keep.empty()) fs::remove(options.keep);
  std::fprintf(stderr, "%llu inputs\n", static_cast<unsigned long long>(runs));
}
