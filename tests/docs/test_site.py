"""The documentation site: a strict build without broken links that loads nothing from the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from importlib import import_module
from pathlib import Path

import pytest
from support.browsers import chromium
from support.pages import PAGES, ROOT, blocks

from ioi_eval.cli import COMMANDS, load_command

_NAMES = ("models", "errors", "runs", "scoring", "sources", "engines", "testing", "classic")
MODULES = ["ioi_eval", *(f"ioi_eval.{name}" for name in _NAMES)]
RESULT = ".md-search-result__link"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site. A broken link or anchor, or a page without a menu entry, fails the build."""
    folder = tmp_path_factory.mktemp("site")
    completed = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return folder


@pytest.mark.nightly
def test_site_documents_every_command_option_and_public_name(site: Path) -> None:
    commands = unescape((site / "reference" / "commands.html").read_text())
    api = (site / "reference" / "api.html").read_text()
    for name in COMMANDS:
        command_section = commands.partition(f'<h2 id="{name}">')[2].partition("<h2 ")[0]
        for parameter in load_command(name).params:
            if parameter.param_type_name == "option":
                flag = next(flag for flag in parameter.opts if flag.startswith("--"))  # the shown name
                is_key = getattr(parameter, "hidden", False)
                assert (f"  {flag[2:]} = " if is_key else flag) in command_section, f"{name} {parameter.opts}"
    for module in MODULES:
        missing = [
            public_name
            for public_name in import_module(module).__all__
            if f'id="{module}.{public_name}"' not in api
        ]
        assert missing == []


@pytest.mark.nightly
def test_site_pages_load_nothing_from_the_network(site: Path) -> None:
    """The search index is in a script, because pages opened as files cannot load it otherwise."""
    loads = re.compile(r'<(?:script|img|iframe)[^>]*\ssrc="([^"]*)|<link[^>]*stylesheet[^>]*href="([^"]*)')
    for page in site.rglob("*.html"):
        addresses = ["".join(pair) for pair in loads.findall(page.read_text())]
        assert [address for address in addresses if address.startswith(("http", "//"))] == []
    assert "ioi-eval score" in (site / "search" / "search_index.js").read_text()


@pytest.mark.nightly
def test_site_search_works_with_file_urls(site: Path) -> None:
    """A browser searches and opens the page that it finds. Only files are loaded."""
    from selenium.webdriver.support.wait import WebDriverWait

    with chromium() as browser:
        browser.set_window_size(1400, 900)  # in a narrow window the search field is folded
        browser.get((site / "index.html").as_uri())
        field = browser.find_element("css selector", "input.md-search__input")
        field.click()
        field.send_keys("waiting interpreter fork")
        shown = f'{RESULT}[href*="semantics.html"]'
        WebDriverWait(browser, 600).until(lambda _: browser.find_elements("css selector", shown))
        browser.get(browser.find_element("css selector", shown).get_attribute("href"))
        assert "fork" in browser.find_element("css selector", "article").text
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
        requested_schemes = set(re.findall(r'"url\\?":\\?"([a-z]+:)//', str(browser.get_log("performance"))))
        assert requested_schemes <= {"file:", "chrome:"} and "file:" in requested_schemes


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_option_has_a_help_text(name: str) -> None:
    parameters = load_command(name).params
    assert [parameter.name for parameter in parameters if not getattr(parameter, "help", "")] == []


def commands_in(page: str) -> list[tuple[str, str]]:
    """Return the ioi-eval commands in a page's blocks and text, and their arguments."""
    page_text = (ROOT / page).read_text().replace("\\\n", " ")
    code = [*(line for block in blocks(page) for line in block.code.replace("\\\n", " ").splitlines())]
    code += re.findall(r"`(ioi-eval [^`]*)`", page_text)
    matches = re.findall(r"ioi-eval ([a-z]+)((?: [^\n|#;&`]*)?)", "\n".join(code))
    return [(name, arguments) for name, arguments in matches if name in COMMANDS]


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md" and commands_in(page)])
def test_options_in_commands_of_a_page_exist(page: str) -> None:
    for name, arguments in commands_in(page):
        known_options = {
            option
            for parameter in load_command(name).params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used_options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", arguments)) - {"--help", "--help-all"}
        assert used_options <= known_options, f"ioi-eval {name}{arguments}"
