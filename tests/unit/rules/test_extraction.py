from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import ADD, CPP, DRAFT, PYTHON, SCRIPT, fenced

from ioi_eval.model.languages import find
from ioi_eval.rules.extraction import extract, why_no_program

# --- fences ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tag",
    [
        "cpp",
        "c++",
        "C++",
        "CPP",
        "cc",
        "cxx",
        "Cpp",
        "c++17",
        "cpp17",
        "gnu++20",
        "g++",
        " cpp ",
        "{.cpp}",
        "{cpp}",
        "language-cpp",
        "GNU C++17",
        "main.cpp",
        "src/a.b/main.cpp",
    ],
)
def test_tags_of_cpp(tag: str) -> None:
    assert extract(fenced(ADD, tag), CPP) == ADD


@pytest.mark.parametrize(
    "tag",
    [
        *("python", "Python", "python3", "py", "py3", "python3.11", "{.python}", "pypy3", "PyPy 3"),
        *("sum.py", "./a/sum.py", "python/numpy", "Python/C++"),
    ],
)
def test_tags_of_python(tag: str) -> None:
    assert extract(fenced(SCRIPT, tag), PYTHON) == SCRIPT


def test_a_tag_of_pypy_tells_a_program_in_python_where_there_is_no_other() -> None:
    text = fenced(SCRIPT, "python") + fenced("print(1)\n", "pypy3")
    assert (extract(text, PYTHON), extract(text, find("pypy"))) == (SCRIPT, "print(1)\n")


def test_a_tag_of_cpp_tells_a_program_in_c_where_there_is_no_other() -> None:
    assert extract(fenced(ADD, "cpp"), find("c")) == ADD
    assert extract(fenced(ADD, "c") + fenced(DRAFT, "cpp"), find("c")) == ADD


@pytest.mark.parametrize(
    "info",
    ['cpp title="main.cpp"', "cpp,linenos", "cpp:main.cpp", "cpp {highlight: [1, 2]}", "C++ (solution)"],
)
def test_words_after_the_tag_are_passed_over(info: str) -> None:
    assert extract(fenced(ADD, info), CPP) == ADD


def test_the_last_block_of_the_language_counts() -> None:
    text = (
        "First try:\n"
        + fenced(DRAFT)
        + "Better:\n"
        + fenced(ADD)
        + "The same in Python:\n"
        + fenced(SCRIPT, "python")
    )
    assert extract(text, CPP) == ADD
    assert extract(text, PYTHON) == SCRIPT


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "~~~~~"])
def test_fences(fence: str) -> None:
    assert extract("Code:\n" + fenced(ADD, fence=fence) + "Done.\n", CPP) == ADD


def test_longer_fences_hold_shorter_ones() -> None:
    code = "/*\n```\nnot the end\n```\n*/\n" + ADD
    assert extract(fenced(code, fence="````"), CPP) == code


def test_the_other_kind_of_fence_does_not_close() -> None:
    code = "/*\n~~~\n*/\n" + ADD
    assert extract(fenced(code), CPP) == code


def test_a_closing_fence_may_be_longer() -> None:
    assert extract("```cpp\n" + ADD + "`````\n" + "text", CPP) == ADD


@pytest.mark.parametrize("fence", ["```", "````"])
def test_blocks_within_a_block_of_markdown(fence: str) -> None:
    assert extract(f"{fence}markdown\n# Solution\n" + fenced(ADD) + f"{fence}\n", CPP) == ADD


def test_indented_fences_lose_their_indent_and_no_more() -> None:
    code = "def f():\n    return 1\n\nprint(f())\n"
    text = "1. So:\n" + textwrap.indent(fenced(code, "python"), "   ")
    assert extract(text, PYTHON) == code


def test_lines_with_less_indent_than_the_fence_stay_whole() -> None:
    assert extract("   ```python\n  x = 1\nprint(x)\n   ```\n", PYTHON) == "x = 1\nprint(x)\n"


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends(end: str) -> None:
    assert extract(("Code:\n" + fenced(ADD)).replace("\n", end), CPP) == ADD
    assert extract(ADD.replace("\n", end), CPP) == ADD


@pytest.mark.parametrize("text", [ADD, fenced(ADD), fenced(DRAFT) + fenced(ADD)])
def test_characters_that_nobody_sees_beside_fences(text: str) -> None:
    assert extract("\ufeff" + text, CPP) == ADD
    assert extract(text.replace("```", "\u200b```\u2060"), CPP) == ADD


def test_other_separators_of_lines_stay_in_the_code() -> None:
    code = "s = '\x0c\x0b\u2028'\nprint(s)\n"
    assert extract(fenced(code, "py"), PYTHON) == code


def test_a_fence_may_follow_a_sentence() -> None:
    assert extract("Here is the code: ```cpp\n" + ADD + "```\n", CPP) == ADD
    assert extract("* Python:\t```python\n" + SCRIPT + "```\n", PYTHON) == SCRIPT


def test_a_sentence_about_fences_opens_none() -> None:
    text = (
        "Put it between ``` and ``` or after ``` as you like.\n<!-- ``` -->\n"
        + fenced(ADD)
        + "That ends with ``` too.\n"
    )
    assert extract(text, CPP) == ADD


def test_a_fence_may_end_the_last_line_of_the_code() -> None:
    assert extract("```cpp\n" + ADD.rstrip("\n") + "```\nThat is it.\n", CPP) == ADD


@pytest.mark.parametrize(
    ("mark", "margin"),
    [("- ", "  "), ("1. ", "   "), ("* \t", " \t"), ("> ", "> "), ("> 2. ", ">    ")],
)
@pytest.mark.parametrize("code", [SCRIPT, "for x in input():\n    if x:\n\n        print(x)\n"])
@pytest.mark.parametrize(("fence", "info"), [("```", "python"), ("```", "{.python .x}"), ("~~~", "py a=1")])
def test_a_block_in_a_list_or_a_quote(mark: str, margin: str, code: str, fence: str, info: str) -> None:
    lines = "".join(margin + line for line in (*code.splitlines(keepends=True), f"{fence}\n"))
    assert extract(f"So:\n{mark}{fence}{info}\n{lines}\nDone.\n", PYTHON) == code
    # Not what is a program's own.
    flat = f"{mark}{fence}{info}\n{code}{fence}\n"
    assert extract(flat, PYTHON) == code


@pytest.mark.parametrize(
    "behind",
    [
        "</answer>",
        " </answer>\n",
        "<|im_end|>",
        "</s>",
        "</a><|eot_id|>",
        "<|eot_id|><|start_header_id|>user",
        "</s>[INST] More?",
        "}",
        "**",
        ".",
        ")]",
    ],
)
def test_a_closing_tag_may_follow_the_last_fence(behind: str) -> None:
    assert extract("<answer>```cpp\n" + ADD + "```" + behind, CPP) == ADD
    assert extract("```py\n" + SCRIPT.rstrip("\n") + "```" + behind + "\nDone.\n", PYTHON) == SCRIPT
    assert extract("~~~cpp\n" + ADD + "~~~" + behind, CPP) == ADD


def test_a_fence_before_no_tag_is_text_of_the_block() -> None:
    code = '"""\nuse:\n``` (nothing)\n"""\n' + SCRIPT
    assert extract(fenced(code, "py"), PYTHON) == code


@pytest.mark.parametrize("tag", ["", "python"])
@pytest.mark.parametrize("outer", ["", "python"])
@pytest.mark.parametrize("quote", ['"""', "'''"])
def test_fences_in_a_docstring_are_text_of_the_block(quote: str, outer: str, tag: str) -> None:
    example = f"    It's so:\n\n    ```{tag}\n    print(add(1, 2))\n    ```\n"
    code = f"def add(a, b):  # not {quote}\n    {quote}Adds.\n{example}    {quote}\n    return a + b\n"
    assert extract("So:\n" + fenced(code, outer) + "Done.\n", PYTHON) == code
    assert extract("1. So:\n" + textwrap.indent(fenced(code, outer), "   "), PYTHON) == code
    # What only looks like a comment does not hide the end of a block.
    assert extract("1. ```sh\n   ls a/*\n   ```\n" + fenced("/* a */\n" + ADD), CPP) == "/* a */\n" + ADD
    # Nor does a docstring without its end hide the end of the block.
    assert extract(f"```python\nx = 1\n{quote}\n  ```\nDone.\n", PYTHON) == f"x = 1\n{quote}\n"


@pytest.mark.parametrize(
    ("remark", "tag"),
    [("/*\n{}*/\n", "  "), ("/**\n{} */\n", " * "), ("{}", "// "), ("{}", "/// "), ("/*\n{}*/\n", "\t")],
)
def test_fences_in_remarks_are_text_of_the_block(remark: str, tag: str) -> None:
    lines = "".join(f"{tag}{line}\n" for line in ("As in", "```", "1 2", "```"))
    code = remark.format(lines) + ADD
    assert extract(fenced(DRAFT) + "So:\n" + fenced(code) + "Done.\n", CPP) == code
    quoted = "".join(f"> {line}\n" for line in fenced(code).splitlines())
    assert extract(f"So:\n{quoted}Done.\n", CPP) == code
    script = "# ```\n# 1 2\n# ```\n" + SCRIPT
    assert extract("So:\n" + fenced(script, "py") + "Done.\n", PYTHON) == script


def test_empty_blocks_are_no_code() -> None:
    assert extract(fenced(ADD) + fenced("") + fenced("  \n\n"), CPP) == ADD
    assert extract(fenced(""), CPP) is None


def test_the_code_is_not_touched_otherwise() -> None:
    code = "\n\t#include <cstdio>  \n\nint main() {}\n\n\n"
    assert extract(fenced(code), CPP) == code


@pytest.mark.parametrize("fence", ["```\n", ""], ids=["closed", "cut off"])
@pytest.mark.parametrize("remark", ["# as above", "\n  # 1 2\n\n# 3\n"])
def test_remarks_in_a_block_of_python_are_no_program(remark: str, fence: str) -> None:
    assert extract(f"{fenced(SCRIPT, 'python')}Example:\n```python\n{remark}\n{fence}", PYTHON) == SCRIPT


@pytest.mark.parametrize("fence", ["```\n", ""], ids=["closed", "cut off"])
@pytest.mark.parametrize("remark", ["// as \\\nabove", "/* O(n) */ // n\n", "/* O(n"])
def test_remarks_in_a_block_of_cpp_are_no_program(remark: str, fence: str) -> None:
    assert extract(f"{fenced(ADD)}Again:\n```cpp\n{remark}\n{fence}", CPP) == ADD


def test_code_behind_remarks_is_a_program() -> None:
    assert extract(fenced(ADD) + fenced("// better\n" + DRAFT), CPP) == "// better\n" + DRAFT
    assert extract(fenced("pass\n", "py") + fenced("# a\nx = 1 # b\n", "py"), PYTHON) == "# a\nx = 1 # b\n"
    assert extract(fenced("# a\n", "py"), PYTHON) == "# a\n"


@pytest.mark.parametrize("behind", ["", "\nIt adds.\n", "\n\nFor example:\n```{tag}\n{example}```\n"])
def test_a_block_that_the_prompt_began(behind: str) -> None:
    for code, tag, language in ((ADD, "cpp", CPP), (SCRIPT, "python", PYTHON)):
        example = "int main() { add(1, 2); }\n" if tag == "cpp" else "print(add(1, 2))\n"
        text = code + "```" + behind.replace("{tag}", tag).replace("{example}", example)
        assert extract(text, language) == code
        assert extract("\n" + text, language) == code
        better = code.replace("1", "2") + ("// ok\n" if tag == "cpp" else "# ok\n")
        assert extract(f"{code}```\nBetter:\n{fenced(better, tag)}", language) == better
        assert extract(f"{code}```\nBetter:\n```{tag}\n{better[:40]}((", language) == code, "cut off"
    assert extract("It is 7.\n```\n7\n```\n" + fenced(ADD), CPP) == ADD
    assert extract(f"total = add(a, b)\n```\n{SCRIPT}```\n", PYTHON) == SCRIPT
    # A block with both of its fences before one with a tag was begun by nobody else.
    assert extract("print(1)\n```\n7\n```\n" + fenced(SCRIPT, "py"), PYTHON) == SCRIPT


# --- cut off -----------------------------------------------------------------------------------------


def test_a_block_without_its_end_runs_to_the_end() -> None:
    assert extract("Code:\n```cpp\n" + ADD, CPP) == ADD
    cut = ADD[:40]
    assert extract("Code:\n```cpp\n" + cut, CPP) == cut + "\n"


def test_a_whole_last_block_without_its_end_wins() -> None:
    assert extract(fenced(DRAFT) + "```cpp\n" + ADD, CPP) == ADD
    assert extract(fenced("print(1)\n", "py") + "```py\n" + SCRIPT, PYTHON) == SCRIPT


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("pascal", "begin\n  writeln(1);\nend.\n"),
        ("javascript", "console.log(require('fs').readFileSync(0, 'utf8'))\n"),
        ("kotlin", "fun main() = println(1)\n"),
    ],
)
def test_a_whole_last_block_of_a_language_without_braces_wins(language: str, code: str) -> None:
    draft = fenced(code.replace("1", "2").replace("utf8", "utf-8"), language)
    assert extract(f"{draft}```{language}\n{code}", find(language)) == code
    for cut in (code[: len(code) // 2], "import java.io.*\n\nfun f(n: Int)\n"):
        assert extract(f"{draft}```{language}\n{cut}", find(language)) == draft.split("\n", 1)[1][:-4]


def test_half_a_last_block_gives_way_to_a_whole_one() -> None:
    assert extract(fenced(DRAFT) + "```cpp\n" + ADD[:40], CPP) == DRAFT
    assert extract(fenced(SCRIPT, "py") + "```py\nprint((1,", PYTHON) == SCRIPT


def test_braces_in_strings_and_comments_do_not_make_a_block_whole() -> None:
    half = "int main() { // }\n  puts(\"}\"); char c = '}'; /* } */"
    assert extract(fenced(DRAFT) + "```cpp\n" + half, CPP) == DRAFT


def test_a_new_block_ends_one_that_was_never_closed() -> None:
    assert extract("```cpp\n" + DRAFT + "\nNo, rather:\n\n" + fenced(ADD), CPP) == ADD


@pytest.mark.parametrize("tail", ["```", "```cpp", "```cpp\n", "~~~", "`"])
def test_a_generation_cut_off_within_a_fence(tail: str) -> None:
    assert extract(fenced(ADD) + "And shorter:\n" + tail, CPP) == ADD


# --- reasoning ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "THINK"])
def test_reasoning_is_dropped(tag: str) -> None:
    text = f"<{tag}>\nSay\n" + fenced(DRAFT) + f"</{tag}>\n"
    assert extract(text + fenced(ADD), CPP) == ADD
    assert extract(text + "See above.", CPP) is None


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<seed:think>", "</seed:think>"),
        ("<longcat_think>", "</longcat_think>"),
        ("<thought>\n", "</thought>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<|begin_of_thought|>\n\n", "<|end_of_thought|>\n\n<|begin_of_solution|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_reasoning_between_marks_of_other_makers(opening: str, closing: str) -> None:
    text = f"{opening}Say\n" + fenced(DRAFT).rstrip("\n")
    assert extract(text + closing + fenced(ADD), CPP) == ADD
    assert extract(text + closing + "See above.", CPP) is None
    assert extract(text, CPP) is None


def test_reasoning_that_only_has_an_end() -> None:
    text = "Here are my reasoning steps:\n" + fenced(DRAFT) + "[BEGIN FINAL RESPONSE]\n"
    assert extract(text + fenced(ADD) + "[END FINAL RESPONSE]", CPP) == ADD
    assert extract(text + "See above.", CPP) is None


def test_channels_without_their_special_tokens() -> None:
    text = "analysisSay\n" + fenced(DRAFT).rstrip("\n") + "assistantfinal"
    assert extract(text + fenced(ADD), CPP) == ADD
    assert extract(text + "See above.", CPP) is None


def test_reasoning_that_was_cut_off_holds_no_answer() -> None:
    assert extract("<think>\nSo\n" + fenced(DRAFT) + "or\n" + fenced(ADD), CPP) is None


def test_reasoning_whose_start_was_in_the_prompt() -> None:
    assert extract("Say\n" + fenced(DRAFT) + "</think>\n" + fenced(ADD), CPP) == ADD
    assert extract("Say\n" + fenced(DRAFT) + "</think>", CPP) is None


def test_an_open_fence_within_reasoning_ends_with_it() -> None:
    assert extract("<think>\n```cpp\nint main() {\n</think>\n\n" + fenced(ADD), CPP) == ADD


def test_an_answer_before_more_reasoning_counts() -> None:
    assert extract("<think>a</think>\n" + fenced(ADD) + "<think>fine?</think>\nDone.\n", CPP) == ADD
    assert extract("<think>a</think>\n" + fenced(ADD) + "<think>fine? " + fenced(DRAFT), CPP) == ADD


def test_reasoning_that_speaks_of_its_own_tags() -> None:
    text = "<think>\nI close with </think> later.\n" + fenced(DRAFT) + "</think>\n" + fenced(ADD)
    assert extract(text, CPP) == ADD
    assert extract(text.removesuffix(fenced(ADD)) + "See above.\n", CPP) is None


def test_a_tag_in_the_middle_of_a_line_opens_nothing() -> None:
    code = '#include <cstdio>\nint main() { puts("<think>"); }\n'
    assert extract(fenced(code), CPP) == code


# --- blocks without a tag ----------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["", "c", "text", "code"])
def test_a_block_without_a_telling_tag_counts_if_it_is_code(tag: str) -> None:
    text = (
        "Input:\n"
        + fenced("3\n1 2 3\n", tag)
        + "Code:\n"
        + fenced(ADD, tag)
        + "Output:\n"
        + fenced("6\n", tag)
    )
    assert extract(text, CPP) == ADD


def test_a_function_without_includes_and_tag() -> None:
    code = "long long solve(std::vector<int> a) {\n  return a[0];\n}\n"
    assert extract(fenced(code, ""), CPP) == code


def test_python_without_a_tag() -> None:
    assert (
        extract(fenced(SCRIPT, "") + "prints\n" + fenced("3\n", "") + fenced("Yes\n", ""), PYTHON) == SCRIPT
    )


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("pascal", "PROGRAM Sum;\nBEGIN\n  WriteLn(1);\nEND.\n"),
        ("pascal", "Program Sum;\nBegin\n  WriteLn(1);\nEnd.\n"),
        ("haskell", "main=interact$show.sum.map read.words\n"),
    ],
)
def test_other_spellings_without_a_tag(language: str, code: str) -> None:
    assert extract(fenced(code, "") + "prints\n" + fenced("1\n", ""), find(language)) == code


PASCAL = "{$mode objfpc}\nuses math;\nvar a: longint;\nbegin\n  read(a);\n  writeln(max(a, 1));\nend.\n"
HASKELL = "{-# LANGUAGE GADTs #-}\nimport Data.List\nmain :: IO ()\nmain = interact $ show . sort . words\n"
NODE = (
    "// adds\nconst [a, b] = require('fs').readFileSync(0, 'utf8').split(' ');\nconsole.log(`${+a + +b}`);\n"
)


@pytest.mark.parametrize(
    ("language", "code"), [("pascal", PASCAL), ("haskell", HASKELL), ("javascript", NODE)]
)
def test_a_program_without_a_fence(language: str, code: str) -> None:
    known = find(language)
    assert extract(code, known) == code
    assert extract(f"<think>\nfirst\n</think>\n{code}", known) == code
    assert extract(f"Begin with the words, main = all:\n{code}", known) is None
    assert extract("Let me see: console.log, main = and begin are known.\n", known) is None


def test_a_tagged_block_wins_over_later_ones_without() -> None:
    assert extract(fenced(ADD) + fenced(DRAFT, ""), CPP) == ADD


@pytest.mark.parametrize("tag", ["python", "java", "bash", "rust"])
def test_blocks_of_other_languages_are_no_code(tag: str) -> None:
    assert extract(fenced(ADD, tag), CPP) is None


@pytest.mark.parametrize(
    "shown", ["Output: 5", "Input: 3\nOutput: 5", "Expected: -1", "Output: (2, 3)", "answer: [1, 2]"]
)
def test_a_labelled_value_behind_python_without_a_tag_is_no_code(shown: str) -> None:
    """It parses as a variable with an annotation."""
    assert extract(fenced(SCRIPT, "") + "It prints:\n" + fenced(shown, ""), PYTHON) == SCRIPT
    assert extract(fenced(shown, ""), PYTHON) is None
    assert extract(fenced("best: int = 5", "") + "Here.\n", PYTHON) == "best: int = 5\n"


@pytest.mark.parametrize(
    "shown", ["n = 5\nnums = [1, 2]", "dp[0] = 1", "O(n)", "O(n**2)", "gcd(a, b)", "return best", "pass"]
)
def test_an_example_behind_python_without_a_tag_is_no_code(shown: str) -> None:
    """It parses, and no program that is nothing else can print."""
    assert extract(fenced(SCRIPT, "") + "Here:\n" + fenced(shown, ""), PYTHON) == SCRIPT
    assert extract(fenced(shown, ""), PYTHON) is None
    assert extract(fenced(shown, "python"), PYTHON) == shown + "\n"


@pytest.mark.parametrize("usage", ["print(add(1, 2))\n", "for n in (1, 2):\n    print(n)\n"])
def test_usage_behind_an_untagged_program_in_python_is_not_the_program(usage: str) -> None:
    assert extract(fenced(SCRIPT, "") + "For example:\n" + fenced(usage, ""), PYTHON) == SCRIPT
    assert extract(fenced(usage, ""), PYTHON) == usage
    assert extract(fenced("print(1)\n", "") + fenced(usage, ""), PYTHON) == usage


@pytest.mark.parametrize(
    "script", ["def main():\n    print(input())\n\nmain()\n", "class Solution:\n    x = input()\n"]
)
def test_untagged_python_is_no_program_in_a_compiled_language(script: str) -> None:
    assert extract(fenced(ADD, "") + "Or:\n" + fenced(script, ""), CPP) == ADD
    for language in ("c++", "c", "java", "c#"):
        assert extract(fenced(script, ""), find(language)) is None


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (None, "the reply is empty"),
        (" \n", "the reply is empty"),
        ("<think>So " + fenced(ADD), "the reply is cut off in its reasoning"),
        ("I cannot.", "the reply has no fenced block"),
        (fenced(SCRIPT, "python"), "the reply's last tagged block is in another language (python)"),
        (fenced("1 2\n", ""), "no fenced block of the reply is a program in a known language"),
    ],
)
def test_reason_for_a_missing_program(reply: str | None, why: str) -> None:
    assert why_no_program(reply) == why


def test_output_in_a_fence_is_no_code() -> None:
    assert extract("It prints\n" + fenced("3\n", "") + "I give up.\n", CPP) is None
    assert extract("It prints\n" + fenced("3\n", "") + "I give up.\n", PYTHON) is None


# --- no fence ----------------------------------------------------------------------------------------

WHOLE_CPP = [
    ADD,
    "int main() {}\n",
    "// Solution. It adds.\n#include <cstdio>\nint main() { return 0; }\n",
    "/* Let us see:\nfor every test we add. */\n#include <cstdio>\nint main()\n{\n    return 0;\n}\n",
    '#pragma GCC optimize("O3")\n#include <bits/stdc++.h>\n'
    "#define rep(i, n) \\\n    for (int i = 0; i < n; i++)\n"
    "using namespace std;\nint main() { rep(i, 3) {} }\n",
    "#include <vector>\ntemplate <class T>\nstruct Tree {\n  T t;\n};\n"
    "static constexpr unsigned long long int x = 1'000;\n"
    'const char *s = "{ What is this? No idea. :";\nlong long add(int a, int b)\n{ return a + b; }\n',
    "#include <cstdio>\nnamespace {\nint f() { return 1; }\n}\nclass A : public B {\npublic:\n  int x;\n};\n",
]
NO_CPP = [
    "",
    "\n\n",
    "I do not know.",
    "Here is the solution:\n" + ADD,
    ADD + "Hope this helps.\n",
    ADD + "This runs in linear time",
    "# Solution\n" + ADD,
    "First we read both numbers and add them.\n" + ADD,
    ADD[:40],
    "#include <cstdio>\nint main() { {\n",
    "#include <cstdio>\n} int main() {\n",
    "We call main() of #include; { } and so on;",
    '{"answer": 3}',
    "\\begin{verbatim}\n" + ADD + "\\end{verbatim}",
    '{"thought": "Read both, add them.", "code": "int main() { return 0; }"}\n',
    SCRIPT,
]


@pytest.mark.parametrize("text", WHOLE_CPP)
def test_a_text_that_is_all_cpp(text: str) -> None:
    assert extract(text, CPP) == text
    assert extract("<think>\nLet me see.\n</think>\n\n" + text, CPP) == text.lstrip("\n")


@pytest.mark.parametrize("tag", ["answer", "code", "solution"])
def test_a_program_in_the_tags_of_an_answer(tag: str) -> None:
    text = (
        f"<think>\n<{tag}>{DRAFT}</{tag}>\n</think>\nI read both, and add them.\n<{tag}>\n{ADD}\n</{tag}>\n"
    )
    assert extract(text, CPP) == ADD
    assert extract(text.replace(ADD, SCRIPT), PYTHON) == SCRIPT
    assert extract(text.replace(ADD, "It is 7.\n" + ADD), CPP) is None
    assert extract(text.replace(ADD, fenced(ADD)), CPP) == ADD
    assert extract(f"{ADD}// </{tag}>\n", CPP) == f"{ADD}// </{tag}>\n"
    prints = f"print('<{tag}>', int(input()), '</{tag}>')\n"
    assert extract(prints, PYTHON) == prints


READS = "const [a, b] = require('fs').readFileSync(0, 'utf8').split(/\\s+/).map(Number)\n"
OTHERS = [
    ("javascript", READS + "console.log(a + b)\n"),
    ("javascript", "#!/usr/bin/env node\n" + READS + "if (a)\n{\n  console.log(`${a + b} is\nit`);\n}\n"),
    ("kotlin", "import java.util.*\n\nfun main() = println(readln().split(' ').sumOf { it.toInt() })\n"),
    ("kotlin", "fun main() = println(readln().toInt() * 2)\n"),
    (
        "pascal",
        "{ Adds. }\nProgram Sum;\nVar a, b: longint;\nBegin\n  ReadLn(a, b);\n  WriteLn(a + b);\nEnd.\n",
    ),
    (
        "rust",
        '#![allow(unused)]\n#[derive(Debug)]\nstruct P;\nimpl Add for P {}\nfn main() { println!("1"); }\n',
    ),
    ("rust", "struct S<'a> { x: &'a str }\nimpl<'a> S<'a> {}\nfn main() { println!(\"{}\", '\\''); }\n"),
    ("java", '@SuppressWarnings("x")\npublic class Main extends Base implements Runnable { }\n'),
]


@pytest.mark.parametrize(("language", "code"), OTHERS)
def test_a_text_that_is_all_code_of_other_languages(language: str, code: str) -> None:
    assert extract(code, find(language)) == code
    assert extract(f"<think>\nHm.\n</think>\n\n{code}", find(language)) == code
    for text in (f"Here is the code\n{code}", f"{code}It adds the two.\n", f"So:\n```x\n{code}```\n"):
        assert extract(text, find(language)) is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("javascript", "Use console.log(a) to print it.\n"),
        ("javascript", "console.log(a)\nprints a\n"),
        ("kotlin", "A fun main() {\n"),
        ("pascal", "Begin with both, write the sum, and this is the end.\n"),
    ],
)
def test_a_text_that_is_not_all_code_of_other_languages(language: str, text: str) -> None:
    assert extract(text, find(language)) is None


@pytest.mark.parametrize("text", NO_CPP)
def test_a_text_that_is_not_all_cpp(text: str) -> None:
    assert extract(text, CPP) is None


ONE_LINERS = [
    "[print(x) for x in input()]\n",
    "int(input()) and print(1)\n",
    "print(1) if input() else print(2)\n",
]


@pytest.mark.parametrize("code", ONE_LINERS)
def test_one_line_of_python_without_a_tag(code: str) -> None:
    assert extract(fenced(code, "") + "prints\n" + fenced("[1, 2]\n", ""), PYTHON) == code


@pytest.mark.parametrize(
    "text", [SCRIPT, "import sys\n", "def main():\n    pass\n\nmain()\n", "print(1)\n", *ONE_LINERS]
)
def test_a_text_that_is_all_python(text: str) -> None:
    assert extract(text, PYTHON) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "yes",
        "'a string'",
        "a, b",
        "Sure! Here it is:\n" + SCRIPT,
        ADD,
        "x = (",
        "print(1)\0",
        "(" * 5000,
    ],
)
def test_a_text_that_is_not_all_python(text: str) -> None:
    assert extract(text, PYTHON) is None


def test_fences_in_the_comments_of_a_text_that_is_all_code() -> None:
    code = "/*\nInput:\n```\n1 2\n```\n*/\n" + ADD
    assert extract(code, CPP) == code
    script = '"""Adds.\n~~~~~\n"""\n' + SCRIPT
    assert extract(script, PYTHON) == script
    for tag in ("", "python"):
        example = f"    ```{tag}\n    print(add(1, 2))\n    ```\n"
        script = f'def add(a, b):\n    """Adds.\n{example}    """\n    return a + b\n'
        assert extract(script, PYTHON) == script
        code = f"/*\n```{tag and 'cpp'}\nint main() {{ add(1, 2); }}\n```\n*/\n{ADD}"
        assert extract(code, CPP) == code
    assert extract("~~~python\n" + SCRIPT, PYTHON) == SCRIPT


@given(st.text(alphabet="`~ \n<>/think{}#cp+;\"'\\*\r\x01R("))
def test_nothing_that_a_model_writes_breaks_it(text: str) -> None:
    for language in (CPP, PYTHON):
        code = extract(text, language)
        assert code is None or (code.endswith("\n") and code.strip())


@given(
    st.text(alphabet="ab {};\n\t", min_size=1).filter(str.strip),
    st.sampled_from(["", "text\n", "<think>\n```cpp\nx\n</think>\n"]),
)
def test_what_is_fenced_comes_back(code: str, before: str) -> None:
    code += "\n"
    assert extract(before + fenced(code) + "after\n", CPP) == code


# Each of these makes some naive pattern run for hours: that the test ends is the assertion.
def hostile(unit: int) -> dict[str, str]:
    return {
        "lines": "a\n" * (5 * unit),
        "one line": "word " * (2 * unit),
        "one word": "x" * (10 * unit),
        "blanks": " " * (10 * unit),
        "blank lines": "\n" * (10 * unit),
        "backticks": "`" * (10 * unit),
        "runs in a line": "``` " * unit,
        "open fences": "```java\n" * (unit // 4),
        "fences": "```\n" * (unit // 4),
        "tags": "<think>\n" * unit,
        "closing tags": "</think>" * unit,
        "tags of answers": "<answer>" * unit + "</answer>" * unit,
        "comments": "#include <a>\nint main() {}" + "/*/" * unit,
        "strings": "#include <a>\nint main() {}" + '"\\' * (5 * unit),
        "raw strings": "#include <a>\nint main() {}" + 'R"a(' * unit,
        "quotes": "#include <a>\nint main() {}" + "'" * (10 * unit),
        "digits": "#include <a>\nint main() {}" + "1" * (10 * unit),
        "directives": "int main() {}" + "#include\\\n" * unit,
        "braces": "#include <a>\nint main()" + "{" * (2 * unit) + "}" * (2 * unit) + "two words and more",
        "statements": "#include <a>\nint main() {}" + ";a" * (2 * unit),
        "words": "#include <a>\nint main() {}" + "a b c int " * unit,
        "docstrings": "```java\n" + '"""/*\n ```x y\n' * (unit // 4),
        "open docstrings": "```java\n" + " ```\n```java\n/*\n" * (unit // 4),
    }


@pytest.mark.nightly(unless="runs in a line|open fences|statements")
@pytest.mark.parametrize("unit", [1 << 15, pytest.param(1 << 17, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", hostile(1))
def test_long_generations(name: str, unit: int) -> None:
    text = hostile(unit)[name]
    assert extract(text, PYTHON) is None
    assert extract(text + "\nmore\n" + "text without code.", CPP) is None
    for name in ("javascript", "pascal"):
        assert extract(f"begin write(require({text}\nmore\n text without code.", find(name)) is None


def test_a_generation_of_ten_megabytes() -> None:
    text = "Thinking. " * (1 << 20) + "\n" + fenced(ADD)
    assert len(text) > 10_000_000
    assert extract(text, CPP) == ADD


def test_doubtful_escapes_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert extract("print('\\d')\n", PYTHON) == "print('\\d')\n"
    # What earlier tests left unclosed may be collected meanwhile.
    assert [one.message for one in recwarn if one.category is not ResourceWarning] == []
