// What nvcc makes of <mma.h>: matrices of whole numbers, whose product is the same in any order of
// the sums, against the host's.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <random>
#include <type_traits>
#include <vector>

#include "emulator/cuda/tests/nvcc/parts.hpp"

namespace {

namespace wmma = nvcuda::wmma;

// The element type of memory for wmma's type of operands.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, wmma::precision::tf32>, float, T>;

template <int M, int N, int K, class T, class Sum, class OrderA, class OrderB>
__global__ void multiply(const Stored<T>* a, const Stored<T>* b, const Sum* c, Sum* d,
                         unsigned stride_a, unsigned stride_b, unsigned stride_c,
                         wmma::layout_t order_c) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, OrderA> of_a;
  wmma::fragment<wmma::matrix_b, M, N, K, T, OrderB> of_b;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> of_c;
  wmma::load_matrix_sync(of_a, a, stride_a);
  wmma::load_matrix_sync(of_b, b, stride_b);
  wmma::load_matrix_sync(of_c, c, stride_c, order_c);
  if constexpr (std::is_same_v<T, wmma::precision::tf32>) {
    for (int at = 0; at < of_a.num_elements; ++at) of_a.x[at] = wmma::__float_to_tf32(of_a.x[at]);
    for (int at = 0; at < of_b.num_elements; ++at) of_b.x[at] = wmma::__float_to_tf32(of_b.x[at]);
  }
  wmma::mma_sync(of_c, of_a, of_b, of_c);
  for (int at = 0; at < of_c.num_elements; ++at) of_c.x[at] = of_c.x[at] + of_c.x[at];
  __shared__ alignas(32) Sum tile[M * N];
  wmma::store_matrix_sync(tile, of_c, N, wmma::mem_row_major);
  __syncwarp();
  for (unsigned at = threadIdx.x; at < M * N; at += 32) {
    const unsigned row = at / N;
    const unsigned column = at % N;
    d[order_c == wmma::mem_row_major ? row * stride_c + column : column * stride_c + row] =
        tile[at];
  }
}

template <class T>
double number_of(T value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(value);
  if constexpr (std::is_same_v<T, __half>) return __half2float(value);
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
}
template <class T>
T from_number(int value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(float(value));
  if constexpr (std::is_same_v<T, __half>) return __float2half(float(value));
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
}

// Elements wrong, or -1 if a call failed.
template <int M, int N, int K, class T, class Sum, class OrderA, class OrderB>
int wrong_elements(wmma::layout_t order_c) {
  constexpr bool row_a = std::is_same_v<OrderA, wmma::row_major>;
  constexpr bool row_b = std::is_same_v<OrderB, wmma::row_major>;
  const bool row_c = order_c == wmma::mem_row_major;
  constexpr unsigned beyond = 16;
  const unsigned stride_a = (row_a ? K : M) + beyond;
  const unsigned stride_b = (row_b ? N : K) + beyond;
  const unsigned stride_c = (row_c ? N : M) + beyond;
  const auto place = [](bool by_row, unsigned stride, unsigned row, unsigned column) {
    return by_row ? row * stride + column : column * stride + row;
  };
  parts::Managed<Stored<T>> a(stride_a * 32), b(stride_b * 32);
  parts::Managed<Sum> c(stride_c * 32), d(stride_c * 32);
  std::mt19937 random(M + N * 64);
  const auto next = [&] { return static_cast<int>(random() % 7); };
  for (unsigned at = 0; at < a.count; ++at) a[at] = from_number<Stored<T>>(next());
  for (unsigned at = 0; at < b.count; ++at) b[at] = from_number<Stored<T>>(next());
  for (unsigned at = 0; at < c.count; ++at) c[at] = from_number<Sum>(next());
  multiply<M, N, K, T, Sum, OrderA, OrderB>
      <<<1, 32>>>(a.data, b.data, c.data, d.data, stride_a, stride_b, stride_c, order_c);
  if (!parts::finished()) return -1;
  int wrong = 0;
  for (unsigned row = 0; row < M; ++row) {
    for (unsigned column = 0; column < N; ++column) {
      double sum = number_of(c[place(row_c, stride_c, row, column)]);
      for (unsigned k = 0; k < K; ++k) {
        sum += number_of(a[place(row_a, stride_a, row, k)]) *
               number_of(b[place(row_b, stride_b, k, column)]);
      }
      if (number_of(d[place(row_c, stride_c, row, column)]) != 2 * sum) ++wrong;
    }
  }
  return wrong;
}

template <int M, int N, int K, class T, class Sum>
bool is_right(const char* name) {
  const int wrong[] = {
      wrong_elements<M, N, K, T, Sum, wmma::row_major, wmma::col_major>(wmma::mem_row_major),
      wrong_elements<M, N, K, T, Sum, wmma::col_major, wmma::row_major>(wmma::mem_col_major)};
  for (const int count : wrong) {
    if (count != 0) std::printf("matrices of %s, %dx%dx%d: %d wrong\n", name, M, N, K, count);
  }
  return wrong[0] == 0 && wrong[1] == 0;
}

template <class T, class Sum>
bool are_right(const char* name) {
  const bool square = is_right<16, 16, 16, T, Sum>(name);
  const bool wide = is_right<8, 32, 16, T, Sum>(name);
  return is_right<32, 8, 16, T, Sum>(name) && square && wide;
}

}  // namespace

bool parts::matrices() {
  const bool right[] = {are_right<__half, float>("f16, sums f32"),
                        are_right<__half, __half>("f16, sums f16"),
                        are_right<__nv_bfloat16, float>("bf16"),
                        are_right<signed char, int>("s8"),
                        are_right<unsigned char, int>("u8"),
                        is_right<16, 16, 8, wmma::precision::tf32, float>("tf32"),
                        is_right<8, 8, 4, double, double>("f64")};
  for (const bool one : right) {
    if (!one) return false;
  }
  return true;
}
