#pragma once
// What programs do with memory of cudaMalloc(), for tests: linked to by a program, or loaded by one
// with dlopen(), as interpreters load theirs.

extern "C" int cuda_play(const char* scene, const char* folder);
