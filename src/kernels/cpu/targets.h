#pragma once

// The instruction sets the kernels are compiled for. Included before any highway header.
// x86-64: scalar code, SSE4, AVX2, AVX-512. Arm: NEON; the sizeless vectors of SVE do not fit register tiles.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// Highway's scalar emulation of vectors is off by default for GCC before 12.3 because of a miscompiled high-half
// multiplication of 16-bit integers; nothing here multiplies such integers.
#define HWY_BROKEN_EMU128 0
