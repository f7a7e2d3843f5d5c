"""The task types other than Batch, with the ways in which each can fail."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from harness import LIMITS, SLEEPER, SPINNER, Bench, Judged
from support.proctor_protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

MANAGER = PlanManager(argv=("manager",), limits=PlanLimits(cpu_ms=5000, wall_ms=60_000, memory=1 << 30))

# The manager asks every process for the double of a number and adds the answers up.
ADDING_MANAGER = """#include <cstdio>
#include <csignal>
int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  int given, again, sum = 0, n = (argc - 1) / 2;
  scanf("%d", &given);
  fscanf(fopen("input.txt", "r"), "%d", &again);
  for (int i = 0; i < n; i++) {
    FILE *in = fopen(argv[1 + 2 * i], "r"), *out = fopen(argv[2 + 2 * i], "w");
    int answer = -1;
    fprintf(out, "%d\\n", given); fflush(out);
    if (fscanf(in, "%d", &answer) != 1) { puts("0"); fprintf(stderr, "no answer\\n"); return 0; }
    sum += answer;
  }
  bool right = given == again && sum == 2 * n * given;
  printf("%d\\n", right);
  fprintf(stderr, right ? "translate:success\\n" : "translate:wrong\\n");
}
"""
DOUBLE = (
    '#include <cstdio>\nint main(){int x; if(scanf("%d",&x)!=1) return 3; printf("%d\\n",2*x); return 0;}'
)
DOUBLE_BY_FILES = """#include <cstdio>
int main(int argc, char** argv) {
  FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
  int x;
  fscanf(in, "%d", &x);
  fprintf(out, "%d\\n", 2 * x);
  return !(argc == 3 || (argv[3][0] >= '0' && argv[3][0] <= '2'));
}
"""


def talk(bench: Bench, source: str, *, manager: str = ADDING_MANAGER, **more: object) -> Judged:
    more = {"manager": MANAGER, **more}
    return bench.judge(source, [("21\n", None)], task_type="Communication", manager_source=manager, **more)  # type: ignore[arg-type]


def test_process_that_leaves_manager_output_unread_scores_zero(bench: Bench) -> None:
    deaf = ADDING_MANAGER.replace("signal(SIGPIPE, SIG_IGN);", "").replace('puts("0");', 'puts("1");')
    # The manager waits until its pipe has no reader, because the kernel closes a process's descriptors in any order.
    gone = "int answer = -1; getc(in); pollfd reader = {fileno(out), 0, 0}; poll(&reader, 1, -1);"
    deaf = "#include <poll.h>\n" + deaf.replace("int answer = -1;", gone)
    line = talk(bench, "int main(){}", manager=deaf).tests[0]
    assert (line.end, line.score, line.feedback) == ("ok", 0, "The submission ended too early"), line


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_communication_task_runs_over_standard_streams(bench: Bench, processes: int) -> None:
    line = talk(bench, DOUBLE, processes=processes).tests[0]
    assert (line.end, line.score, line.feedback) == ("ok", 1, "Output is correct"), line


@pytest.mark.parametrize("processes", [1, 3])
def test_communication_task_runs_over_named_pipes(bench: Bench, processes: int) -> None:
    line = talk(bench, DOUBLE_BY_FILES, processes=processes, user_io="fifo_io").tests[0]
    assert (line.end, line.score) == ("ok", 1), line


def test_communication_process_gets_its_index_as_argument(bench: Bench) -> None:
    source = '#include <cstdio>\n#include <cstdlib>\nint main(int c,char**v){int x;scanf("%d",&x);printf("%d\\n",c==2?(atoi(v[1])?4:0)*x:2*x);}'
    assert talk(bench, source, processes=2).tests[0].score == 1
    assert talk(bench, source, processes=1).tests[0].score == 1


def test_failed_process_scores_zero_despite_manager(bench: Bench) -> None:
    generous = '#include <cstdio>\nint main(){puts("1");}'
    line = talk(bench, "int main(){return 5;}", manager=generous).tests[0]
    assert (line.end, line.code, line.score) == ("exit", 5, 0)


def test_process_that_dies_early_blocks_no_partner(bench: Bench) -> None:
    for user_io in ("std_io", "fifo_io"):
        line = talk(bench, "#include <cstdlib>\nint main(){abort();}", processes=2, user_io=user_io).tests[0]
        assert (line.end, line.signal) == ("signal", 6), line


def test_process_exiting_without_output_gets_the_manager_result(bench: Bench) -> None:
    line = talk(bench, "int main(){}").tests[0]
    assert (line.end, line.score, line.feedback) == ("ok", 0, "no answer")


def test_cpu_time_of_the_processes_is_summed(bench: Bench) -> None:
    burn = '#include <cstdio>\n#include <ctime>\nint main(){int x;scanf("%d",&x);while(clock()<0.05*CLOCKS_PER_SEC);printf("%d\\n",2*x);}'
    limits = PlanLimits(cpu_ms=100, wall_ms=60_000)
    assert talk(bench, burn, processes=1, limits=limits).tests[0].score == 1
    line = talk(bench, burn, processes=3, limits=limits).tests[0]
    assert (line.end, line.score) == ("cpu", 0)
    assert line.cpu_us >= 100_000


def test_exceeded_limit_of_a_process_precedes_exit_code_of_another_process(bench: Bench) -> None:
    source = """#include <cstdio>
int main(int, char** argv) {
  static char many[5000];
  if (argv[1][0] == '0') return 5;
  for (;;) fwrite(many, 1, sizeof many, stderr);
}"""
    line = talk(bench, source, processes=2, limits=LIMITS).tests[0]
    assert (line.end, line.code, line.signal) == ("output", 0, 25), line


def test_memory_of_the_processes_is_summed(bench: Bench) -> None:
    single, three = (talk(bench, DOUBLE, processes=processes).tests[0].memory for processes in (1, 3))
    assert three > 2 * single > 0


def test_sleeping_process_with_waiting_manager_is_killed(bench: Bench) -> None:
    line = talk(bench, "#include <unistd.h>\nint main(){for(;;) sleep(9);}", limits=SLEEPER).tests[0]
    assert line.end == "wall"


def test_hanging_manager_gives_no_verdict(bench: Bench) -> None:
    limits = PlanLimits(cpu_ms=500, wall_ms=900, memory=1 << 30)
    hanging = "#include <unistd.h>\nint main(){for(;;) sleep(9);}"
    manager = PlanManager(argv=("manager",), limits=limits)
    result = bench.judge(
        "int main(){}", [("1", None)], task_type="Communication", manager_source=hanging, manager=manager
    )
    line = result.tests[0]
    assert line.failure == "the manager ran out of time"


def test_manager_that_exits_early_decides_unless_process_fails(bench: Bench) -> None:
    leaving = '#include <cstdio>\nint main(){puts("0.5"); fputs("seen enough",stderr);}'
    line = talk(
        bench, "#include <unistd.h>\nint main(){char c; return read(0,&c,1)!=0;}", manager=leaving
    ).tests[0]
    assert (line.end, line.score, line.feedback) == ("ok", 0.5, "seen enough")
    line = talk(
        bench, '#include <cstdio>\nint main(){for(;;) puts("and another thing");}', manager=leaving
    ).tests[0]
    assert (line.end, line.signal, line.score) == ("signal", 13, 0)


def test_broken_manager_gives_no_verdict(bench: Bench) -> None:
    line = talk(bench, "int main(){}", manager='#include <cstdio>\nint main(){puts("maybe");}').tests[0]
    assert line.failure is not None and line.failure.startswith("the manager printed no score")
    assert line.provoked


def test_failure_reported_by_manager_is_marked_as_possibly_provoked_by_submission(bench: Bench) -> None:
    """tests/unit/judge/test_blame.py tests how a right solution shows whose fault it is."""
    source = '#include <cstdio>\nint main(){fputs("FAIL cannot parse", stderr); return 3;}'
    line = talk(bench, "int main(){}", manager=source).tests[0]
    assert line.failure is not None and line.provoked


def test_manager_arguments_follow_pipes(bench: Bench) -> None:
    source = '#include <cstdio>\n#include <cstring>\nint main(int c,char**v){printf("%d\\n",c==5&&!strcmp(v[3],"hard")&&!strcmp(v[4],"7"));}'
    manager = PlanManager(argv=("manager", "hard", "7"), limits=MANAGER.limits)
    result = bench.judge(
        "int main(){}", [("1", None)], task_type="Communication", manager_source=source, manager=manager
    )
    assert result.tests[0].score == 1


def test_checker_judges_manager_output(bench: Bench) -> None:
    manager = '#include <cstdio>\nint main(){puts("output of the manager");}'
    checker = """#include <cstdio>
#include <cstring>
int main(int, char** argv) {
  char line[99] = "";
  fgets(line, sizeof line, fopen(argv[3], "r"));
  puts(strcmp(line, "output of the manager\\n") ? "0" : "0.25");
}
"""
    limits = PlanLimits(cpu_ms=1000, wall_ms=2000)
    line = talk(
        bench,
        "int main(){}",
        manager=manager,
        checker=PlanChecker(kind="cms", argv=("checker",), limits=limits),
        checker_source=checker,
    ).tests[0]
    assert (line.end, line.score) == ("ok", 0.25)


def test_output_only_scores_submitted_files(bench: Bench) -> None:
    result = bench.judge(
        "",
        [("", "7\n"), ("", "7\n"), ("", "7\n")],
        task_type="OutputOnly",
        submission=PlanSubmission(),
        outputs={0: b"7", 1: b"8"},
    )
    assert [result.tests[i].score for i in range(3)] == [1, 0, 0]
    assert result.tests[2].feedback == "File not submitted"


def test_batch_and_output_scores_program_and_files(bench: Bench) -> None:
    checker = '#include <cstdio>\n#include <cstring>\nint main(int c,char**v){puts(c==5&&!strcmp(v[4],"batch")?"1":c==5&&!strcmp(v[4],"outputonly")?"0.5":"0");}'
    result = bench.judge(
        DOUBLE, [("1", "2"), ("1", "2")], task_type="BatchAndOutput", outputs={1: b"2"},
        checker=PlanChecker(kind="cms", argv=("checker",), limits=PlanLimits(cpu_ms=1000, wall_ms=2000)), checker_source=checker,
    )  # fmt: skip
    assert [result.tests[i].score for i in range(2)] == [1, 0.5]


def test_submitted_output_is_judged_instead_of_the_program(bench: Bench) -> None:
    checker = '#include <cstring>\n#include <cstdio>\nint main(int, char** v) { puts(strcmp(v[4], "batch") ? "0.5" : "1"); }'
    result = bench.judge(
        "int main() { return 3; }",
        [("1", "2")] * 4,
        task_type="BatchAndOutput",
        outputs={1: b"2", 2: b"2"},
        by_file=(2, 3),
        checker=PlanChecker(kind="cms", argv=("checker",), limits=MANAGER.limits),
        checker_source=checker,
    )
    assert [(result.tests[i].end, result.tests[i].score) for i in range(4)] == [
        ("exit", 0),
        ("ok", 1),  # a submitted file replaces the program's output, and the checker cannot detect this
        ("ok", 0.5),
        ("ok", 0),
    ]
    assert result.tests[3].feedback == "File not submitted"


def test_output_of_broken_manager_is_not_judged(bench: Bench) -> None:
    manager = '#include <cstdio>\nint main(){puts("half of it"); return 3;}'
    checker = PlanChecker(kind="cms", argv=("checker",), limits=MANAGER.limits)
    generous = '#include <cstdio>\nint main(){puts("1");}'
    line = talk(bench, "int main(){}", manager=manager, checker=checker, checker_source=generous).tests[0]
    assert line.failure is not None and line.failure.startswith("the manager exited with code 3"), line


@pytest.mark.parametrize(("writes", "score"), [("output.txt", 1), ("/dev/null", 0.25)])
def test_manager_file_is_judged_by_checker(bench: Bench, writes: str, score: float) -> None:
    manager = """#include <cstdio>
int main(int argc, char** argv) {
  puts("on standard output");
  FILE* file = fopen(argv[argc - 1], "w");
  if (!file) return 1;
  fputs("in a file", file);
}"""
    checker = """#include <cstdio>
#include <cstring>
int main(int, char** v) {
  char line[50] = {};
  std::fgets(line, sizeof line, std::fopen(v[3], "r"));
  std::puts(!std::strcmp(line, "in a file") ? "1" : !std::strncmp(line, "on standard", 11) ? "0.25" : "0");
}"""
    result = bench.judge(
        "int main() {}",
        [("1", "2"), ("1", "2")],
        task_type="Communication",
        manager_source=manager,
        manager=PlanManager(argv=("manager", writes), limits=MANAGER.limits),
        checker=PlanChecker(kind="cms", argv=("checker",), limits=MANAGER.limits),
        checker_source=checker,
    )
    assert [result.tests[i].score for i in range(2)] == [score, score]


TWO_STEPS = """#include <cstdio>
int main(int, char** argv) {
  int x;
  if (argv[1][0] == '0') { scanf("%d", &x); FILE* out = fopen(argv[2], "w"); fprintf(out, "%d\\n", x * 2); }
  else { FILE* in = fopen(argv[2], "r"); if (fscanf(in, "%d", &x) != 1) return 4; printf("%d\\n", x + 1); }
  return 0;
}
"""


def test_two_steps_passes_data_to_second_run(bench: Bench) -> None:
    result = bench.judge(TWO_STEPS, [("20", "41"), ("20", "40")], task_type="TwoSteps")
    assert [result.tests[i].score for i in range(2)] == [1, 0], result


@pytest.mark.parametrize(("most", "end"), [(3, "ok"), (2, "output")])
def test_two_steps_output_of_exactly_the_limit_is_accepted(bench: Bench, most: int, end: str) -> None:
    limits = msgspec.structs.replace(LIMITS, output=most)
    assert bench.one(TWO_STEPS, "20", "41\n", task_type="TwoSteps", limits=limits).end == end


def test_two_steps_reports_exit_code_of_failed_first_run(bench: Bench) -> None:
    line = bench.one(TWO_STEPS.replace("{ scanf", "{ return 6; scanf"), "1", "3", task_type="TwoSteps")
    assert (line.end, line.code) == ("exit", 6)


# Its arguments are the exit codes for a guessed number and for a number that was not guessed.
GUESSING = """#include <cstdio>
#include <cstdlib>
int main(int argc, char** argv) {
  int secret, guess, tries = 0;
  fscanf(fopen(argv[1], "r"), "%d", &secret);
  while (tries++ < 10 && scanf("%d", &guess) == 1) {
    puts(guess < secret ? "more" : guess > secret ? "less" : "right"); fflush(stdout);
    if (guess == secret) return atoi(argv[argc - 2]);
  }
  fputs("not found", stderr);
  return atoi(argv[argc - 1]);
}
"""
SEARCH = '#include <cstdio>\nint main(){int a=1,b=100;char s[9];for(;;){int m=(a+b)/2;printf("%d\\n",m);fflush(stdout);if(scanf("%8s",s)!=1)return 0;if(*s==109)a=m+1;else if(*s==108)b=m-1;else return 0;}}'
STUBBORN = '#include <cstdio>\nint main(){for(;;){puts("1");fflush(stdout);}}'


def guessing(kind: str, yes: int, no: int) -> dict[str, Any]:
    """Return the fields of a plan for a game with this interactor."""
    manager = PlanManager(argv=("manager", str(yes), str(no)), kind=kind, limits=MANAGER.limits)
    return {"task_type": "Interactive", "manager": manager, "manager_source": GUESSING}


@pytest.mark.parametrize(("kind", "yes", "no"), [("testlib", 0, 1), ("icpc", 42, 43), ("exit-code", 0, 1)])
def test_interactor_decides_the_score(bench: Bench, kind: str, yes: int, no: int) -> None:
    for source, score in ((SEARCH, 1), (STUBBORN, 0), ("int main(){}", 0)):
        line = bench.one(source, "37", None, **guessing(kind, yes, no))
        assert (line.end, line.score) == ("ok", score), line
        # A loop that the interactor has rejected ends by SIGPIPE, which is not its verdict.
        assert line.signal == (13 if source == STUBBORN else 0)


def test_program_that_crashes_after_right_output_scores_zero(bench: Bench) -> None:
    """The interactor accepts the output and exits first."""
    source = '#include <cstdio>\n#include <cstdlib>\nint main(){puts("37"); fflush(stdout); abort();}'
    line = bench.one(source, "37", None, **guessing("testlib", 0, 1))
    assert (line.end, line.signal, line.score) == ("signal", 6, 0), line


def test_interactor_feedback_is_removed_before_next_test(bench: Bench) -> None:
    leaving = """#include <cstdio>
#include <unistd.h>
int main(int, char** argv) {
  chdir(argv[3]);
  if (fopen("seen", "r")) return 43;
  fputs("1", fopen("seen", "w"));
  return 42;
}
"""
    result = bench.judge(
        "int main(){}",
        [("1", None), ("1", None)],
        task_type="Interactive",
        manager_source=leaving,
        manager=PlanManager(argv=("manager",), kind="icpc", limits=MANAGER.limits),
        checker=PlanChecker(kind="white-diff", passes=2),  # so that the file exists until the last pass
    )
    assert [result.tests[i].score for i in range(2)] == [1, 1], result


def test_icpc_interactor_points_are_divided_by_full_points(bench: Bench) -> None:
    manager = PlanManager(argv=("manager",), kind="icpc", limits=MANAGER.limits, full=40)
    scoring = """#include <cstdio>
int main(int, char** argv) {
  int points;
  fscanf(fopen(argv[1], "r"), "%d", &points);
  char path[4096];
  snprintf(path, sizeof path, "%sscore.txt", argv[3]);  // the folder has a final slash
  fprintf(fopen(path, "w"), "%d", points);
  return 42;
}
"""
    fields = {"task_type": "Interactive", "manager_source": scoring, "manager": manager}
    result = bench.judge("int main(){}", [("10", None), ("40", None), ("41", None)], **fields)
    assert [result.tests[i].score for i in range(2)] == [0.25, 1], result
    assert result.tests[2].failure and "no score between 0 and 40" in result.tests[2].failure
    assert not result.tests[2].provoked


def test_interactor_may_write_to_exited_submission(bench: Bench) -> None:
    manager = PlanManager(argv=("manager",), kind="icpc", limits=MANAGER.limits)
    speaking = '#include <cstdio>\nint main(){while(getchar()!=EOF); for(int i=0;i<99999;i++) puts("word"); return 43;}'
    result = bench.judge(
        '#include <cstdio>\nint main(){puts("1");}',
        [("37", None)],
        task_type="Interactive",
        manager_source=speaking,
        manager=manager,
    )
    assert (result.tests[0].end, result.tests[0].score) == ("ok", 0), result


def test_failed_submission_of_interactive_task_reports_its_own_ending(bench: Bench) -> None:
    for source, end in (("int main(){return 9;}", "exit"), ("int main(){for(;;);}", "cpu")):
        assert bench.one(source, "37", None, limits=SPINNER, **guessing("icpc", 42, 43)).end == end


HARNESS = b"""import json, os, sys
arguments = json.load(sys.stdin)
scope = {}
exec(open(sys.argv[1]).read(), scope)
with os.fdopen(int(sys.argv[3]), "w") as result:
    json.dump(scope[sys.argv[2]](*arguments), result)
"""


def test_function_task_compares_the_returned_value_as_json(bench: Bench) -> None:
    submission = PlanSubmission(
        argv=("/usr/bin/python3", "harness.py", "submission.py", "double"),
        files=("harness.py", "submission.py"),
    )
    result = bench.judge(
        "def double(x):\n    print('noise')\n    return [x, 2 * x]\n",
        [("[21]", "[21, 42.0]"), ("[2]", "[2, 5]"), ('["a"]', '["a", "aa"]')],
        task_type="Function", language="python", submission=submission, extra={"harness.py": HARNESS}, checker=PlanChecker(kind="json"),
    )  # fmt: skip
    assert [result.tests[i].score for i in range(3)] == [1, 0, 1], result
