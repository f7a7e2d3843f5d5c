"""piston/monitoring uses only metrics of workers, in valid Prometheus expressions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from requirements import skip_or_fail_in_ci

from ioi_eval.server.log import Metrics

MONITORING = Path(__file__).parents[2] / "piston" / "monitoring"
BOARD = json.loads((MONITORING / "dashboard.json").read_text())
RULES = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"]


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in BOARD["panels"] for target in panel["targets"])


@pytest.fixture
def promtool() -> str:
    promtool_path = shutil.which("promtool")
    if promtool_path is None:
        skip_or_fail_in_ci("promtool (apt-get install prometheus)")
    return promtool_path


def check(*command: str, folder: Path) -> None:
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_metrics_in_monitoring_files_are_exported_by_workers() -> None:
    metrics = Metrics()
    metrics.count_job("failed", 1.0)
    metrics.refusals[503] += 1
    metrics.wait_time.add_value(1.0)
    exported = metrics.format_text(running=1, queued=1, slots=1)
    has = set(re.findall(r"^(ioi_eval_\w+)", exported, re.MULTILINE))
    metric_names = {name for expression in expressions() for name in re.findall(r"ioi_eval_\w+", expression)}
    assert len(metric_names) > 7
    assert metric_names <= has
    assert '{outcome="failed"}' in exported
    assert '{status="503"}' in exported


def test_dashboard_panels_have_unique_ids_and_positions() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${source}"}
    assert [variable["name"] for variable in BOARD["templating"]["list"]] == ["source"]


def test_promtool_accepts_alert_rules_and_their_tests(promtool: str) -> None:
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        completed = subprocess.run(
            [promtool, *command], cwd=MONITORING, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr


def test_promtool_accepts_dashboard_expressions(promtool: str, tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(expressions())
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    check(promtool, "check", "rules", "rules.yaml", folder=tmp_path)
