// Keeps the status bar above the report current, and loads the page again when the server has a newer report.

const MIN_AGE_MS = 5000; // of a page that is loaded again
const strip = document.getElementById("live"), ownVersion = strip.dataset.version;
// A reader who sorts, filters, opens or selects something decides by a button when the page changes.
const READING = ":focus-visible, select:focus, .part th[aria-sort], .part details[open], .filters[open]";

function isReading() {
  const words = [...document.querySelectorAll("input.filter")].some(({ value }) => value);
  return document.hidden || words || getSelection().type === "Range" || Boolean(document.querySelector(READING));
}

// Changes only what differs, so that focus, selection and folds stay.
function morph(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeName !== next.nodeName || !next.attributes) { old.replaceWith(next); return; }
  for (const { name } of [...old.attributes]) if (name !== "open" && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const had = [...old.childNodes], has = [...next.childNodes];
  has.forEach((node, place) => (place < had.length ? morph(had[place], node) : old.append(node)));
  for (const node of had.slice(has.length)) node.remove();
}

function renew() {
  document.title = strip.dataset.title;
  const isOld = strip.dataset.version !== ownVersion;
  document.getElementById("update").hidden = !isOld;
  if (isOld && performance.now() > MIN_AGE_MS && !isReading()) location.reload();
}

const events = new EventSource("events");
events.addEventListener("message", ({ data }) => {
  morph(strip, new DOMParser().parseFromString(JSON.parse(data), "text/html").getElementById("live"));
  renew();
});
events.addEventListener("error", () => { document.getElementById("state").textContent = "The server does not answer; trying again."; });

strip.addEventListener("click", ({ target }) => {
  if (target.id === "update") location.reload();
  if (target.id === "copy") navigator.clipboard?.writeText(document.getElementById("command").textContent);
});
for (const fold of strip.querySelectorAll("details")) fold.open = sessionStorage.getItem(fold.id) === "open";
strip.addEventListener("toggle", ({ target }) => sessionStorage.setItem(target.id, target.open ? "open" : ""), true);
renew();
setTimeout(renew, MIN_AGE_MS); // for an event that came earlier: the event of the end is the last
