// System V objects, message queues and futexes. No case makes an object: it could outlive the
// command.

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include <ctime>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::uint16_t futex_wake_number = 454;  // Newer than the headers of Linux 6.1.
constexpr int absent_key = 0x5eed;
constexpr int absent_object = 0x7ffffff0;
constexpr sembuf one_less = {0, -1, IPC_NOWAIT};
constexpr timespec past_moment = {1, 0};

}  // namespace

std::vector<Case> ipc_cases() {
  return {
      {SYS_shmget, "no segment", {number(absent_key), number(4096), number(0)}},
      {SYS_shmget, "of no size", {number(absent_key), number(0), number(IPC_CREAT)}},
      {SYS_shmat, "no segment", {number(absent_object), null(), number(0)}},
      {SYS_semget, "no set", {number(absent_key), number(1), number(0)}},
      {SYS_semget, "of less than none", {number(absent_key), number(-1), number(IPC_CREAT)}},
      {SYS_semop, "of no set", {number(absent_object), structure(one_less), number(1)}},
      {SYS_semop, "nothing", {number(absent_object), structure(one_less), number(0)}},
      {SYS_shmdt, "what is no segment", {mapping()}},
      {SYS_msgget, "no queue", {number(absent_key), number(0)}},
      {SYS_semtimedop,
       "of no set",
       {number(absent_object), structure(one_less), number(1), structure(past_moment)}},
      {SYS_mq_open, "no queue", {text("k2k-absent"), number(O_RDWR), number(0), null()}},
      {SYS_mq_open, "a name of two parts", {text("k2k/absent"), number(O_RDWR), number(0), null()}},
      {SYS_mq_unlink, "no queue", {text("k2k-absent")}},
      {SYS_mq_timedsend,
       "by a file",
       {object(Object::file), bytes("hello"), number(5), number(0), structure(past_moment)}},
      {SYS_mq_timedreceive,
       "by a file",
       {object(Object::file), space(16), number(16), space(4), structure(past_moment)}},
      {SYS_mq_notify, "by a file", {object(Object::file), null()}},
      {SYS_mq_getsetattr, "of a file", {object(Object::file), null(), space(64)}},
      {futex_wake_number, "nobody", {mapping(), number(1), number(1), number(0x82)}},
      {futex_wake_number, "a wrong flag", {mapping(), number(1), number(1), number(0x1000)}},
  };
}

}  // namespace k2k::cli::verify
