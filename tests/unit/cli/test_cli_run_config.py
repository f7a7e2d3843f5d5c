"""The YAML config of `ioi-eval run`, its flags, and `ioi-eval new --type config`."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.plugins import needs_plugin
from typer.testing import CliRunner, Result

from ioi_eval.cli import app
from ioi_eval.cli.config import KEYS, Config, read_config
from ioi_eval.cli.console import format_input_error
from ioi_eval.cli.new import read_config_template
from ioi_eval.errors import InputError
from ioi_eval.generate import Sampling
from ioi_eval.runs import ModelOptions


def read(folder: Path, yaml_text: str, **flags: Any) -> Config:
    file = folder / "config.yaml"
    file.write_text(yaml_text, encoding="utf-8")
    return read_config(file, {name.replace("__", "."): value for name, value in flags.items()})


def config_error(folder: Path, yaml_text: str, **flags: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, yaml_text, **flags)
    return str(caught.value)


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_yaml_merge_keys_do_not_exhaust_memory(tmp_path: Path) -> None:
    """A kilobyte of merge keys can describe mappings of 100 million keys."""
    lines = ["x: &x0 {samples: 3}"]
    lines += [f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 10)}]}}" for n in range(1, 8)]
    tracemalloc.start()
    try:
        assert "unknown key 'x'" in config_error(tmp_path, "\n".join(lines))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    merged = "model: {<<: [{name: a, temperature: 0.5}, {name: b}], name: c}"
    options = ModelOptions(name="c", base_url="", sampling=Sampling(temperature=0.5))
    assert read(tmp_path, merged).model == options


# --- new --------------------------------------------------------------------------------------------


def test_new_config_writes_a_valid_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    completed = call("new", "config.yaml", "--type", "config")
    assert completed.exit_code == 0 and "ioi-eval run -c config.yaml" in completed.output
    assert (tmp_path / "config.yaml").read_text() == read_config_template()
    assert read_config(tmp_path / "config.yaml", {}).model.name == "my-model"
    (tmp_path / "config.yaml").write_text("samples: 3")
    second_call = call("new", "config.yaml", "--type", "config")
    assert isinstance(second_call.exception, InputError) and "File exists" in str(second_call.exception)
    assert (tmp_path / "config.yaml").read_text() == "samples: 3"
    nowhere = call("new", tmp_path / "no" / "config.yaml", "--type", "config")
    assert isinstance(nowhere.exception, InputError)


def uncommented() -> str:
    """Return the template with all commented keys enabled."""
    lines = []
    for line in read_config_template().splitlines():
        bare = line.lstrip()
        if bare.startswith("# ") and ":" in bare.split("#")[1] and bare[2:].split(":")[0].isidentifier():
            line = line.replace("# ", "", 1)
        lines.append(line)
    return "\n".join(lines)


def test_new_config_lists_every_key_with_valid_value(tmp_path: Path) -> None:
    values = yaml.safe_load(uncommented())
    inner = {f"{table}.{name}" for table in ("model", "budget") for name in values.pop(table)}
    assert {*values, *inner} == {*KEYS}
    read(tmp_path, uncommented())


# --- refused files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "yaml_text, fragments",
    [
        ("sample_sise: 3", ["'sample_sise'", "Did you mean 'sample_size'"]),
        ("filter-difficulty: [interview]", ["Did you mean 'filter_difficulty'"]),
        ("model: {temprature: 1}", ["'model.temprature'", "Did you mean 'temperature'"]),
        ("budget: {token: 1}", ["'budget.token'", "Did you mean 'tokens'"]),
        ("temperature: 1", ["'temperature'", "Did you mean 'model.temperature'"]),
        ("model: {samples: 1}", ["'model.samples'", "Did you mean 'samples'"]),
        ("model: {api_key: sk-secret}", ["'model.api_key'", "'api_key_env'"]),
        ("model: {api_key_env: sk-secret}", ["'model.api_key_env'", "export OPENAI_API_KEY"]),
        ("command: MODEL_KEY=sk-secret agent", ["'command'", "MODEL_KEY", "$NAME"]),
        ("command: agent --api-key sk-secret", ["'command'", "--api-key"]),
        ("command: agent --token=sk-secret 'a", ["'command'", "--token"]),
        ("command: \"agent -H 'Authorization: Bearer sk-secret'\"", ["'command'", "Authorization"]),
        ("command: \"agent -H 'x-api-key: sk-secret'\"", ["'command'", "x-api-key"]),
        ("model: {name: sk-secret: 1}", ["is not YAML", "line 1"]),
        ("1: 2", ["unknown key '1'"]),
        ("sample_size: many", ["'sample_size'", "expected `int | null`"]),
        ("sample_size: 0", ["'sample_size'", ">= 1"]),
        ("sample_size: 1.5", ["'sample_size'"]),
        ("samples: true", ["'samples'"]),
        ("tasks: apps_42", ["'tasks'", "array"]),
        ("tasks: [42]", ["'tasks[0]'"]),
        ("timeout_seconds: 0", ["'timeout_seconds'"]),
        ("timeout_seconds: .nan", ["'timeout_seconds'"]),
        ("time_limit: .inf", ["'time_limit'"]),
        ("model: {temperature: -1}", ["'model.temperature'"]),
        ("model: {temperature: warm}", ["'model.temperature'", "float"]),
        ("model: {attempts: 0}", ["'model.attempts'"]),
        ("model: my-model", ["'model'", "object"]),
        ("budget: {tokens: -1}", ["'budget.tokens'"]),
        ("budget: {money: 3}", ["'budget.money'", "input_price"]),
        ("- benchmark: apps", ["the file must contain keys and values", "ioi-eval new --type config"]),
        ("just words", ["the file must contain keys and values"]),
        ("model: {name: [}", ["is not YAML"]),
        ("a: \x00", ["is not YAML"]),
        ("date_from: 2024-13-01", ["an invalid date or number"]),
        (f"samples: {'1' * 5000}", ["an invalid date or number"]),
        ("[" * 1000, ["is not YAML (RecursionError)"]),
        ("x: !!python/object/apply:os.getcwd []", ["is not YAML"]),
    ],
)
def test_invalid_run_config_is_refused_without_secrets(
    tmp_path: Path, yaml_text: str, fragments: list[str]
) -> None:
    message = config_error(tmp_path, yaml_text)
    assert all(expected in message for expected in [str(tmp_path / "config.yaml"), *fragments]), message
    assert "sk-secret" not in message and "\n" not in message


@pytest.mark.parametrize(
    "command",
    [
        "agent --api-key $MODEL_KEY",
        "KEY=$OPENAI_API_KEY agent",
        "agent --max-tokens 9 --token-file f",
        "a --token",
        'agent -H "Authorization: Bearer $MODEL_KEY" -H "x-api-key: ${OTHER}"',
    ],
)
def test_agent_command_without_secret_is_accepted(tmp_path: Path, command: str) -> None:
    assert read(tmp_path, f"command: {json.dumps(command)}").agent.command == command


@pytest.mark.parametrize("url", ["http://me:sk-secret@host/v1", "https://host/v1?v=1&key=sk-secret"])
def test_base_url_with_secret_is_refused_as_option(tmp_path: Path, url: str) -> None:
    message = config_error(tmp_path, "", model__base_url=url)
    assert "--base-url" in message and "OPENAI_BASE_URL" in message and "sk-secret" not in message
    assert read(tmp_path, f"model: {{base_url: '{url}'}}").model.base_url == url


def test_unreadable_config_is_input_error(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"out: \xe9")
    for name in ("none", "latin", "."):
        with pytest.raises(InputError, match=r"cannot be read|is not YAML"):
            read_config(tmp_path / name, {})
    with pytest.raises(InputError, match="ioi-eval new --type config"):
        read_config(tmp_path / "none", {})


@pytest.mark.parametrize("yaml_text", ["", "# nothing\n", "model:\nbudget:\ntasks:\n", "model: {name: }"])
def test_empty_config_is_default(tmp_path: Path, yaml_text: str) -> None:
    assert read(tmp_path, yaml_text) == Config()


# --- flags -------------------------------------------------------------------------------------------


def test_flags_override_config_file(tmp_path: Path) -> None:
    toml = "samples: 4\nsample_size: 9\ntasks: [a]\nmodel: {name: m, temperature: 1, seed: 3}"
    config = read(tmp_path, toml, sample_size=2, tasks=["b", "c"], model__temperature=0.0, samples=None)
    assert (config.asking.samples, config.choice.sample, config.choice.problems) == (4, 2, {"b", "c"})
    assert (config.model.name, config.model.sampling.temperature, config.model.sampling.seed) == ("m", 0, 3)
    assert read_config(None, {"model.name": "n"}).model.name == "n"
    labels = {
        "samples": "--samples",
        "timeout_seconds": "ioi-eval.toml, field 'timeout'",
        "model.max_tokens": "ioi-eval.toml, field 'max-tokens'",
    }
    for name, label in labels.items():
        with pytest.raises(InputError, match=f"^{label}: expected `.*>"):
            read_config(None, {name: -1})
    with pytest.raises(InputError, match=r"config.yaml, field 'timeout_seconds': expected"):
        read(tmp_path, "timeout_seconds: -1", samples=3)


def test_command_or_model_flag_replaces_that_of_config(tmp_path: Path) -> None:
    both = "command: agent\nmodel: {name: m, base_url: u}"
    assert read(tmp_path, both).agent.command == "agent"
    assert read(tmp_path, both, model__name="n").agent.command == ""
    assert read(tmp_path, both, command="other").agent.command == "other"
    assert "not both" in config_error(tmp_path, both, command="other", model__name="n")


def test_problem_count_flags_override_config(tmp_path: Path) -> None:
    for flags, expected in (
        ({"sample_size": 50}, (None, 50)),
        ({"first": 30}, (30, None)),
        ({"first": 30, "sample_size": 5}, (30, 5)),
        ({}, (10, 20)),
    ):
        config = read(tmp_path, "first: 10\nsample_size: 20\nmodel: {name: m}", **flags)
        assert (config.choice.first, config.choice.sample) == expected


@pytest.mark.parametrize("flags", [["-n", "0"], ["-n", "x"], ["--samples", "0"], ["--no-such-flag"]])
def test_invalid_run_flags_exit_with_2(flags: list[str]) -> None:
    assert call("run", *flags).exit_code == 2


@pytest.mark.parametrize(
    "values, flags, fragments",
    [
        ("{}", [], ["the name of the model is missing", "--model or OPENAI_MODEL", "--command"]),
        ("model: {name: m}", [], ["model.base_url in the file, --base-url or OPENAI_BASE_URL"]),
        (
            "model: {name: m}",
            ["--base-url", "localhost:80"],
            ["--base-url: the URL is not the address", "http://"],
        ),
        ("model: {name: m, base_url: 'localhost:80'}", [], ["'model.base_url'", "http://"]),
        ("model: {name: m, base_url: 'http://a', extra: {n: 2}}", [], ["'model.extra.n'", "samples"]),
        ("{command: my-agent, language: rust}", [], ["language", "python or c++"]),
        ("{command: my-agent, language: pyhton}", [], ["'pyhton'"]),
        ("{command: my-agent, prompt: aps}", [], ["aps", "one of apps"]),
        ("{command: my-agent}", ["-t", "apps_9"], ["apps_9"]),
        ("{command: my-agent, benchmark: aps}", [], ["Did you mean 'apps'"]),
        (
            "{command: my-agent}",
            ["--filter-difficulty", "introductry"],
            ["--difficulty", "introductry"],
        ),
        pytest.param(
            "{command: my-agent, engine: 'ray:x'}", [], ["'engine'", "Ray"], marks=needs_plugin("ray")
        ),
        ("{command: my-agent, engine: 'ray:x'}", ["--engine", "embedded", "-t", "apps_9"], ["apps_9"]),
    ],
)
def test_run_input_errors_are_found_before_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: str, flags: list[str], fragments: list[str]
) -> None:
    row = {"question": "Q", "input_output": '{"inputs": ["1"], "outputs": ["1"]}', "difficulty": "interview"}
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "test.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "config.yaml").write_text(values)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOI_EVAL_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    completed = call("run", "-c", "config.yaml", "--data-dir", ".", *flags)
    assert isinstance(completed.exception, InputError), completed.output
    shown = format_input_error(completed.exception)
    assert all(expected in shown for expected in fragments), shown
    assert not (tmp_path / "runs").exists()


def test_help_shows_flags_and_examples() -> None:
    help_text = call("run", "--help-all").output
    flags = ["-c, --config", "--problems", "--sample", "--problem", "--difficulty", "--limit"]
    assert all(f"  {flag} " in help_text for flag in flags)
    for other in ("-b", "--benchmark", "-n", "-t", "--task", "--filter-difficulty", "--first"):
        assert f"{other} " not in help_text.partition("Problems:")[2].partition("Author:")[0]
    assert "ioi-eval run -c config.yaml --problems apps --problem apps_42" in help_text
    assert max(map(len, help_text.splitlines())) <= 100
