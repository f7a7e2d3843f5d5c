"""Every language on the embedded engine, with every outcome of a program.

A language without a toolchain that sandboxes can see is skipped by name.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from requirements import require_language
from support.cached_lookups import cached_toolchains
from support.engines import LANGUAGES, Language, find_language
from support.folders import examples_folder
from threaded_programs import BRACES, THREADED, THREADS

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Blob, Limits, NamedBlob, Problem, Submission, SubmissionResult, Subtask, Test
from ioi_eval.models import Verdict as V

TESTS = (
    Test(name="small", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),
    Test(name="large", input=Blob.of("10000000000 2\n"), answer=Blob.of("10000000002\n")),
)
PROBLEM = Problem(
    id="sum",
    tests=TESTS,
    limits=Limits(cpu_time=2.0, wall_time=20.0, memory=256 << 20),
    subtasks=(Subtask(name="all", points=100, tests=("small", "large")),),
)
# An endless program exceeds a short limit, too.
SHORT = msgspec.structs.replace(
    PROBLEM,
    tests=TESTS[:1],
    limits=Limits(cpu_time=0.3, wall_time=20.0, memory=256 << 20),
    subtasks=(Subtask(name="all", points=100, tests=("small",)),),
)

PYTHON = {
    V.WA: "print(3)",
    V.TLE: "while True: pass",
    V.RE: "print([][1])",
    V.MLE: "x = bytearray(b'x') * (400 << 20)",
    V.CE: "print(",
}
C = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{ {} }}"
RUST = "fn main() {{ {} }}"
GO = 'package main\nimport "fmt"\nfunc main() {{ {} }}'
PASCAL = "program p;\nuses sysutils;\nvar i: Int64; x: array of byte;\nbegin\n{}\nend.\n"
HASKELL = "import qualified Data.Map.Strict as M\nmain :: IO ()\nmain = {}\n"
CSHARP = "using System;\nclass P {{ static void Main(string[] x) {{ {} }} }}"
KOTLIN = "fun main(x: Array<String>) {{ {} }}"

C_PROGRAMS = {
    V.WA: C.format('puts("3");'),
    V.TLE: C.format("for (volatile long i = 0;; i = i + 1) {}"),
    V.RE: C.format("abort();"),
    V.MLE: C.format(
        "char* p = malloc(400 << 20); for (long i = 0; i < 400 << 20; ++i) p[i] = (char)i;"
        ' return p[atoi("7")] - 7;'
    ),
    V.CE: C.format("return x;"),
}
PROGRAMS = {
    "c": C_PROGRAMS,
    "c++": C_PROGRAMS | {V.MLE: C_PROGRAMS[V.MLE].replace("= malloc", "= (char*)malloc")},
    "python": PYTHON,
    "pypy": PYTHON,
    "java": {
        V.WA: BRACES.format("System.out.println(3);"),
        V.TLE: BRACES.format("for (long i = 0;; i++) { if (i < 0) System.out.println(i); }"),
        V.RE: BRACES.format("int[] x = {}; System.out.println(x[1]);"),
        V.MLE: BRACES.format(
            "var all = new java.util.ArrayList<int[]>(); for (;;) { int[] x = new int[1 << 18];"
            " java.util.Arrays.fill(x, 7); all.add(x); }"
        ),
        V.CE: BRACES.format('int x = "3";'),
    },
    "rust": {
        V.WA: RUST.format('println!("3");'),
        V.TLE: RUST.format("let mut i = 0u64; loop { unsafe { std::ptr::write_volatile(&mut i, 1); } }"),
        V.RE: RUST.format(
            'let v: Vec<i32> = std::env::args().skip(9).map(|_| 1).collect(); println!("{}", v[1]);'
        ),
        V.MLE: RUST.format('let v = vec![7u8; 400 << 20]; println!("{}", v[std::env::args().count()]);'),
        V.CE: RUST.format('let x: i32 = "3"; println!("{}", x);'),
    },
    "go": {
        V.WA: GO.format("fmt.Println(3)"),
        V.TLE: GO.format("for i := 0; ; i++ { if i < 0 { fmt.Println(i) } }"),
        V.RE: GO.format("var x []int; fmt.Println(x[1])"),
        V.MLE: GO.format(
            "x := make([]byte, 400 << 20); for i := range x { x[i] = byte(i) }; fmt.Println(x[7])"
        ),
        V.CE: GO.format("unused := 1"),
    },
    "pascal": {
        V.WA: PASCAL.format("WriteLn(3);"),
        V.TLE: PASCAL.format("while true do Inc(i);"),
        V.RE: PASCAL.format("i := 0; WriteLn(7 div i);"),
        V.MLE: PASCAL.format("SetLength(x, 400 shl 20); FillChar(x[0], Length(x), 7); WriteLn(x[7]);"),
        V.CE: PASCAL.format('i := "3";'),
    },
    "haskell": {
        V.WA: HASKELL.format("print 3"),
        V.TLE: HASKELL.format("mapM_ (\\i -> if i < 0 then print i else return ()) [0 :: Integer ..]"),
        V.RE: HASKELL.format("print (head ([] :: [Int]))"),
        V.MLE: HASKELL.format("print (M.foldl' (+) 0 (M.fromList [(i, i) | i <- [1 .. 9000000 :: Int]]))"),
        V.CE: HASKELL.format("print (length 3 :: String)"),
    },
    "javascript": {
        V.WA: "console.log(3);",
        V.TLE: "for (let i = 0; ; ++i) if (i < 0) console.log(i);",
        V.RE: "console.log(undefined.x);",
        V.MLE: "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 7));",
        V.CE: "const x = ;",
    },
    "c#": {
        V.WA: CSHARP.format("Console.WriteLine(3);"),
        V.TLE: CSHARP.format("for (long i = 0;; i++) if (i < 0) Console.WriteLine(i);"),
        V.RE: CSHARP.format("Console.WriteLine(x[7]);"),
        V.MLE: CSHARP.format(
            "var y = new byte[400 << 20]; Array.Fill(y, (byte)7); Console.WriteLine(y[x.Length]);"
        ),
        V.CE: CSHARP.format('int i = "3";'),
    },
    "kotlin": {
        V.WA: KOTLIN.format("println(3)"),
        V.TLE: KOTLIN.format("var i = 0L; while (true) { i++; if (i < 0) println(i) }"),
        V.RE: KOTLIN.format("println(x[7])"),
        V.MLE: KOTLIN.format(
            "val all = ArrayList<IntArray>(); while (true) all.add(IntArray(1 shl 18, { 7 }))"
        ),
        V.CE: KOTLIN.format('val i: Int = "3"'),
    },
}


def ids(language: Language) -> str:
    return language.name


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    async with Scorer(
        EmbeddedEngine(store=store), store=store, options=JudgeOptions(all_tests=True)
    ) as opened:
        yield opened


async def score(scorer: Scorer, code: str, language: str, problem: Problem = PROBLEM) -> SubmissionResult:
    return await scorer.score(problem, Submission(key="1", problem_id="sum", code=code, language=language))


def example(language: Language) -> str:
    suffix = find_language("python").suffixes[0] if language.name == "pypy" else language.suffixes[0]
    return next(
        path for path in (examples_folder() / "languages").iterdir() if path.suffix == suffix
    ).read_text()


@pytest.fixture
async def example_result(scorer: Scorer, language: Language) -> SubmissionResult:
    """Return the judged example of the language."""
    require_language(language.name)
    return await score(scorer, example(language), language.name)


@pytest.mark.parametrize("language", LANGUAGES, ids=ids)
async def test_language_example_is_ac(example_result: SubmissionResult, language: Language) -> None:
    result = example_result
    assert [test.status for test in result.tests] == [V.AC, V.AC], result
    assert result.compiler.startswith(language.command)


@pytest.mark.nightly(unless="^(c[+][+]-landlock|python-)")
@pytest.mark.parametrize("layers", [("landlock", "seccomp"), ("namespaces", "seccomp")], ids=lambda x: x[0])
@pytest.mark.parametrize("language", LANGUAGES, ids=ids)
async def test_language_example_is_judged_with_fewer_sandbox_layers(
    store: Store, tmp_path: Path, language: Language, layers: tuple[str, ...]
) -> None:
    require_language(language.name)
    if language.runner == "mono" and "namespaces" not in layers:
        pytest.skip(
            "mono's compiler reads the map of its memory, which only a sandbox with a new /proc shows"
        )
    engine = EmbeddedEngine(store=store, layers=layers)
    async with Scorer(engine, store=Store(tmp_path / "nothing built yet")) as scorer:
        result = await score(scorer, example(language), language.name)
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


IN_A_DEEPER_STACK = """using System; using System.Threading;
class P {
  static void Work() {
    var given = Console.ReadLine().Split();
    long blocks = 0;
    for (int i = 0; i < 3000; i++) blocks += new int[2000].Length;
    GC.Collect();
    Console.WriteLine(long.Parse(given[0]) + long.Parse(given[1]) + blocks - 6000000);
  }
  static void Main() { var deeper = new Thread(Work, 1 << 28); deeper.Start(); deeper.Join(); }
}
"""


async def test_mono_collects_memory_while_another_thread_waits(scorer: Scorer) -> None:
    require_language("c#")
    result = await score(scorer, IN_A_DEEPER_STACK, "c#")
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


async def test_go_program_with_c_code_is_refused_before_a_c_compiler_starts(scorer: Scorer) -> None:
    require_language("go")
    source = 'package main\n// #include "/dev/stdout"\nimport "C"\nfunc main() {}\n'
    result = await score(scorer, source, "go")
    assert result.verdict is V.CE and "no Go source files" in result.compile_output, result


# Programs that open their input by name, as most JavaScript programs do.
BY_NAME = {
    "c++": "#include <fstream>\n#include <iostream>\n"
    'int main() { std::ifstream in("/dev/stdin"); long long a, b; in >> a >> b; std::cout << a + b; }',
    "python": "print(sum(map(int, open('/dev/stdin').read().split())))",
    "pypy": "print(sum(map(int, open('/dev/stdin').read().split())))",
    "javascript": "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(/\\s+/).map(BigInt);"
    " console.log(String(a + b))",
    "java": "public class Main { public static void main(String[] x) throws Exception {"
    ' var in = new java.util.Scanner(new java.io.File("/dev/stdin"));'
    " System.out.println(in.nextLong() + in.nextLong()); } }",
    "rust": RUST.format(
        'let text = std::fs::read_to_string("/dev/stdin").unwrap();'
        ' println!("{}", text.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>());'
    ),
}


@pytest.mark.nightly(unless="^(c[+][+]|python)-None")
@pytest.mark.parametrize("layers", [None, ("landlock", "seccomp"), ("namespaces", "seccomp")], ids=str)
@pytest.mark.parametrize("language", BY_NAME)
async def test_input_file_is_readable_by_name(
    store: Store, language: str, layers: tuple[str, ...] | None
) -> None:
    require_language(language)
    async with Scorer(EmbeddedEngine(store=store, layers=layers), store=store) as scorer:
        result = await score(scorer, BY_NAME[language], language)
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


# Four threads with 16 MiB each, which lock, wait and are joined, as the runtime's own library does it.
@pytest.mark.nightly(unless="^(c[+][+]|python)$")
@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.name in THREADED], ids=ids)
async def test_threads_and_large_allocations_are_allowed(scorer: Scorer, language: Language) -> None:
    require_language(language.name)
    result = await score(scorer, THREADED[language.name], language.name)
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


# In each language a program of which the second source does the work.
SEVERAL: dict[str, tuple[str, str, str]] = {
    "c": (
        "#include <stdio.h>\nlong long add(long long, long long);\n"
        'int main(void) { long long a, b; scanf("%lld %lld", &a, &b); printf("%lld", add(a, b)); return 0; }',
        "add.c",
        "long long add(long long a, long long b) { return a + b; }",
    ),
    "c++": (
        "#include <cstdio>\nlong long add(long long, long long);\n"
        'int main() { long long a, b; scanf("%lld %lld", &a, &b); printf("%lld", add(a, b)); }',
        "add.cc",
        "long long add(long long a, long long b) { return a + b; }",
    ),
    "python": (
        "from adding.add import add\nprint(add(*map(int, input().split())))",
        "adding/add.py",
        "def add(a, b):\n    return a + b",
    ),
    "java": (
        "public class Main { public static void main(String[] x) { var in = new java.util.Scanner(System.in);"
        " System.out.println(Add.add(in.nextLong(), in.nextLong())); } }",
        "Add.java",
        "public class Add { static long add(long a, long b) { return a + b; } }",
    ),
    "rust": (
        "mod add;\nfn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap();"
        " let x: Vec<i64> = s.split_whitespace().map(|x| x.parse().unwrap()).collect();"
        ' println!("{}", add::add(&x)); }',
        "add.rs",
        "pub fn add(x: &[i64]) -> i64 { x[0] + x[1] }",
    ),
    "go": (
        'package main\nimport "fmt"\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(add(a, b)) }',
        "add.go",
        "package main\nfunc add(a, b int) int { return a + b }",
    ),
}
SEVERAL |= {
    "pascal": (
        "program sum;\nuses add;\nvar a, b: Int64;\nbegin\nReadLn(a, b); WriteLn(added(a, b));\nend.",
        "add.pas",
        "unit add;\ninterface\nfunction added(a, b: Int64): Int64;\nimplementation\n"
        "function added(a, b: Int64): Int64;\nbegin\nadded := a + b;\nend;\nend.",
    ),
    "haskell": (
        "import Adding.Add\nmain :: IO ()\nmain = getLine >>= print . add . map read . words",
        "Adding/Add.hs",
        "module Adding.Add where\nadd :: [Integer] -> Integer\nadd = sum",
    ),
    "javascript": (
        'const { add } = require("./adding/add"); const text = require("fs").readFileSync(0, "utf8");'
        ' console.log(String(add(...text.split(" ").map(BigInt))));',
        "adding/add.js",
        "exports.add = (a, b) => a + b;",
    ),
    "c#": (
        "class P { static void Main() { var x = System.Console.ReadLine().Split();"
        " System.Console.WriteLine(Adding.Add(long.Parse(x[0]), long.Parse(x[1]))); } }",
        "Adding.cs",
        "static class Adding { public static long Add(long a, long b) { return a + b; } }",
    ),
    "kotlin": (
        'fun main() { val (a, b) = readLine()!!.split(" ").map { it.toLong() }; println(add(a, b)) }',
        "Adding.kt",
        "fun add(a: Long, b: Long) = a + b",
    ),
}
SEVERAL["pypy"] = SEVERAL["python"]


@pytest.mark.nightly(unless="^(c[+][+]|python)$")
@pytest.mark.parametrize("language", LANGUAGES, ids=ids)
async def test_program_of_several_sources_is_built(scorer: Scorer, language: Language) -> None:
    require_language(language.name)
    main, name, other = SEVERAL[language.name]
    whole = Submission(
        key="1",
        problem_id="sum",
        code=main,
        language=language.name,
        files=(NamedBlob(name=name, content=Blob.of(other)),),
    )
    result = await scorer.score(PROBLEM, whole)
    assert [test.status for test in result.tests] == [V.AC, V.AC], result
    broken = NamedBlob(name=name, content=Blob.of(f")\n{other}"))
    result = await scorer.score(PROBLEM, msgspec.structs.replace(whole, files=(broken,)))
    assert {test.status for test in result.tests} == {V.CE}, result


@pytest.mark.nightly(unless="python")
@pytest.mark.parametrize("status", [V.WA, V.TLE, V.RE, V.MLE, V.CE])
@pytest.mark.parametrize("language", LANGUAGES, ids=ids)
async def test_wrong_program_gets_expected_verdict(scorer: Scorer, language: Language, status: V) -> None:
    require_language(language.name)
    problem = SHORT if status is V.TLE else PROBLEM
    result = await score(scorer, PROGRAMS[language.name][status], language.name, problem)
    assert result.tests[-1].status is status, result
    assert result.compiles == (status is not V.CE)
    if status is V.CE:  # the first line is the error or its location
        assert re.match(r".*(?:error|\b(?:sum|submission)\.)", result.compile_output.strip()), result


# --- PyPy ------------------------------------------------------------------------------------------------


async def test_pypy_feedback_has_no_warning_about_processors(scorer: Scorer) -> None:
    require_language("pypy")
    result = await score(scorer, "raise SystemExit(1)", "pypy")
    assert result.tests[0].feedback == "Runtime error (exit code 1)", result


# --- C# --------------------------------------------------------------------------------------------------


async def test_csharp_may_use_unsafe_pointers(scorer: Scorer) -> None:
    require_language("c#")
    code = CSHARP.format("unsafe { int sum = 3; int* at = &sum; Console.WriteLine(*at); }")
    result = await score(scorer, code, "c#")
    assert result.tests[0].status is V.AC, result


# --- Rust ------------------------------------------------------------------------------------------------


async def test_rust_crate_name_may_be_changed(scorer: Scorer) -> None:
    require_language("rust")
    code = '#![crate_name = "sums"]\nfn main() { println!("3"); }'
    result = await score(scorer, code, "rust")
    assert result.tests[0].status is V.AC, result


# --- Java ------------------------------------------------------------------------------------------------

JAVA = {
    "a class that is not public": "class Thing { public static void main(String[] a) { %s } }",
    "a public class of any name": "public class Elsewhere { public static void main(String[] a) { %s } }",
    "in a package": "package a.b; public class Main { public static void main(String... a) { %s } }",
    "after other classes": "class A {} interface B {} record C(int x) {} enum D { E; "
    "public static void main(String[] a) { %s } }",
    "after a byte order mark": "\ufeffpublic class Main { public static void main(String[] a) { %s } }",
    "called Main, after another class's main": "class Tried { public static void main(String[] a) {} } "
    "class Main { public static void main(String[] a) { %s } }",
    "inherited": "class Base { public static void main(String[] a) { %s } } public class M extends Base {}",
    "in threads": "public class Main { public static void main(String[] a) throws Exception { "
    'Thread t = new Thread(null, () -> { deep(200000); %s }, "deep", 256 << 20); t.start(); t.join(); } '
    "static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); } }",
}
ADD = "var in = new java.util.Scanner(System.in); System.out.println(in.nextLong() + in.nextLong());"


@pytest.mark.nightly
@pytest.mark.parametrize("code", JAVA.values(), ids=JAVA.keys())
async def test_java_main_class_may_have_any_name(scorer: Scorer, code: str) -> None:
    require_language("java")
    result = await score(scorer, code % ADD, "Java 17")
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


@pytest.mark.nightly
async def test_java_source_without_main_is_a_compile_error(scorer: Scorer) -> None:
    require_language("java")
    result = await score(scorer, "public class Main { static void main(int x) {} }", "java")
    assert not result.compiles and "no class has a public static void main" in result.compile_output


# --- threads ---------------------------------------------------------------------------------------------


@pytest.mark.nightly(unless="python")
@pytest.mark.parametrize("name", THREADS)
async def test_thread_with_deeper_stack_is_allowed(scorer: Scorer, name: str) -> None:
    require_language(name)
    result = await score(scorer, THREADS[name], name)
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


async def test_reserved_stack_above_memory_limit_is_allowed(scorer: Scorer) -> None:
    """Untouched memory is not counted. PyPy reserves much more than the stack."""
    require_language("pypy")
    code = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(512 << 20)\n"
        "def deep(n): return 0 if n == 0 else 1 + deep(n - 1)\n"
        "def work(): print(sum(map(int, input().split())) + deep(50000) - 50000)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()"
    )
    result = await score(scorer, code, "pypy")
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


BOMBS = {
    "python": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
    "java": BRACES.format(
        "for (;;) new Thread(() -> { for (;;) try { Thread.sleep(60000); } catch (Exception e) {} }).start();"
    ),
}


@pytest.mark.nightly(unless="python")
@pytest.mark.parametrize("name", BOMBS)
async def test_too_many_threads_are_runtime_error(scorer: Scorer, name: str) -> None:
    require_language(name)
    result = await score(scorer, BOMBS[name], name)
    assert {(test.status, test.feedback) for test in result.tests} == {
        (V.RE, "Runtime error (too many threads)")
    }


# --- a toolchain that is missing -------------------------------------------------------------------------


# Without g++ no engine starts.
@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.name != "c++"], ids=ids)
async def test_missing_toolchain_is_judge_failure_with_remedy(
    store: Store, language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilers = {name: tool for name, tool in cached_toolchains().items() if name == "g++"}
    monkeypatch.setattr("ioi_eval.engines.embedded.engine.find_toolchains", lambda *_: compilers)
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        with pytest.raises(JudgeFailure) as caught:
            await score(scorer, example(language), language.name)
    assert language.remedy in str(caught.value)
