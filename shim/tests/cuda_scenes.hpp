#pragma once
// Scenes of programs with memory of cudaMalloc(), for tests: linked to by a program, or loaded with
// dlopen(), as interpreters load modules.

extern "C" int cuda_play(const char* scene, const char* folder);
