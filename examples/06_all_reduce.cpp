// An all-reduce between two processes, made by their kernels: no kernel ends in order to talk.
//
// Each process holds every other number below `numbers`. Its kernel adds them up and calls a
// function of its program, which exchanges the sums with the other process over a socket, as
// MPI_Allreduce does. With the mean that both know then, the kernel goes on to the variance.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

namespace {

constexpr std::uint32_t items = 64;
constexpr std::uint64_t numbers = 100'000;

// Declared once: what the kernel calls and what the program provides have the same types.
constexpr k2k::HostFunction<void(k2k::InOut<double>)> all_reduce{"all_reduce"};

struct Outcome {
  double mean;
  double variance;
  int error;
};

// The socket to the other process.
class Peer {
 public:
  static constexpr std::size_t count_max = 256;

  Peer(int socket, int rank) : socket_(socket), rank_(rank) {}

  // Adds the other process' values to these.
  k2k::Status sum(k2k::InOut<double> values) const {
    if (values.size() > count_max) return k2k::Error{EMSGSIZE, "too many values"};
    std::array<double, count_max> others{};
    const std::size_t bytes = values.size() * sizeof(double);
    // One sends first, the other receives first: neither waits for the other to receive.
    const bool exchanged = rank_ == 0 ? send(values.data, bytes) && receive(others.data(), bytes)
                                      : receive(others.data(), bytes) && send(values.data, bytes);
    if (!exchanged) return k2k::Error{ECONNRESET, "the other process has ended"};
    for (std::size_t index = 0; index < values.size(); ++index) values[index] += others[index];
    return {};
  }

 private:
  bool send(const void* data, std::size_t bytes) const {
    return ::send(socket_, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
  }
  bool receive(void* data, std::size_t bytes) const {
    return ::recv(socket_, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }

  int socket_;
  int rank_;
};

int run(const Peer& peer, std::uint32_t rank) {
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;
  const k2k::Status provided =
      runtime->provide(all_reduce, [&peer](k2k::InOut<double> values) { return peer.sum(values); });
  if (!provided) return std::fprintf(stderr, "%s\n", provided.error().message.c_str()), 1;

  auto* const outcome = static_cast<Outcome*>(runtime->allocate_shared(sizeof(Outcome)).value());
  const auto reduce = all_reduce;  // A kernel on a GPU gets a copy.
  auto report = runtime->launch({1, items}, [=] K2K_DEVICE {
    K2K_LOCAL(double[items], partial);
    K2K_LOCAL(double[2], sums);
    const std::uint32_t me = k2k::item_rank();
    double mean = 0;
    double variance = 0;
    for (int step = 0; step < 2; ++step) {
      partial[me] = 0;
      for (std::uint64_t number = 2 * me + rank; number < numbers; number += 2 * items) {
        const double value = static_cast<double>(number);
        partial[me] += step == 0 ? value : (value - mean) * (value - mean);
      }
      k2k::barrier();
      if (me == 0) {
        sums[0] = 0;
        for (std::uint32_t item = 0; item < items; ++item) sums[0] += partial[item];
        sums[1] = numbers / 2;
      }
      // Once for the group, between two barriers: all its items see the sums of both processes.
      const auto reduced =
          k2k::host_call(k2k::work_group, reduce, k2k::inout(&sums[0], std::size_t{2}));
      if (me == 0 && !reduced.ok()) outcome->error = reduced.error();
      if (!reduced.ok()) return;
      (step == 0 ? mean : variance) = sums[0] / sums[1];
      k2k::barrier();
    }
    if (me != 0) return;  // One item writes what all know.
    outcome->mean = mean;
    outcome->variance = variance;
  });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  std::printf("process %u: mean %g, variance %g, error %d\n", rank, outcome->mean,
              outcome->variance, outcome->error);
  const auto count = static_cast<double>(numbers);
  const double variance = (count * count - 1) / 12;
  const bool right = outcome->error == 0 && outcome->mean == (count - 1) / 2 &&
                     std::abs(outcome->variance - variance) < 1e-6 * variance;
  runtime->free_shared(outcome);
  return right ? 0 : 1;
}

}  // namespace

int main() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::perror("socketpair"), 1;
  }
  std::fflush(stdout);
  const pid_t child = ::fork();  // Before there is a runtime, which has threads.
  if (child < 0) return std::perror("fork"), 1;
  const int rank = child == 0 ? 1 : 0;
  ::close(ends[1 - rank]);
  const int result = run(Peer(ends[rank], rank), static_cast<std::uint32_t>(rank));
  ::close(ends[rank]);
  if (child == 0) return result;
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return std::perror("waitpid"), 1;
  return result == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
