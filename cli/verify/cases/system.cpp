// The machine, its kernel and its devices.

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sys/ioctl.h>
#include <sys/quota.h>

#include <string>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr int absent_key = 0x7ffffff0;
constexpr int wrong_flags = 0x7000;

Argument command(std::uint32_t number_of_command) { return number(number_of_command); }

}  // namespace

std::vector<Case> system_cases() {
  return {
      {SYS_uname, "names", {space(390)}},
      {SYS_sysinfo, "memory and load", {space(112)}, Answer::exact, all_of(0, 112)},
      {SYS_ioctl, "an unknown request", {object(Object::file), number(0x1234), null()}},
      {SYS_ioctl, "what a pipe holds", {object(Object::pipe_in), number(FIONREAD), space(4)}},
      {SYS_ioctl, "no terminal", {object(Object::file), number(TIOCGWINSZ), space(8)}},
      {SYS_ioctl, "not to wait", {object(Object::pipe_in), number(FIONBIO), structure(1)}},

      {SYS_syslog, "the size of the log", {number(10), null(), number(0)}},
      {SYS_syslog, "nothing that there is", {number(99), space(8), number(8)}},
      {SYS_add_key,
       "of no type",
       {text("k2k-none"), text("name"), bytes("x"), number(1), number(0)}},
      {SYS_add_key,
       "of a type that is too long",
       {text(std::string(40, 't')), text("name"), bytes("x"), number(1), number(0)}},
      {SYS_getrandom, "bytes", {space(16), number(16), number(0)}, Answer::exact, all_of(0, 16)},
      {SYS_getrandom, "a wrong flag", {space(16), number(16), number(64)}},
      {SYS_acct, "into a folder", {path("folder")}, Answer::exact, {}, false},  // null ends
                                                                                // accounting.
      {SYS_acct, "into nothing", {path("absent")}, Answer::exact, {}, false},
      {SYS_reboot, "without the first number", {number(1), number(2), number(3), null()}},
      {SYS_init_module, "that is no module", {space(16), number(16), text("")}},
      {SYS_delete_module, "that is absent", {text("k2k_absent"), number(O_NONBLOCK)}},
      {SYS_quotactl,
       "of nothing",
       {command(QCMD(Q_GETFMT, USRQUOTA)), path("absent"), number(0), space(4)}},
      {SYS_quotactl, "no command", {command(0), path("absent"), number(0), space(4)}},
      {SYS_quotactl_fd,
       "of a folder",
       {object(Object::directory), command(QCMD(Q_GETFMT, USRQUOTA)), number(0), space(4)}},
      {SYS_quotactl_fd, "no command", {object(Object::directory), command(0), number(0), space(4)}},
      {SYS_kexec_load,
       "in no way",
       {number(0), number(1), bytes(std::string(32, '\0')), number(wrong_flags)}},
      {SYS_request_key, "that is absent", {text("user"), text("k2k-absent"), null(), number(0)}},
      {SYS_request_key, "of no type", {text("k2k-none"), text("name"), null(), number(0)}},
      {SYS_keyctl,
       "a key that is absent",
       {number(KEYCTL_DESCRIBE), number(absent_key), space(32), number(32)}},
      {SYS_keyctl,
       "the content of a key that is absent",
       {number(KEYCTL_READ), number(absent_key), space(32), number(32)}},
      {SYS_keyctl,
       "a ring that is absent",
       {number(KEYCTL_SEARCH), number(absent_key), text("user"), text("name"), number(0)}},
      {SYS_keyctl,
       "pieces for a key that is absent",
       {number(KEYCTL_INSTANTIATE_IOV), number(absent_key), vector_of({bytes("one"), bytes("two")}),
        number(2), number(0)}},
      {SYS_keyctl, "capabilities", {number(KEYCTL_CAPABILITIES), space(8), number(8)}},
      {SYS_keyctl, "a part of them", {number(KEYCTL_CAPABILITIES), space(1), number(1)}},
      {SYS_keyctl, "no operation", {number(9999), number(0)}},
      {SYS_finit_module,
       "that is no module",
       {object(Object::file), text(""), number(wrong_flags)}},
      {SYS_kexec_file_load,
       "in no way",
       {object(Object::file), number(-1), number(2), text("x"), number(wrong_flags)}},
      {SYS_bpf, "no command", {number(9999), bytes(std::string(16, '\0')), number(16)}},
  };
}

}  // namespace k2k::cli::verify
