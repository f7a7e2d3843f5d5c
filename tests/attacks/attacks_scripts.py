"""Attacks by whole jobs, whose scripts may do more than a submission. Clients of a worker can send them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Script:
    name: str
    heading: str
    body: str  # uses $home, $neighbour, $mark, $most; prints the secret, or `won`
    language: str = "bash"
    verdicts: tuple[str, ...] = ("-",)
    layers: tuple[str, ...]
    keep: tuple[str, ...] = ()  # files that the job asks the engine to return
    needs: str = ""  # `user`: root could read everything
    whole: bool = False  # the layer that stops it is in the engine, not in the proctor: tried as a whole job


def _script(name: str, heading: str, layers: str, body: str) -> Script:
    return Script(name=name, heading=heading, body=body, layers=tuple(layers.split()))


def leftover_file_attack(
    name: str, layers: str, body: str, heading: str = "confusing", **more: Any
) -> Script:
    """Return an attack by files that remain after the script."""
    return replace(_script(name, heading, layers, body), whole=True, **more)


# The limit is $most processes. The engine may need to poll and count them, so the script wins only if they stay.
_BOMB = """python3 -c "
import os, time
count = 0
try:
    while count < $most + 150:
        os.fork() or (time.sleep(60), os._exit(0))
        count += 1
except OSError:
    pass
time.sleep(3)
print('won' if count > $most else count, flush=True)
os._exit(0)"
"""

SCRIPTS = (
    _script("a-script-that-reads-secrets", "stealing", "landlock namespaces", 'cat "$home" "$neighbour" 2>/dev/null; true'),
    _script("a-script-that-reads-environments", "stealing", "environment", "env; cat /proc/self/environ"),
    _script("a-script-that-writes-outside", "forging", "landlock namespaces", 'for d in /tmp /dev/shm /var/tmp; do echo x > "$d/$mark" && [ "$d" != /tmp ] && echo won; rm -f "$d/$mark"; done 2>/dev/null; true'),
    leftover_file_attack("links-out-of-a-sandbox", "keeping", 'ln -s "$home" kept; ln -s /etc/passwd other; ln -s . loop; mkdir d; ln -s ../../../.. d/up; true', "forging", keep=("kept", "other", "d/up")),
    _script("a-script-that-daemonises", "stopping", "reaping namespaces", 'cp /bin/sleep $mark; (setsid ./$mark 60 > /dev/null 2>&1 < /dev/null &); sleep 1'),
    _script("a-fork-bomb-of-a-script", "stopping", "rlimit-nproc polling", _BOMB),
    _script("files-without-end", "stopping", "polling", "for i in $(seq 40); do head -c 8000000 /dev/zero > f$i; done; sleep 6; echo won"),
    _script("names-without-end", "stopping", "polling", "mkdir d; cd d; touch $(seq 9000); sleep 6; echo won"),
    leftover_file_attack("names-that-confuse", "removal", "touch $'a\\nb' $'\\xff\\xfe' $'\\033[2J' -- -rf ' ' '*'; mkdir $'d\\n'; true"),
    leftover_file_attack("folders-that-are-closed", "removal", 'mkdir -p a/b/c; touch a/b/c/x; chmod 000 a/b/c a/b a; mkdir r; touch r/x; chmod 500 r; true', needs="user"),
    leftover_file_attack("folders-without-end", "removal", 'python3 -c "import os\nfor i in range(900): os.mkdir(\'d\'*200); os.chdir(\'d\'*200)"; true'),
    _script("a-script-that-kills", "stopping", "landlock namespaces", 'kill -9 $PPID; for p in 2 3 4; do up=$(awk "{print \\$4}" /proc/$PPID/stat 2>/dev/null); [ -n "$up" ] && kill -9 $up; done; true'),
)  # fmt: skip
