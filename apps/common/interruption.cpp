#include "apps/common/interruption.hpp"

#include <atomic>

namespace k2k::apps {

namespace {

std::atomic<int> signalled{0};
std::atomic<Runtime*> cancelled{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Runtime*>::is_always_lock_free);

void interrupt(int number) {
  signalled.store(number);
  if (Runtime* const runtime = cancelled.load()) runtime->cancel();
}

}  // namespace

Interruption::Interruption(Runtime* runtime) {
  signalled.store(0);
  cancelled.store(runtime);
  struct sigaction action{};
  action.sa_handler = interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // The second one ends the process.
  for (std::size_t at = 0; at < std::size(numbers_); ++at) {
    ::sigaction(numbers_[at], nullptr, &before_[at]);
    // A program that was told to ignore the signal, as by nohup(1), goes on ignoring it.
    if (before_[at].sa_handler != SIG_IGN) ::sigaction(numbers_[at], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t at = 0; at < std::size(numbers_); ++at) {
    ::sigaction(numbers_[at], &before_[at], nullptr);
  }
  cancelled.store(nullptr);
}

int Interruption::signal() { return signalled.load(); }

}  // namespace k2k::apps
