"""State in the kernel that a test's program leaves for the program of another test of the job."""

from __future__ import annotations

from attack import KEY, RE, WA, Attack, Win


def leftover_state_attack(name: str, layers: str, body: str) -> Attack:
    return Attack(
        name=name,
        heading="forging",
        body=body,
        verdicts=(WA, RE),
        layers=tuple(layers.split()),
        win=Win.NEXT,
    )


# The program contains the code that detects them, see `attack.py`.
NEXT = (
    leftover_state_attack(
        "shared-memory-for-the-next", "seccomp", f"syscall(SYS_shmget, {KEY}, 4096, 01600);"
    ),
    leftover_state_attack("a-message-for-the-next", "seccomp", f"syscall(SYS_msgget, {KEY}, 01600);"),
    leftover_state_attack("a-semaphore-for-the-next", "seccomp", f"syscall(SYS_semget, {KEY}, 1, 01600);"),
    leftover_state_attack(
        "a-key-for-the-next", "seccomp", 'syscall(SYS_add_key, "user", "PLANTED", "x", 1, -4);'
    ),
    leftover_state_attack(
        "a-queue-for-the-next",
        "seccomp rlimit-msgqueue",
        'mq_attr small = {}; small.mq_maxmsg = 1; small.mq_msgsize = 8; mq_open("/PLANTED", O_CREAT | O_RDWR, 0600, &small);',
    ),
)
