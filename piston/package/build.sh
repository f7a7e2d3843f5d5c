#!/usr/bin/env bash
# Only for building inside a checkout of Piston, as packages/ioi_eval/1.0.0; `ioi-eval package` needs none of this.
# Builds nothing, unless the package should contain a compiler: COMPILER=/opt/gcc-14 ./build.sh
set -e
cd "$(dirname "$0")"
if [ -n "$COMPILER" ]; then
    mkdir -p compiler
    cp -a "$COMPILER/." compiler/
fi
