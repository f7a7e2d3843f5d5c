"""A linker that is quicker than the compiler's own, for submissions, where a trial link worked.

It is GNU gold on x86_64. What it refuses or has words about is built by the compiler's own linker, and so are
sources that do more than to be compiled (`rules.cpp_text.only_compiles`). mold is none of them:
it gives programs no executable stack, so functions within functions of C crash, and it leaves warnings out.
"""

from __future__ import annotations

QUICK_LINKER, MACHINE = "ld.gold", "x86_64"
# No submission is compiled for optimization by the linker. The compiler's own linker has words about a stack
# that runs, and lets no constant run; gold does both only if it is asked.
LINKING = ("-fuse-ld=gold", "-fno-use-linker-plugin", "-Wl,-warn-execstack", "-Wl,-rosegment")
# What a log has if a linker said anything: its own name, its caller's, an object's or an archive's member.
LINKERS_WORDS = r"collect2|ld\.gold|\.o[:)]"
WORKS = "works"
TRIAL = f"""#include <stdio.h>
static __thread int own = 1;
#ifdef __cplusplus
static int thrown() {{ try {{ throw own; }} catch (int caught) {{ return caught; }} }}
#else
static int thrown(void) {{ return own; }}
#endif
int main(void) {{ return thrown() == 1 ? puts("{WORKS}") < 0 : 1; }}
"""
"""A program in C and C++ that prints `WORKS` if it was linked well."""
