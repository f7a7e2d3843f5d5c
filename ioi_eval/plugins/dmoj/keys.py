"""The keys of init.yml and of tests/NAME/test.yml."""

from __future__ import annotations

from ioi_eval.problems.keys import (
    Keys,
    UnknownKeyPolicy,
    choice_key,
    file_name_key,
    flag_key,
    integer_key,
    number_key,
    object_key,
    raw_key,
    refused_key,
    text_key,
)

HEADER = "init.yml"
# Names of files in tests/NAME/; if several files set a key, the last value is used.
SUITE_FILES = ("test.yml", "test.posix.yml", "test.linux.yml")
CASES, PRETESTS = "test_cases", "pretest_test_cases"
BRIDGED, STANDARD = "bridged", "standard"
PROGRAM_KINDS = ("default", "testlib", "coci")
DEFAULT_WALL_TIME_FACTOR = 3.0  # default wall-clock limit, as a multiple of the time limit
DEFAULT_OUTPUT_BYTES = 25165824
DEFAULT_TIME_S, DEFAULT_MEMORY_KIB = 2.0, 65536  # default limits on the command line of DMOJ's judge
CASE_EXAMPLE = "Write `- {in: 1.in, out: 1.out, points: 10}`, or `- {points: 10, batched: [...]}`"
# Regular expression by which DMOJ recognizes the files of cases in an archive by default.
_CASE_NAME = r".*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$"


# --- programs ----------------------------------------------------------------------------------------


class ProgramKeys(Keys):
    """The keys of `interactive`, and of `args` of a bridged checker."""

    unknown = UnknownKeyPolicy.REFUSED
    ignored = ("flags", "time_limit", "memory_limit", "compiler_time_limit", "feedback", "preprocessing_time")
    files = raw_key("a source in C++, C or Python, or a list of one source and other files", "refused")
    lang = text_key("DMOJ's name of the language", "by the source's suffix", default="")
    type = choice_key(
        PROGRAM_KINDS, "how the program reports: by its exit code or as in testlib", default="default"
    )
    args_format_string = text_key(
        "the order of the arguments `{input_file}`, `{output_file}`, `{answer_file}`",
        "this order",
        default="",
    )
    treat_checker_points_as_percentage = flag_key("`points X` is X of 100, not of the case's points")


class GeneratorKeys(Keys):
    """The keys of `generator`."""

    unknown = UnknownKeyPolicy.REFUSED
    ignored = ("flags", "time_limit", "memory_limit", "compiler_time_limit")
    source = raw_key("the source, or a list of it and other files", "`files`")
    files = raw_key("the same key", "refused")
    language = raw_key("DMOJ's name of the language", "by the source's suffix")
    args = raw_key("the arguments", "none")


class CheckerKeys(Keys):
    """The keys of `checker` if it is an object."""

    unknown = UnknownKeyPolicy.REFUSED
    checker = text_key("the name of a checker", default=STANDARD, name="name")
    args = raw_key("an object with the checker's arguments; for `bridged`, the keys of a program", "none")


class SignatureKeys(Keys):
    """The keys of `signature_grader`."""

    unknown = UnknownKeyPolicy.REFUSED
    entry = text_key("the grader's source in C or C++")
    grader_header = text_key("the header that is included before the submission", name="header")
    allow_main = flag_key("submissions may have a function `main`, which the grader then is without")


class FileKeys(Keys):
    """The keys of `file_io`."""

    unknown = UnknownKeyPolicy.REFUSED
    input = file_name_key("the file that submissions read", "standard input")
    output = file_name_key("the file that submissions write", "standard output")


# --- cases -------------------------------------------------------------------------------------------


class ArchiveKeys(Keys):
    """The keys of `test_cases` if the names of the archive's files define the cases."""

    unknown = UnknownKeyPolicy.REFUSED
    input_format = text_key(
        "a regular expression with the group `case`, and maybe `batch`, for inputs",
        "names that end with `.in` or begin with `in`, with numbers",
        default=r"^(?=.*?\.in|in)" + _CASE_NAME,
    )
    output_format = text_key(
        "the same for answers",
        "names that end with `.out` or begin with `out`, with numbers",
        default=r"^(?=.*?\.out|out)" + _CASE_NAME,
    )
    case_points = raw_key("the points of each case or batch, in order", "`points` for each")


class InheritedKeys(Keys):
    """The keys that a case inherits from its batch, and a batch from init.yml."""

    input = text_key(
        "the input, in the package or its archive", "no input", name="in", wrong_names=("input",)
    )
    output = text_key(
        "the answer", "refused if outputs are compared with it", name="out", wrong_names=("output", "answer")
    )
    points = number_key("points of the case or batch", "1")
    checker = raw_key(
        "`standard`, `easy`, `floats`, `floatsabs`, `floatsrel`, `identical`, `linecount`, `linematches`,"
        " `rstripped`, `sorted`, `unordered`; a Python file with a function `check`; `bridged`; or an object,"
        " below",
        f"`{STANDARD}`",
    )
    binary_data = flag_key("line ends of tests are not changed")
    generator = raw_key(
        "a source that writes the input and, to standard error, the answer, or an object", "none"
    )
    generator_args = raw_key("arguments of the generator", "`args` of the generator")
    time_limit = raw_key("seconds; the same for all cases", "as below", wrong_names=("time",))
    memory_limit = integer_key("KiB; the same for all cases", "as below", minimum=1, wrong_names=("memory",))


class CaseKeys(InheritedKeys):
    """The keys of a case or a batch."""

    unknown = UnknownKeyPolicy.REFUSED
    ignored = ("output_prefix_length", "short_circuit", "meta")
    batched = raw_key("a list of cases: a batch, which is worth its worst case", "a single case")
    dependencies = raw_key("numbers from 1 of earlier batches that must pass", "none")

    def explain_forbidden_key(self, name: str) -> tuple[str, str] | None:
        is_package_key = name in PackageKeys.declared_keys()
        return ("it has no effect in a case", "Move it to the top of the file") if is_package_key else None


# --- init.yml ----------------------------------------------------------------------------------------


class PackageKeys(Keys):
    """The keys that only the top of init.yml may have."""

    output_limit_length = integer_key("bytes", default=DEFAULT_OUTPUT_BYTES, minimum=1)
    wall_time_factor = number_key(
        "the limit of the wall clock, as a multiple of the time limit",
        default=DEFAULT_WALL_TIME_FACTOR,
        above=0,
    )
    file_io = object_key(FileKeys, "an object with the names of files, below", "standard input and output")
    symlinks = refused_key("submissions get no further files", "Remove it")
    io_redirects = refused_key("files instead of descriptors are not supported", "Use file_io")


class DmojHeader(InheritedKeys, PackageKeys):
    """The keys of init.yml."""

    unknown = UnknownKeyPolicy.NOTED
    ignored = (*CaseKeys.ignored, "batched", "dependencies", "hints")
    archive = text_key("a zip in the package with files that are not in its folder", "none", default="")
    test_cases = raw_key(
        "a list of cases and batches, or an object, below", "by the names of the archive's files"
    )
    pretest_test_cases = raw_key("cases that must pass before all others, without points", "none")
    interactive = object_key(ProgramKeys, "an interactor, below", "none")
    unbuffered = flag_key("next to `interactive`: programs in C, C++ and Python write each line at once")
    signature_grader = object_key(
        SignatureKeys, "what submissions in C and C++ are compiled with, below", "none"
    )
    custom_judge = refused_key(
        "graders for DMOJ's own judge are not supported", "Use interactive, or signature_grader"
    )
    # Keys of judges that are derived from DMOJ's judge. They are refused, because a package without them
    # would be a different problem.
    communication = refused_key(
        "managers are not supported in this format", "Write it as a Communication task of CMS"
    )
    output_only = refused_key(
        "output files are not supported in this format", "Write it as an OutputOnly task of CMS"
    )

    def explain_forbidden_key(self, name: str) -> tuple[str, str] | None:
        is_code = name.endswith(("++", "="))
        return ("Python code in a package is not run", "Write the values out") if is_code else None


# --- test.yml ----------------------------------------------------------------------------------------


class SuiteKeys(Keys):
    """The keys of tests/NAME/test.yml."""

    source = raw_key("the solution's source, or a list of sources", "refused")
    language = raw_key("DMOJ's name of the language", "by the source's suffix")
    time = number_key("seconds", above=0)
    memory = integer_key("KiB", minimum=1)
    expect = raw_key("what each case gets: `AC`, `WA`, `TLE` and the like, or a list", "`AC`")
    cases = raw_key("what single cases get, by number or as a list", "`expect`")
    score = raw_key("not compared, as a note says", "-")
    score_cases = raw_key("not compared, as a note says", "-")
    skip = raw_key("true: the test is ignored", "false")
