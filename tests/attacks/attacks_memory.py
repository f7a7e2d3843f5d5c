"""Use of more memory than the limit, by storing data in written files and reading it back."""

from __future__ import annotations

from attack import MLE, RE, WA, Attack
from attacks_java import in_java

# As much memory as the limit allows, then a file that is written, left alone for a while, read and emptied.
_SWAPPED = """int fd = open("out.txt", O_RDWR); if (fd < 0) return;
rusage u; do { char* p = (char*)malloc(1 << 18); memset(p, 1, 1 << 18); getrusage(RUSAGE_SELF, &u); } while (u.ru_maxrss < 94 << 10);
static char b[1 << 16]; memset(b, 7, sizeof b);
for (int i = 0; i < 60; i++) if (write(fd, b, sizeof b) != sizeof b) return;
rest(3);
for (int i = 0; i < 60; i++) if (pread(fd, b, sizeof b, (off_t)i << 16) != sizeof b || b[9] != 7) return;
if (ftruncate(fd, 0) == 0) won("more than the limit");"""

MEMORY = (
    Attack(
        name="memory-in-its-output-file",
        heading="stopping",
        body=_SWAPPED,
        verdicts=(MLE,),
        layers=("polling",),
        writes_file=True,
    ),
    Attack(
        name="memory-in-its-errors",
        heading="stopping",
        body='char b = 0; int fd = open("/proc/self/fd/2", O_RDWR); if (fd >= 0 && pwrite(fd, "x", 1, 1 << 20) == 1 && pread(fd, &b, 1, 1 << 20) == 1 && b == 120) won("memory of nobody");',
        verdicts=(WA, RE),
        layers=("one-way", "namespaces"),
    ),
    Attack(
        name="memory-in-its-output",
        heading="stopping",
        body='char b = 0; int fd = open("/proc/self/fd/1", O_RDWR); if (fd >= 0 && pwrite(fd, "x", 1, 1 << 20) == 1 && pread(fd, &b, 1, 1 << 20) == 1 && b == 120) won("memory of nobody");',
        verdicts=(WA, RE),
        layers=("one-way", "namespaces"),
    ),
    in_java(
        "stopping",
        "memory-in-its-errors-in-java",
        "one-way",
        'try (RandomAccessFile file = new RandomAccessFile("/proc/self/fd/2", "rw")) { file.seek(1 << 20); file.write(120); file.seek(1 << 20); if (file.read() == 120) won("memory of nobody"); } catch (IOException refused) { }',
    ),
)
