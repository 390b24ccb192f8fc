// Functions compiled twice: by clang for NVPTX (sample.ptx) and by this build's compiler. A test
// runs both on the same values. C, without a header of any library.
//
// After a change: clang-19 --target=nvptx64-nvidia-cuda -march=sm_90 -O2 -ffp-contract=off
// -nogpulib
//   -S -x c sample.c -o sample.ptx

struct Pair {
  unsigned long long first;
  int second;
  char tail;
};

// A loop whose end depends on the data.
static inline unsigned sample_steps(unsigned value) {
  unsigned steps = 0;
  for (; value != 1 && steps < 200; ++steps) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  return steps;
}

static inline struct Pair sample_pair(unsigned value) {
  struct Pair pair;
  pair.first = value * 0x9e3779b97f4a7c15ull;
  pair.second = (int)(pair.first >> 40) - 7777;
  pair.tail = (char)(pair.first >> 13);
  return pair;
}

static inline double sample_real(double x, int n) {
  double sum = 0;
  float small = 1.0f;
  for (int at = 1; at <= n; ++at) {
    sum += x / (at * at + 0.5);
    small = small * 0.75f + (float)sum;
    if (small > 10.0f) small -= 9.5f;
  }
  return sum - (double)small;
}

static inline unsigned sample_choice(unsigned value) {
  switch (value & 7) {
    case 0:
      return value * 3;
    case 1:
      return value - 100;
    case 2:
      return 0u - value;
    case 3:
      return value ^ 0x55;
    case 4:
      return (unsigned)((int)value >> 3);
    case 5:
      return value * value;
    default:
      return value & 0xff;
  }
}

static inline unsigned sample_sort(unsigned seed) {
  unsigned char bytes[24];
  for (int at = 0; at < 24; ++at) {
    seed = seed * 1664525u + 1013904223u;
    bytes[at] = (unsigned char)(seed >> 24);
  }
  for (int end = 23; end > 0; --end) {
    for (int at = 0; at < end; ++at) {
      if (bytes[at] <= bytes[at + 1]) continue;
      const unsigned char kept = bytes[at];
      bytes[at] = bytes[at + 1];
      bytes[at + 1] = kept;
    }
  }
  unsigned hash = 0;
  for (int at = 0; at < 24; ++at) hash = hash * 31 + bytes[at];
  return hash;
}
