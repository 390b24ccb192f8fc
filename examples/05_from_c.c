/* K2K from C: options as text, a kernel as a function, errors as negative errno with one line each.
 *
 * The device is a strict one: the host can read neither its stacks nor its memory, as with a GPU.
 * The generic call copies nothing, so a pointer to such memory answers -EFAULT. */

#include <errno.h>
#include <k2k/k2k.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, k2k_last_error());
  return 1;
}

struct answers {
  char line[64]; /* Host memory: the kernel may pass it on. */
  long written;
  long refused;
};

static void kernel(void* argument) {
  struct answers* answers = argument;
  char on_the_stack[16] = "not reachable";
  if (k2k_dev_global_rank() != 0) return;
  answers->refused = k2k_dev_syscall(SYS_write, 1, (long)on_the_stack, 13, 0, 0, 0);
  answers->written =
      k2k_dev_syscall(SYS_write, 1, (long)answers->line, (long)strlen(answers->line), 0, 0, 0);
}

int main(void) {
  k2k_options* options = NULL;
  k2k_runtime* runtime = NULL;
  struct answers answers = {"written by a kernel in C\n", 0, 0};

  if (k2k_options_create(&options) != 0) return fail("options");
  if (k2k_options_set(options, "device.strict", "true") != 0) return fail("device.strict");
  if (k2k_options_set(options, "server.spin_us", "20") != 0) return fail("server.spin_us");
  /* The error text names the permitted values. */
  if (k2k_options_set(options, "device.stric", "true") == -EINVAL) {
    printf("as expected: %s\n", k2k_last_error());
    fflush(stdout);
  }
  if (k2k_runtime_create(options, &runtime) != 0) return fail("runtime");
  k2k_options_destroy(options);

  if (k2k_launch(runtime, 2, 32, kernel, &answers, "from C") != 0) return fail("launch");
  if (k2k_drain(runtime) != 0) return fail("drain");
  k2k_runtime_destroy(runtime);
  return answers.written == (long)strlen(answers.line) && answers.refused == -EFAULT ? 0 : 1;
}
