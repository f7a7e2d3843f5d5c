// Updates the scoreboard every few seconds, in large letters, and scrolls through a board that is longer than the screen.

const UPDATE_MS = 5000;
document.documentElement.style.fontSize = document.body.style.fontSize = "max(14px, 1.15vw)";
document.querySelector("main").style.maxWidth = "none";

async function update() {
  const status = document.querySelector(".about");
  try {
    const reply = await fetch(location.href);
    if (!reply.ok) throw new Error(reply.statusText);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const rest of page.querySelectorAll("tbody[hidden]")) rest.hidden = false;
    document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  } catch {
    if (!status.textContent.endsWith("trying again")) status.append(" · The server does not answer; trying again");
  }
  const board = document.querySelector(".scroll");
  board.style.maxHeight = "none";
  const bottom = document.documentElement.scrollHeight - innerHeight;
  scrollTo({ top: scrollY >= bottom - 2 ? 0 : scrollY + innerHeight * 0.8, behavior: "smooth" });
}

setInterval(update, UPDATE_MS);
