# Sourced by the other scripts: finds a Python, creates the virtual environment, installs missing programs.
# All functions are safe to run again: they skip finished steps.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${IOI_EVAL_VENV:-$top/.venv}
readonly top venv

say() { printf '%s\n' "$*" >&2; }

# stop PROBLEM COMMAND: prints the command that the user must run, and exits.
stop() {
    say "$1"
    say "    $2"
    say "Then run this script again."
    exit 2
}

is_root() { [ "$(id -u)" = 0 ]; }

may_install() { command -v apt-get >/dev/null && { is_root || sudo -n true 2>/dev/null; }; }

as_root() {
    if is_root; then env DEBIAN_FRONTEND=noninteractive "$@"; else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"; fi
}

refresh_lists() { as_root apt-get update -qq -o Acquire::Retries=3 >&2 || say "apt-get update failed; continuing with the old lists of packages"; }

# apt_install PACKAGE...: installs packages; its exit code is that of apt-get.
apt_install() {
    say "Installing $* ..."
    as_root apt-get install -y -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 --no-install-recommends "$@" </dev/null >&2
}

need_compiler() {
    command -v g++ >/dev/null && return
    if may_install && refresh_lists && apt_install g++ libc6-dev; then return; fi
    stop "A C++ compiler is missing. Install it with" "sudo apt-get update && sudo apt-get install -y g++ libc6-dev"
}

# Prints the name of the newest clang++ that has libFuzzer, such as clang++-19.
fuzzing_clang() {
    local name
    for name in $(compgen -c clang++ | grep -xE 'clang\+\+(-[0-9]+)?' | sort -urV); do
        if [ -f "$("$name" --print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ]; then echo "$name"; return; fi
    done
    return 1
}

# Only for tests; if it cannot be installed, tests that fuzz are skipped.
want_clang() {
    fuzzing_clang >/dev/null && return
    if may_install && refresh_lists && apt_install clang && apt_install "libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"; then return; fi
    say "Without clang and its runtime the proctor's parsers are not fuzzed."
}

# Only for tests, and only root can start the daemons; if it cannot be installed, tests on a cluster are skipped.
want_slurm() {
    if ! is_root || { command -v sbatch && [ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/munged ]; } >/dev/null; then return; fi
    if may_install && refresh_lists && apt_install slurm-wlm munge; then return; fi
    say "Without slurm-wlm and munge the tests on a Slurm cluster are skipped."
}

# Only for tests, and only in CI, because the package may start a server: promtool checks alert rules.
want_promtool() {
    if command -v promtool >/dev/null; then return; fi
    if may_install && refresh_lists && apt_install prometheus; then return; fi
    say "Without promtool (prometheus) the alert rules are not checked."
}

# install_each LOSS PACKAGE...: installs packages one by one, so that a missing package does not prevent the others; for
# each package that cannot be installed, prints LOSS.
install_each() {
    local package loss=$1
    shift
    if [ $# = 0 ]; then return; fi
    if may_install; then refresh_lists; fi
    for package; do
        if ! may_install || ! apt_install "$package"; then say "Without $package $loss."; fi
    done
}

# missing TOOL:PACKAGE...: prints the packages of missing tools.
missing() {
    local tool
    for tool; do type -P "${tool%%:*}" >/dev/null || echo "${tool#*:}"; done
}

# Only for tests, and large: compilers and interpreters of all languages, in folders that sandboxes show. Without
# them, the tests of a language are skipped or, if CI is set, fail.
want_languages() {
    local packages
    packages=$(PATH=/usr/local/bin:/usr/bin:/bin missing javac:default-jdk-headless pypy3:pypy3 rustc:rustc go:golang-go \
        mcs:mono-mcs mono:mono-runtime)
    # shellcheck disable=SC2086 # the packages are words of their own
    install_each "the tests of a language are skipped" $packages
}

# Only for tests of the wheel, which contains binaries for aarch64, and of these binaries.
want_other_machine() {
    # shellcheck disable=SC2046 # the packages are words of their own
    install_each "the wheel's binaries for aarch64 are not tested" \
        $(missing aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static)
}

# Only for tests of the report's pages: without a browser they are skipped or, if CI is set, fail.
want_browser() {
    # shellcheck disable=SC2046 # the packages are words of their own
    install_each "the tests of pages in a browser are skipped" \
        $(missing chromium:chromium chromedriver:chromium-driver npm:npm)
    [ -e "$venv/axe/node_modules/axe-core" ] || npm install --silent --no-audit --no-fund --prefix "$venv/axe" axe-core ||
        say "Without axe-core (npm) the accessibility of the report's pages is not tested."
}

# Root runs the tests as nobody as well, and nobody must be able to start the same Python. (A program that setpriv starts
# still has root's capabilities, and could open paths that are closed to nobody. The execve of env drops them.)
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env "$@"; }

starts_pytest() { nobody "$1/bin/python" -c 'import pytest' 2>/dev/null; }

# copy_checkout FOLDER: copies the checkout, without its history, environments and caches.
copy_checkout() {
    tar -C "$top" --exclude=./.git --exclude='./.venv*' --exclude=./runs --exclude='./.*_cache' -cf - . |
        tar -C "$1" --no-same-owner -xf -
}

# nobody gets copies, because other users may not be able to read the checkout, and a folder `own` to write.
copy_for_nobody() {
    mkdir "$1/tree" "$1/own"
    copy_checkout "$1/tree"
    starts_pytest "$venv" || cp -a "$venv" "$1/venv"
    "$venv/bin/python" -m compileall -q "$1/tree/ioi_eval" # nobody cannot write there
    chmod -R a+rX "$1"
    chown 65534:65534 "$1/own"
}

# nobodys_python PLACE ARGUMENTS...: runs Python as nobody, in a copy of the checkout in PLACE. nobody can write PLACE/own.
nobodys_python() (
    place=$1 python=$venv
    shift
    [ -d "$place/tree" ] || copy_for_nobody "$place"
    if [ -d "$place/venv" ]; then python=$place/venv; fi
    starts_pytest "$python" ||
        stop "nobody cannot start $(real_path "$python/bin/python"). Create the environment again, with a Python that all users can read:" \
            "rm -rf '$venv'; export PYTHON=/usr/bin/python3"
    cd "$place/tree"
    nobody -u XDG_CACHE_HOME -u XDG_RUNTIME_DIR HOME=/nonexistent TMPDIR="$place/own" \
        PYTHONPATH="$place/tree:$place/tree/tests:$place/tree/tests/attacks:$place/tree/tests/proctor" \
        PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$place/own/hypothesis" \
        "$python/bin/python" "$@"
)

real_path() { "$1" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

runs_harbor() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

open_to_all() { ! is_root || nobody "$(real_path "$1")" -c '' 2>/dev/null; }

pythons() {
    local name
    if [ -n "${PYTHON:-}" ]; then echo "$PYTHON"; return; fi
    for name in python3.{11..20} python3; do type -ap "$name" || true; done
}

# find_python TEST...: prints the first Python that is new enough and passes every test.
find_python() {
    local candidate test
    while read -r candidate; do
        new_enough "$candidate" || continue
        for test in "$@"; do "$test" "$candidate" || continue 2; done
        echo "$candidate"
        return
    done < <(pythons)
    return 1
}

best_python() { find_python has_venv open_to_all || find_python has_venv; }

# Prints the packages of a Python: the venv module of an installed Python, else Python 3.11, else the system's default.
python_packages() {
    local found
    if found=$(find_python); then
        "$found" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    elif apt-cache show python3.11 >/dev/null 2>&1; then
        echo python3.11 python3.11-venv
    else
        echo python3 python3-venv
    fi
}

need_python() {
    local packages
    best_python && return
    if may_install; then refresh_lists; fi
    packages=$(python_packages)
    # shellcheck disable=SC2086 # the packages are words of their own
    if may_install && apt_install $packages && best_python; then return; fi
    stop "Python 3.11 or newer with its venv module is missing. Install it with" \
        "sudo apt-get update && sudo apt-get install -y $packages"
}

install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

# need_package EXTRAS: installs the package, editable, into the virtual environment, again only if pyproject.toml changed.
# During an installation, programs of the environment may not find the package for a moment.
need_package() {
    mkdir -p "$venv"
    exec 9<"$venv"
    flock 9
    if ! is_installed "$1"; then
        make_venv
        say "Installing ioi_eval$1 into $venv ..."
        install --editable "$top$1"
        printf '%s\n' "$(wanted "$1")" >"$venv/.installed$1"
    fi
    exec 9<&-
}

wanted() { printf '%s %s' "$(sha256sum <"$top/pyproject.toml")" "$top$1"; }

# An installation with extras also counts if no extras are required.
is_installed() {
    local one noted=("$venv/.installed$1")
    if [ -z "$1" ]; then noted=("$venv/.installed"*); fi
    for one in "${noted[@]}"; do
        if [ -e "$one" ] && [ "$(cat "$one")" = "$(wanted "${one##*/.installed}")" ]; then return; fi
    done
    return 1
}

# Creates the environment, again if its creation was interrupted or its Python has disappeared.
make_venv() {
    local python
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 && new_enough "$venv/bin/python" && return
    python=$(need_python)
    say "Creating the virtual environment $venv with $python ..."
    "$python" -m venv --clear "$venv"
}
