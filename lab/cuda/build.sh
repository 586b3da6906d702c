#!/bin/sh
# Builds build/libquest_lab.so and prints each kernel's registers, stack and spills.
cd "$(dirname "$0")" && mkdir -p build &&
  nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -Xptxas -v -Xcompiler -fPIC -shared -o build/libquest_lab.so \
    ./*.cu 2>&1 | c++filt | grep -v -e 'gmem$' -e '^$'
