"""What a box of a server is like inside: a script that tells, and what is read out of its words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ioi_eval.model.values import Toolchain

# Speaks little: a stock server lets a job print 1024 bytes. What is not there prints nothing.
LOOK = r"""exec 2>/dev/null
echo "machine $(uname -m)"; echo "cores $(nproc)"
echo "file_kib $(ulimit -f)"; echo "processes $(ulimit -u)"; echo "open_files $(ulimit -n)"
tool() {
  printf 'tool %s %s %s %s\n' "$1" "$(command -v "$1")" "$2" "$(printf %s "$3" | sha256sum | head -c 16)"
}
libraries() {
  for name in libc.a libstdc++.a libm.a; do sha256sum < "$("$1" -print-file-name=$name)"; done
}
for name in g++ gcc; do
  command -v $name > /dev/null || continue
  real=$(readlink -f "$(command -v $name)")
  tool $name "$($name -dumpfullversion -dumpversion)" "$($name -v 2>&1) $real $(libraries $name)"
done
for name in python3 pypy3; do
  command -v $name > /dev/null || continue
  version=$($name -I -S -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])') &&
    tool $name "$version" "$($name -I -S -c 'import sys; print(sys.version)')"
done
for standard in gnu++26 gnu++23 gnu++20 gnu++17 gnu++14; do
  echo 'int main() {}' | g++ -std=$standard -fsyntax-only -x c++ - && echo "standard $standard" && break
done
if command -v g++ > /dev/null; then
  echo 'int main() {}' | g++ -static -o looking-static -x c++ - && echo "static yes" || echo "static no"
fi
if command -v rustc > /dev/null; then
  words=$(rustc -vV) && tool rustc "$(echo "$words" | sed -n 's/^release: //p')" "$words $(libraries gcc)"
fi
if command -v go > /dev/null; then
  words=$(go version) && tool go "$(echo "$words" | sed 's/^go version go\([^ ]*\).*/\1/')" "$words"
fi
if command -v java > /dev/null && command -v javac > /dev/null; then
  words=$(java -version 2>&1) &&
    tool java "$(echo "$words" | sed -n 's/.*version "\([^"]*\)".*/\1/p')" "$words"
fi
echo end
"""

FIRST_STEP = 1000  # bytes
STEPS = 13  # each doubles what was printed: four megabytes in all


def stairs(steps: int) -> str:
    """Prints more and more, with pauses, so that what arrives tells where the server stopped it."""
    return f"""exec 2>/dev/null
size={FIRST_STEP}
for step in $(seq {steps}); do
  head -c $size /dev/zero | tr '\\0' x
  [ $step = 1 ] || size=$((size * 2))
  sleep 0.02
done
"""


def height(steps: int) -> int:
    return FIRST_STEP << (steps - 1)


def seen(words: str) -> Mapping[str, Any]:
    """Fields of a report. A line that is cut off or unknown says nothing."""
    lines = [line.split(" ") for line in words.split("\n")[:-1]]
    told = {line[0]: line[1] for line in lines if len(line) == 2}
    kib = _number(told.get("file_kib"))
    return {
        "architecture": told.get("machine", ""),
        "cores": _number(told.get("cores")),
        "max_file": kib and kib * 1024,
        "max_processes": _number(told.get("processes")),
        "max_open_files": _number(told.get("open_files")),
        "cpp_standard": told.get("standard", ""),
        "static": told["static"] == "yes" if "static" in told else None,
        "toolchains": dict(_tools(lines)),
    }


def _tools(lines: list[list[str]]) -> Iterator[tuple[str, Toolchain]]:
    for line in lines:
        if line[0] == "tool" and len(line) == 5 and all(line):
            _, command, path, version, digest = line
            identity = f"{command} {version} {path} {digest}"
            yield command, Toolchain(command=command, path=path, version=version, identity=identity)


def _number(word: str | None) -> int | None:
    return int(word) if word is not None and word.isdigit() else None
