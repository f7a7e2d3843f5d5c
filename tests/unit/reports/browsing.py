"""Helpers of browser tests: Chromium, pages, axe, and a keyboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from requirements import skip_or_fail_in_ci

from ioi_eval.reports.document import ALL

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"


ENDED = set[str]()
"""Addresses of servers that tests have stopped. A page may notice it late, after the test left the page."""


def errors(browser: Any) -> list[str]:
    """Return the browser's errors since the last call, except about a server that was stopped."""
    severe = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    return [message for message in severe if not message.startswith(tuple(ENDED))]


def media(browser: Any, kind: str = "", scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def pages(folder: Path) -> list[Path]:
    """Return a page of each kind."""
    page_folder = folder / "report"
    kinds = (sorted(page_folder.glob(f"{kind}-*.html"))[0] for kind in ("problem", "submission"))
    return [folder / "report.html", page_folder / ALL, *kinds]


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def column(browser: Any, index: int) -> list[str]:
    return browser.execute_script(
        f"return [...document.querySelectorAll('tbody tr')].map((row) => row.cells[{index}].textContent)"
    )


# Of rules that pass, only the names: thousands of cells have a selector each.
_AXE_RUN = """
    const done = arguments[0];
    const options = { preload: false, resultTypes: ["violations"], selectors: false };
    axe.run(document, options).then(({ violations, passes }) => done([
      violations.map(({ id, nodes }) => [id, nodes[0].html, nodes.length]), passes.map(({ id }) => id),
    ]));
"""


def violations(browser: Any) -> list[tuple[str, str, int]]:
    """Return axe's violations: the rule, its first place, and their number."""
    if not AXE.is_file():
        skip_or_fail_in_ci(f"axe (npm install --prefix {AXE.parents[2]} axe-core)")
    browser.execute_script(AXE.read_text())
    broken_rules, passed = browser.execute_async_script(_AXE_RUN)
    assert {"color-contrast", "html-has-lang"} <= {*passed}
    return [(rule, html[:200], number) for rule, html, number in broken_rules]


# Controls that can be seen; those inside drawings have the same links in a table below, and arrows
# lead to the links of the board.
_CONTROLS = """
    window.met = new Set();
    window.unseen = [];
    const looks = (node) => {
      const style = getComputedStyle(node);
      return [style.outline, style.borderColor, style.boxShadow].join();
    };
    const htmlOf = (node) => node.outerHTML.slice(0, 200);
    const every = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
    const controls = every.filter((node) => !node.closest("svg, .cells") && node.checkVisibility());
    const before = new Map(controls.map((node) => [node, looks(node)]));
    document.addEventListener("focusin", ({ target }) => {
      window.met.add(target);
      if (looks(target) === before.get(target)) window.unseen.push(htmlOf(target));
    });
    window.missed = () => controls.filter((node) => !window.met.has(node)).map(htmlOf);
    return controls.length;
"""


TAB, ENTER, RIGHT, DOWN = "\ue004", "\ue007", "\ue014", "\ue015"


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    chain = ActionChains(browser, duration=0)
    for key in keys:
        chain.send_keys(key)
    chain.perform()


def reach(browser: Any, selector: str) -> None:
    """Move the focus to an element by Tab alone, from the top of the page."""
    browser.execute_script(
        """
        document.activeElement.blur();
        window.wanted = arguments[0];
        window.stays ??= document.addEventListener("keydown", (event) => {
          if (event.key === "Tab" && document.activeElement.matches(window.wanted)) event.preventDefault();
        }, true) ?? true;
        """,
        selector,
    )
    for _ in range(20):
        press(browser, *[TAB] * 25)
        if browser.execute_script("return document.activeElement.matches(window.wanted)"):
            browser.execute_script("window.wanted = ':not(*)'")
            return
    raise AssertionError(f"Tab does not reach {selector}")


def check_tabs(browser: Any) -> None:
    """Check that Tab reaches every control, and that each control shows its focus."""
    number = browser.execute_script(_CONTROLS)
    press(browser, *[TAB] * (number + 2))
    missed, unseen = browser.execute_script("return [window.missed(), window.unseen]")
    assert number > 5 and not missed, (number, missed)
    assert not unseen, unseen
