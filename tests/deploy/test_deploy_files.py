"""The deployment files in piston/ are valid and consistent with each other and with `doctor`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from requirements import skip_or_fail_in_ci
from support.servers import EndpointReport, make_health_checks

from ioi_eval import Store, discovery
from ioi_eval.cli import console, load_command
from ioi_eval.engines.piston.discovery import PORT
from ioi_eval.server.log import Metrics

PISTON = Path(__file__).parents[2] / "piston"
KUBERNETES = PISTON / "kubernetes"
_OBJECTS = list(yaml.safe_load_all((KUBERNETES / "base" / "worker.yaml").read_text()))
_OPERATOR = "monitoring.coreos.com/"
_KINDS = {each["kind"]: each for each in _OBJECTS}


def limits() -> dict[str, str]:
    lines = (PISTON / "limits.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


# --- the official image ------------------------------------------------------------------------------


def test_limits_env_satisfies_all_limits_that_doctor_requires() -> None:
    """A server whose limits are all 1 gets every remedy, which names a variable and a value."""
    numbers = {
        field: 1
        for field in EndpointReport.__struct_fields__
        if field.startswith("max_") and field != "max_body"
    }
    lines = make_health_checks(EndpointReport(url="http://a:2000", runtimes=("bash",), **numbers))  # type: ignore[arg-type]
    required_values = dict(re.findall(r"(PISTON_\w+)=(-?\d+)", " ".join(line.remedy for line in lines)))
    assert len(required_values) > 6
    env_values = limits()
    assert {
        name: value for name, value in required_values.items() if int(env_values[name]) < int(value)
    } == {}


_INDEX = """    app.use(body_parser.urlencoded({ extended: true }));
    app.use(body_parser.json());
"""
_RAISED = """    app.use(body_parser.urlencoded({ extended: true, limit: '512mb' }));
    app.use(body_parser.json({ limit: '512mb' }));
"""


def run_start_script(folder: Path, index: str, *, entrypoint: bool) -> tuple[str, str]:
    """Run `official/start` on a server's source.

    Return the command that it starts, and the changed source.
    """
    for name in ("api/src", "bin"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "api" / "src" / "index.js").write_text(index)
    programs = {folder / "bin" / "node": "node"}
    if entrypoint:
        programs[folder / "api" / "src" / "docker-entrypoint.sh"] = "entrypoint"
    for path, printed_word in programs.items():
        path.write_text(f'#!/bin/sh\necho {printed_word} "$@"\n')
        path.chmod(0o755)
    completed = subprocess.run(
        ["bash", PISTON / "official" / "start"],
        env={"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PISTON_API": str(folder / "api")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return completed.stdout.strip() + completed.stderr, (folder / "api" / "src" / "index.js").read_text()


@pytest.mark.parametrize(("entrypoint", "printed_word"), [(True, "entrypoint"), (False, "node src")])
def test_official_piston_starts_with_raised_request_body_limit(
    tmp_path: Path, entrypoint: bool, printed_word: str
) -> None:
    output, index = run_start_script(tmp_path, _INDEX, entrypoint=entrypoint)
    assert (output, index) == (printed_word, _RAISED)
    assert run_start_script(tmp_path, index, entrypoint=entrypoint) == (
        printed_word,
        _RAISED,
    )  # as after a restart of the container


def test_start_script_keeps_known_server_code_and_warns_of_unknown_code(tmp_path: Path) -> None:
    patched_line = "app.use(body_parser.json({ limit: config.request_body_limit }));\n"
    assert run_start_script(tmp_path, patched_line, entrypoint=False) == ("node src", patched_line)
    output, _ = run_start_script(tmp_path, "app.use(express.json());\n", entrypoint=False)
    assert "looks different" in output


@pytest.mark.parametrize(("kind", "starter"), [("pyxis", "srun"), ("apptainer", "apptainer")])
def test_slurm_job_starts_official_image_with_limits(tmp_path: Path, kind: str, starter: str) -> None:
    """A script replaces the Slurm plug-ins and prints its arguments and limits."""
    program = tmp_path / starter
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nenv\n')
    program.chmod(0o755)
    settings = {
        "FOLDER": str(PISTON / "slurm"), "KIND": kind, "CPUS": "3", "PACKAGES": "/shared/packages",
        "TOKEN_FILE": "", "OPEN": "", "COMMAND": "", "IMAGE": "",
    }  # fmt: skip
    environment = {f"WORKER_{key}": value for key, value in settings.items()}
    completed = subprocess.run(
        [PISTON / "slurm" / "job", "2004"],
        env={**os.environ, **environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    arguments = completed.stdout.splitlines()
    assert any("engineer-man/piston" in line and "sha256:" in line for line in arguments)
    assert any(f"/shared/packages:/piston/packages,{PISTON}/official:/start:ro" in line for line in arguments)
    assert {"PISTON_BIND_ADDRESS=0.0.0.0:2004", "PISTON_MAX_CONCURRENT_JOBS=3"} <= set(arguments)
    assert {f"{name}={value}" for name, value in limits().items()} <= set(arguments)


@pytest.mark.parametrize("answers", [0, 1])
@pytest.mark.parametrize(
    "command", [["stop"], ["stop", "2000"], ["launch", "--ioi-eval", "/bin/true", "--open-to-all", "1"]]
)
def test_slurm_scripts_start_and_stop_no_worker_if_slurm_does_not_answer(
    tmp_path: Path, command: list[str], answers: int
) -> None:
    """`answers` is the number of questions that Slurm answers before it fails."""
    slurm_error = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    call_log = tmp_path / "asked"
    for name in ("squeue", "scancel", "sbatch", "sinfo"):
        program = tmp_path / name
        program.write_text(
            f"#!/bin/sh\necho {name} >>{call_log}\n"
            f'if [ "$(grep -c squeue {call_log})" -gt {answers} ] || [ {name} != squeue ]; then\n'
            f"    echo '{slurm_error}' >&2\n    exit 1\nfi\necho '7 piston-worker-2000'\n"
        )
        program.chmod(0o755)
    completed = subprocess.run(
        [PISTON / "slurm" / command[0], *command[1:]],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.returncode and slurm_error in completed.stderr, completed
    assert "no such worker" not in completed.stdout and " ends" not in completed.stdout


# --- docker ------------------------------------------------------------------------------------------


def test_compose_file_paths_ports_and_capabilities_are_correct() -> None:
    folder = PISTON / "docker"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    official, worker = services["official"], services["worker"]
    assert (folder / official["env_file"]).resolve() == PISTON / "limits.env"
    assert (
        folder / official["volumes"][0].split(":")[0] / "start"
    ).resolve() == PISTON / "official" / "start"
    build = worker["build"]
    assert (folder / build["context"] / build["dockerfile"]).resolve() == folder / "Dockerfile"
    for service in services.values():
        assert service["ports"][0].endswith(f":{PORT}")
        assert service["ports"][0].startswith("127.0.0.1:")
    assert worker["cap_drop"] == ["ALL"]


def test_worker_options_in_deployment_files_exist() -> None:
    worker_options = {option for parameter in load_command("worker").params for option in parameter.opts}
    container = _KINDS["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    services = yaml.safe_load((PISTON / "docker" / "compose.yaml").read_text())["services"]
    dockerfile = (PISTON / "docker" / "Dockerfile").read_text()
    arguments = [
        *container["args"],
        *services["worker"]["command"],
        *re.findall(r'"(--\w[\w-]*)"', dockerfile),
    ]
    arguments += re.findall(
        r"(?<=[( ])--[a-z][a-z-]+(?= )", (PISTON / "slurm" / "job").read_text().split("}")[0]
    )
    assert {"--host", "--slots", "--port", "--token-file"} <= set(arguments)
    assert {argument for argument in arguments if argument.startswith("--")} <= worker_options


def commands(markdown: str) -> list[list[str]]:
    """Return the ioi-eval commands in a page's code blocks, split into arguments."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", markdown, re.DOTALL)).replace("\\\n", " ")
    lines = [line.partition("--command -- ")[2] or line for line in blocks.splitlines()]
    return [line.split() for line in lines if line.startswith("ioi-eval ")]


def test_deployment_readme_uses_existing_commands_and_options() -> None:
    shown_commands = commands((PISTON / "README.md").read_text())
    assert shown_commands
    for _, name, *arguments in shown_commands:
        options = {option for parameter in load_command(name).params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("--")} <= options
    launch = subprocess.run(
        [PISTON / "slurm" / "launch", "--help"], capture_output=True, text=True, check=True
    )
    launch_lines = re.findall(
        r"slurm/launch (.*?)(?: -- .*)?$", (PISTON / "README.md").read_text(), re.MULTILINE
    )
    assert launch_lines
    assert all(
        argument in launch.stdout
        for line in launch_lines
        for argument in line.split()
        if argument.startswith("--")
    )


# --- kubernetes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", _KINDS)
def test_kubernetes_manifest_is_valid(kind: str) -> None:
    assert kubernetes_validate.validate(_KINDS[kind], "1.34", strict=True)


def test_kubernetes_validation_detects_invalid_field() -> None:
    broken = {**_KINDS["Service"], "spec": {**_KINDS["Service"]["spec"], "clusterIp": "None"}}
    with pytest.raises(kubernetes_validate.ValidationError, match="clusterIp"):
        kubernetes_validate.validate(broken, "1.30", strict=True)


def test_kubernetes_manifests_refer_to_each_other_correctly() -> None:
    deployment, service = _KINDS["Deployment"], _KINDS["Service"]
    pod: dict[str, Any] = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    assert _KINDS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert (
        _KINDS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    )
    assert service["spec"]["clusterIP"] == "None"
    discovered = discovery(f"k8s:{service['metadata']['name']}")
    assert str(discovered).endswith(f":{service['spec']['ports'][0]['port']}")
    (container,) = pod["spec"]["containers"]
    paths = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    env_values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (env_values["TMPDIR"], env_values["IOI_EVAL_CACHE"]) == (
        paths["boxes"],
        f"{paths['cache']}/ioi-eval",
    )
    assert f"contents-folder={paths['contents']}" in container["args"]
    assert {entry["name"] for entry in pod["spec"]["volumes"]} == paths.keys()


@pytest.mark.parametrize("file", ["base/worker.yaml", "client/job.yaml"])
def test_pod_cache_is_a_folder_inside_its_volume_mount(tmp_path: Path, file: str) -> None:
    """The mount itself belongs to root and is writable by all, which a private cache must not be."""
    every = yaml.safe_load_all((KUBERNETES / file).read_text())
    [pod] = [entry["spec"]["template"]["spec"] for entry in every if entry["kind"] in ("Deployment", "Job")]
    (container,) = pod["containers"]
    [mount] = [entry["mountPath"] for entry in container["volumeMounts"] if entry["name"] == "cache"]
    [cache] = [entry["value"] for entry in container["env"] if entry["name"] == "IOI_EVAL_CACHE"]
    tmp_path.chmod(0o2777)
    store = Store(tmp_path / Path(cache).relative_to(mount))
    assert store.root.stat().st_uid == os.geteuid()


def test_pod_has_probes_and_restricted_security_context() -> None:
    pod = _KINDS["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    # A worker that answers is alive, even while it drains: with the 503 of /healthz it would be killed.
    assert container["livenessProbe"]["httpGet"] == {"path": "/", "port": "http"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["resources"]["requests"] == container["resources"]["limits"]


def test_client_job_may_reach_workers_and_stores_runs_on_its_volume() -> None:
    every = list(yaml.safe_load_all((KUBERNETES / "client" / "job.yaml").read_text()))
    claim, job = every
    pod = job["spec"]["template"]
    (container,), volumes = pod["spec"]["containers"], pod["spec"]["volumes"]
    (allowed,) = _KINDS["NetworkPolicy"]["spec"]["ingress"][0]["from"]
    assert allowed["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert volumes[0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    options = {option for entry in load_command("score").params for option in entry.opts}
    assert {argument for argument in container["args"] if argument.startswith("--")} <= options
    mounted = {entry["mountPath"] for entry in container["volumeMounts"]}
    assert all(
        f"/{argument.split('/')[1]}" in mounted for argument in container["args"] if argument.startswith("/")
    )
    discovery(container["args"][-1])


_SIZES = {"Gi": 1 << 30, "Mi": 1 << 20}


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) * _SIZES[quantity[-2:]]


@pytest.mark.parametrize("file", ["base/worker.yaml", "client/job.yaml"])
def test_pod_requests_ephemeral_storage_for_its_volumes(file: str) -> None:
    every = yaml.safe_load_all((KUBERNETES / file).read_text())
    [pod] = [entry["spec"]["template"]["spec"] for entry in every if entry["kind"] in ("Deployment", "Job")]
    volumes = (entry["emptyDir"] for entry in pod["volumes"] if "emptyDir" in entry)
    on_disk = sum(_bytes(entry["sizeLimit"]) for entry in volumes if entry.get("medium") != "Memory")
    [resources] = [entry["resources"] for entry in pod["containers"]]
    for resource_kind in ("requests", "limits"):
        assert _bytes(resources[resource_kind]["ephemeral-storage"]) >= on_disk


def test_client_job_is_not_retried_after_permanent_exit_codes() -> None:
    [job] = [entry for entry in yaml.safe_load_all((KUBERNETES / "client" / "job.yaml").read_text())
             if entry["kind"] == "Job"]  # fmt: skip
    [failed] = [
        rule["onExitCodes"]
        for rule in job["spec"]["podFailurePolicy"]["rules"]
        if rule["action"] == "FailJob"
    ]
    assert (failed["operator"], failed["values"]) == ("In", [console.BAD_INPUT, console.SUSPICIOUS])
    pod = job["spec"]["template"]["spec"]
    assert failed["containerName"] in {entry["name"] for entry in pod["containers"]}
    assert pod["restartPolicy"] == "Never"  # with another restart policy, podFailurePolicy is refused


def test_probes_use_https_if_workers_have_a_certificate() -> None:
    pod = rendered("tls")["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    assert {container[name]["httpGet"]["scheme"] for name in probes} == {"HTTPS"}
    options = {argument.partition("=")[0]: argument.partition("=")[2] for argument in container["args"]}
    [mount] = [entry["mountPath"] for entry in container["volumeMounts"] if entry["name"] == "tls"]
    assert (options["--tls-cert"], options["--tls-key"]) == (f"{mount}/tls.crt", f"{mount}/tls.key")
    assert {"--tls-cert", "--tls-key"} <= {
        option for entry in load_command("worker").params for option in entry.opts
    }


def test_prometheus_operator_alerts_equal_alerts_file_and_name_scraped_job() -> None:
    rules = yaml.safe_load((KUBERNETES / "many" / "prometheusrule.yaml").read_text())
    alerts = yaml.safe_load((PISTON / "monitoring" / "alerts.yaml").read_text())
    assert rules["spec"] == alerts
    monitor = yaml.safe_load((KUBERNETES / "many" / "podmonitor.yaml").read_text())
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (job_relabeling,) = [
        relabeling for relabeling in endpoint["relabelings"] if relabeling["targetLabel"] == "job"
    ]
    jobs = {job for rule in alerts["groups"][0]["rules"] for job in re.findall(r'job="(.*?)"', rule["expr"])}
    assert jobs == {job_relabeling["replacement"]}


def test_rolling_update_respects_pod_disruption_budget() -> None:
    budget, deployment = _KINDS["PodDisruptionBudget"], _KINDS["Deployment"]
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    max_unavailable = deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"]
    assert budget["spec"]["maxUnavailable"] == max_unavailable


@cache
def rendered(overlay: str, folder: Path = KUBERNETES) -> dict[str, Any]:
    """Return the objects that `kubectl apply -k` would send, by kind."""
    if shutil.which("kubectl") is None:
        skip_or_fail_in_ci("kubectl")
    completed = subprocess.run(["kubectl", "kustomize", folder / overlay], capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(completed.stdout)}


@pytest.mark.nightly(unless="1.34|base-1.25")
@pytest.mark.parametrize("of", ["1.25", "1.30", "1.34"])
@pytest.mark.parametrize("overlay", ["base", "many", "tls", "client"])
def test_rendered_kubernetes_overlay_is_valid(overlay: str, of: str) -> None:
    own_manifests = [
        manifest
        for manifest in rendered(overlay).values()
        if not manifest["apiVersion"].startswith(_OPERATOR)
    ]
    assert len(own_manifests) > 1
    assert all(kubernetes_validate.validate(manifest, of, strict=True) for manifest in own_manifests)


def test_image_registry_is_set_in_one_file(tmp_path: Path) -> None:
    """The page's own command edits that file."""
    page = (PISTON / "README.md").read_text()
    [edit] = re.findall(r"^sed -i .*image/kustomization\.yaml$", page, re.MULTILINE)
    shutil.copytree(PISTON, tmp_path / "piston")
    subprocess.run(["bash", "-ec", edit], cwd=tmp_path, check=True)
    ours, pushed = version("ioi-eval"), re.findall(r"^docker push (\S+)$", page, re.MULTILINE)
    assert pushed == [f"REGISTRY/ioi-eval-{name}:{ours}" for name in ("worker", "client")]
    for overlay, kind, image in [
        ("base", "Deployment", pushed[0]),
        ("many", "Deployment", pushed[0]),
        ("client", "Job", pushed[1]),
    ]:
        pod = rendered(overlay, tmp_path / "piston" / "kubernetes")[kind]["spec"]["template"]["spec"]
        assert [container["image"] for container in pod["containers"]] == [image]
        assert pod["imagePullSecrets"] == [{"name": "ioi-eval-registry"}]
    assert "create secret docker-registry ioi-eval-registry" in page


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["PodMonitor", "PrometheusRule"])
def test_manifest_has_only_fields_that_prometheus_operator_accepts(kind: str) -> None:
    """The package's models drop unknown fields."""
    try:
        from cloudcoil.models.prometheus_operator import v1
    except ModuleNotFoundError:
        skip_or_fail_in_ci("cloudcoil-models-prometheus-operator")

    def kept(manifest: dict[str, Any]) -> Any:
        parsed = getattr(v1, kind).model_validate(manifest)
        return parsed.model_dump(mode="json", by_alias=True, exclude_unset=True)

    sent = rendered("many")[kind]
    assert kept(sent) == sent
    (key, *_) = sent["spec"]
    misspelt = {**sent, "spec": {**sent["spec"], key.upper(): sent["spec"][key]}}
    assert kept(misspelt) != misspelt


@pytest.fixture
def many() -> dict[str, Any]:
    return rendered("many")


def test_overlay_for_many_workers_keeps_base_objects(many: dict[str, Any]) -> None:
    assert many.keys() == {*_KINDS, "PodMonitor", "PrometheusRule"}
    pod = many["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (
        container["securityContext"]
        == _KINDS["Deployment"]["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    )
    slots = int(container["args"][container["args"].index("--slots") + 1])
    assert container["resources"]["limits"]["cpu"] == str(slots)
    scaler = many["HorizontalPodAutoscaler"]["spec"]
    assert 1500 <= scaler["maxReplicas"] * slots < 1500 + slots
    assert {*pod["securityContext"]} >= {"runAsNonRoot", "seccompProfile"}


def test_autoscaler_metric_is_exported_by_workers(many: dict[str, Any]) -> None:
    (metric,) = many["HorizontalPodAutoscaler"]["spec"]["metrics"]
    adapter = yaml.safe_load((KUBERNETES / "many" / "adapter.yaml").read_text())
    (rule,) = adapter["rules"]["custom"]
    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    exported = Metrics().format_text(running=1, queued=2, slots=3)
    used_metrics = {*re.findall(r"ioi_eval_\w+", rule["metricsQuery"] + rule["seriesQuery"])}
    assert used_metrics == {"ioi_eval_jobs_running", "ioi_eval_jobs_queued", "ioi_eval_slots"}
    assert all(f"# TYPE {name} gauge" in exported for name in used_metrics)
    (endpoint,) = many["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "ioi-eval-worker", "key": "token"}
    allowed = many["NetworkPolicy"]["spec"]["ingress"][0]["from"]
    assert [next(iter(peer)) for peer in allowed] == ["podSelector", "namespaceSelector"]
