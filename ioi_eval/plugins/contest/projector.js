// Updates the scoreboard every few seconds, in letters as large as fit, and scrolls through a board that is longer than the screen.

const UPDATE_MS = 5000, MAX_LETTERS = 24, MIN_LETTERS = 9; // letters in pixels

function fit() {
  document.querySelector("main").style.maxWidth = "none";
  for (const tools of document.querySelectorAll(".tools")) tools.remove();
  const board = document.querySelector(".scroll"), root = document.documentElement.style;
  const setLetters = (size) => { root.fontSize = document.body.style.fontSize = `${size}px`; };
  board.style.maxHeight = "none";
  setLetters(MAX_LETTERS);
  setLetters(Math.max(MIN_LETTERS, Math.min(1, board.clientWidth / board.scrollWidth) * MAX_LETTERS * 0.99));
}

async function update() {
  try {
    const reply = await fetch(location.href);
    if (!reply.ok) throw new Error(reply.statusText);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const rest of page.querySelectorAll("tbody[hidden]")) rest.hidden = false;
    document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  } catch {
    const status = document.querySelector(".about");
    if (!status.textContent.endsWith("trying again")) status.append(" · The server does not answer; trying again");
  }
  fit();
  const bottom = document.documentElement.scrollHeight - innerHeight;
  scrollTo({ top: scrollY >= bottom - 2 ? 0 : scrollY + innerHeight * 0.8, behavior: "smooth" });
}

fit();
setInterval(update, UPDATE_MS);
