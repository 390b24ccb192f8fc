// For tests: plays scenes with memory of CUDA (cuda_scenes.cpp), to which it is linked.
//
//   cuda_probe SCENE FOLDER

#include "shim/tests/cuda_scenes.hpp"

int main(int count, char** words) { return count == 3 ? cuda_play(words[1], words[2]) : 2; }
