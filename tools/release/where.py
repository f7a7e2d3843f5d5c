"""Tests the judge in containers like those of clusters.

Called by tools/release/where. Each environment is a container of crun or bubblewrap, or gVisor's sandbox,
with the system's folders of this machine as its image. In each environment, `doctor` runs and the submissions
of an example are scored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROBLEM = "relay"  # example problem with two communicating processes, a manager and a compiled checker
WORKER = 10001  # uid of the user in piston/docker and piston/kubernetes
_SECONDS = 900.0

# Capabilities that root has in a Docker container.
_DOCKER = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_MASKED = ("/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi", "/sys/firmware")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_NAMESPACES = ("pid", "ipc", "uts", "mount", "network")
_LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
_ENOSYS = 38


class Environment(NamedTuple):
    name: str
    command: Callable[[EnvironmentSetup], list[str]]
    helps: str = ""


class EnvironmentSetup(NamedTuple):
    """Folders, interpreters and the seccomp profile that all environments use."""

    folder: Path  # folder of this run for configurations and caches
    real_python: str
    python: str
    docker: Mapping[str, Any]  # Docker's seccomp profile

    @property
    def source_folder(self) -> Path:
        return self.folder / "tree"

    def make_command_inside_environment(self, user: int) -> list[str]:
        """Return the command that runs the doctor, scores, and prints the results."""
        return [
            self.python,
            str(self.source_folder / "tools" / "release" / "where.py"),
            "--inside",
            str(self.make_cache_folder(user)),
        ]

    def make_cache_folder(self, user: int) -> Path:
        cache = self.folder / f"cache-{user}"
        if not cache.exists():
            cache.mkdir(mode=0o700)
            shutil.chown(cache, user, user)
        return cache


# --- inside ------------------------------------------------------------------------------------------


def run_doctor_and_score(cache_folder: str) -> None:
    """Run `doctor` and score an example in this environment, and print the results as JSON."""
    import os

    tree = Path(__file__).parents[2]
    os.environ.update(
        IOI_EVAL_CACHE=f"{cache_folder}/kept",
        PYTHONDONTWRITEBYTECODE="1",
        HOME=cache_folder,
        PYTHONPATH=str(tree),
    )
    command = [sys.executable, "-m", "ioi_eval"]
    doctor_process = subprocess.run(
        [*command, "doctor", "--json"], capture_output=True, text=True, cwd=tree, check=False
    )
    run_folder = Path(cache_folder, "run")
    shutil.rmtree(run_folder, ignore_errors=True)
    arguments = [
        "score",
        "examples/generations.jsonl",
        "--problems",
        "examples/problems",
        "--problem",
        PROBLEM,
    ]
    score_process = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        cwd=tree,
        check=False,
    )
    results = {
        "doctor": doctor_process.stdout,
        "code": score_process.returncode,
        "said": score_process.stderr[-2000:],
    }
    results["equal"] = score_process.returncode == 0 and _read_points_by_submission(
        run_folder
    ) == _read_expected_points(tree, run_folder)
    print(json.dumps(results))


def _read_points_by_submission(run_folder: Path) -> dict[str, float]:
    rows = map(json.loads, (run_folder / "results.jsonl").read_text().splitlines())
    return {row["uuid"]: row["points"] for row in rows}


def _read_expected_points(tree: Path, run_folder: Path) -> dict[str, float]:
    lines = (tree / "examples" / "generations.expected.tsv").read_text().splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return {row[0]: float(row[2]) for row in rows if row[0] in _read_points_by_submission(run_folder)}


# --- containers --------------------------------------------------------------------------------------


def make_container(name: str, *, user: int, capabilities: Sequence[str] = (), **options: Any) -> Environment:
    """Return a container of crun. `options`: those of `_make_container_configuration`, and `helps`."""
    helps: str = options.pop("helps", "")

    def command(setup: EnvironmentSetup) -> list[str]:
        bundle = setup.folder / f"bundle-{name.replace(' ', '-').replace('/', '-').replace(':', '')}"
        for path in ("run", "var/lib"):  # in images, these folders are writable for root
            (bundle / "root" / path).mkdir(parents=True)
        configuration = _make_container_configuration(
            setup, user, [f"CAP_{capability}" for capability in capabilities], **options
        )
        (bundle / "config.json").write_text(json.dumps(configuration))
        crun_command = ["crun", "--cgroup-manager=disabled", "run", f"--bundle={bundle}", bundle.name]
        # crun cannot handle a machine with control groups of both versions.
        mount_script = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mount_script, "sh", *crun_command]

    return Environment(name, command, helps)


def _make_container_configuration(
    setup: EnvironmentSetup,
    user: int,
    capabilities: Sequence[str],
    *,
    has_seccomp: bool = True,
    removed_calls: Sequence[str] = (),
    masks_proc: bool = True,
    no_new_privileges: bool = False,
    read_only: bool = False,
    has_sandbox_folder: bool = False,
) -> dict[str, Any]:
    """Return the configuration of a container for crun.

    Args:
        setup: Folders and interpreters.
        user: Uid of the container's process.
        capabilities: Capabilities of the container.
        has_seccomp: Use Docker's seccomp profile.
        removed_calls: System calls to remove from the seccomp profile.
        masks_proc: Hide parts of /proc, and make other parts read-only.
        no_new_privileges: Forbid new privileges.
        read_only: Make the root folder read-only.
        has_sandbox_folder: Mount a folder for sandboxes from which programs can be executed.
    """
    capability_sets = ("bounding", "effective", "permitted") if user == 0 else ("bounding",)
    linux: dict[str, Any] = {
        "namespaces": [{"type": name} for name in _NAMESPACES],
        "maskedPaths": _MASKED if masks_proc else [],
        "readonlyPaths": _READ_ONLY if masks_proc else [],
    }
    if has_seccomp:
        linux["seccomp"] = _make_seccomp_profile(setup.docker, capabilities, removed_calls)
    environment = ["PATH=/usr/local/bin:/usr/bin:/bin", *(["TMPDIR=/boxes"] if has_sandbox_folder else [])]
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": user, "gid": user},
            "args": setup.make_command_inside_environment(user),
            "env": environment,
            "cwd": "/",
            "capabilities": {name: list(capabilities) for name in capability_sets},
            "noNewPrivileges": no_new_privileges,
        },
        "root": {"path": "root", "readonly": read_only},
        "mounts": _make_container_mounts(setup, user, has_sandbox_folder),
        "linux": linux,
    }


def _make_container_mounts(
    setup: EnvironmentSetup, user: int, has_sandbox_folder: bool
) -> list[dict[str, Any]]:
    def make_mount(path: str, kind: str, *options: str) -> dict[str, Any]:
        return {"destination": path, "type": kind, "source": kind, "options": options}

    def bind_path(path: str, *options: str) -> dict[str, Any]:
        return {"destination": path, "type": "bind", "source": path, "options": ["rbind", *options]}

    system_paths = [
        path for path in ("/usr", "/bin", "/lib", "/lib64", "/etc", "/sbin") if Path(path).exists()
    ]
    environment = str(Path(setup.python).parents[1])
    return [
        make_mount("/proc", "proc"),
        make_mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        # Mount a small folder from which no program can be executed, like Docker and the kubelet.
        make_mount("/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
        make_mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
        make_mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
        *(
            [make_mount("/boxes", "tmpfs", "nosuid", "nodev", "mode=1777", "size=4g")]
            if has_sandbox_folder
            else []
        ),
        *(bind_path(path, "ro") for path in system_paths),
        bind_path(str(setup.source_folder), "ro"),
        bind_path(environment, "ro"),
        bind_path(str(setup.make_cache_folder(user))),
    ]


def _make_seccomp_profile(
    docker_profile: Mapping[str, Any], capabilities: Sequence[str], removed_calls: Sequence[str]
) -> dict[str, Any]:
    """Return Docker's seccomp profile for these capabilities, in the format of container runtimes."""
    allowed_rules = []
    for rule in docker_profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if not {*includes.get("caps", ())} <= {*capabilities}:
            continue
        if {*excludes.get("caps", ())} & {*capabilities}:
            continue
        if "amd64" not in includes.get("arches", ["amd64"]):
            continue
        allowed_rule = {key: rule[key] for key in ("action", "errnoRet", "args") if rule.get(key) is not None}
        allowed_rules.append(
            {**allowed_rule, "names": [name for name in rule["names"] if name not in removed_calls]}
        )
    return {
        "defaultAction": docker_profile["defaultAction"],
        "defaultErrnoRet": 1,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": [allowed_rule for allowed_rule in allowed_rules if allowed_rule["names"]],
    }


_DROPPED = ("setpriv", f"--reuid={WORKER}", f"--regid={WORKER}", "--clear-groups")

# --- other places ------------------------------------------------------------------------------------


def _make_bubblewrap_command(setup: EnvironmentSetup) -> list[str]:
    """Return a command like Apptainer without its set-uid program: a user namespace, no new privileges, host
    /proc.
    """
    mount_options = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
    return [
        *_DROPPED,
        "bwrap",
        "--unshare-user",
        *mount_options,
        "--bind",
        "/tmp",
        "/tmp",
        *setup.make_command_inside_environment(WORKER),
    ]


def _make_pyxis_command(setup: EnvironmentSetup) -> list[str]:
    """Return a command like enroot with --container-remap-root: root of a user namespace, with a mount
    namespace.
    """
    return [
        *_DROPPED,
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        *setup.make_command_inside_environment(WORKER),
    ]


def _make_command_without_namespaces(setup: EnvironmentSetup) -> list[str]:
    """Return a command in a user namespace in which the kernel refuses to create further namespaces."""
    limit_script = 'echo 1 > /proc/sys/user/max_user_namespaces && exec "$@"'
    inner_command = [
        "unshare",
        "--user",
        f"--map-user={WORKER}",
        f"--map-group={WORKER}",
        *setup.make_command_inside_environment(WORKER),
    ]
    return [*_DROPPED, "unshare", "--user", "--map-root-user", "sh", "-c", limit_script, "sh", *inner_command]


def _make_gvisor_command(setup: EnvironmentSetup) -> list[str]:
    return [
        "runsc",
        "--network=none",
        "--platform=ptrace",
        "do",
        "--force-overlay=false",
        *setup.make_command_inside_environment(0),
    ]


_ALONE = {"user": WORKER, "no_new_privileges": True, "has_sandbox_folder": True}
PLACES = (
    Environment("a machine, as root", lambda setup: setup.make_command_inside_environment(0)),
    Environment(
        "a machine, as a user", lambda setup: [*_DROPPED, *setup.make_command_inside_environment(WORKER)]
    ),
    Environment(
        "user namespaces forbidden",
        _make_command_without_namespaces,
        "`user.max_user_namespaces`, AppArmor's restriction lifted",
    ),
    make_container(
        "docker run, root", user=0, capabilities=_DOCKER, helps="`--security-opt seccomp=unconfined`"
    ),
    make_container("piston/docker/compose.yaml", **_ALONE, helps="the three options in its comment"),
    make_container("the same, unconfined", **_ALONE, has_seccomp=False, masks_proc=False),
    make_container(
        "Docker before Landlock was let through", **_ALONE, removed_calls=_LANDLOCK, helps="Docker 23"
    ),
    make_container(
        "piston/kubernetes, restricted",
        **_ALONE,
        read_only=True,
        helps="`seccompProfile: {type: Unconfined}`",
    ),
    make_container(
        "the same, seccomp Unconfined",
        **_ALONE,
        read_only=True,
        has_seccomp=False,
        helps="`procMount: Unmasked` (and `hostUsers: false`)",
    ),
    make_container(
        "the same, and procMount: Unmasked", **_ALONE, read_only=True, has_seccomp=False, masks_proc=False
    ),
    Environment("Apptainer", _make_bubblewrap_command),
    Environment("pyxis, remapped root", _make_pyxis_command),
    Environment("gVisor", _make_gvisor_command),
)


# --- the table ---------------------------------------------------------------------------------------


def run_environment(environment: Environment, setup: EnvironmentSetup) -> dict[str, Any]:
    command = environment.command(setup)
    process = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd="/", check=False)
    try:
        results: dict[str, Any] = json.loads(process.stdout)
        results["doctor"] = json.loads(results["doctor"])
    except json.JSONDecodeError:
        return {"fails": (process.stderr or process.stdout)[-1500:]}
    return results


def format_row(environment: Environment, results: Mapping[str, Any]) -> str:
    if "doctor" not in results:
        return f"| {environment.name} | not tried: {results} | | | |"
    doctor_lines = results["doctor"]["conditions"]
    active_layers = "; ".join(line["detail"] for line in doctor_lines if line["name"] == "confinement")
    failures = [
        line["detail"] for line in doctor_lines if line["ok"] is not True and line["name"] != "confinement"
    ]
    row_result = "as expected" if results["equal"] else f"none, exit code {results['code']}"
    cells = (environment.name, active_layers, "<br>".join(failures), row_result, environment.helps)
    return f"| {' | '.join(cells)} |"


def main(folder: str, real_python: str, python: str, *names: str) -> None:
    """Print the table of the environments. If `names` are given, print only these environments."""
    (profile,) = Path(folder, "docker").rglob("profiles/seccomp/default.json")
    setup = EnvironmentSetup(Path(folder), real_python, python, json.loads(profile.read_text()))
    print(
        "| environment | active layers of confinement | problems that `ioi-eval"
        " doctor` found | rows | remedy |\n|---|---|---|---|---|"
    )
    for environment in PLACES:
        if not names or environment.name in names:
            answer = run_environment(environment, setup)
            print(format_row(environment, answer), flush=True)
            print(json.dumps(answer), file=sys.stderr)


if __name__ == "__main__":
    run_doctor_and_score(sys.argv[2]) if sys.argv[1] == "--inside" else main(*sys.argv[1:])
