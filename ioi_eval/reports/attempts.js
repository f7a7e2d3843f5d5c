// From a submission to earlier and later attempts of its model and to equal programs. A script beside the page lists
// them: a later report has others, and keeps the page.

const MOST_EQUAL = 6; // links

class Attempts {
  constructor({ author, whole, rows }, own) {
    [this.author, this.whole] = [author, whole];
    this.every = rows.map(([page, key, model, attempt, verdict, group]) => ({ page, key, model, attempt, verdict, group }));
    this.own = this.every.find(({ page }) => page === own);
  }

  get ofModel() {
    const place = ({ attempt }) => attempt ?? Infinity;
    const order = (a, b) => (place(a) === place(b) ? WORDS.compare(a.key, b.key) : place(a) - place(b));
    return this.every.filter(({ model }) => model === this.own.model).sort(order);
  }

  get equal() {
    const { group } = this.own;
    return group ? this.every.filter((one) => one.group === group && one !== this.own) : [];
  }
}

function attemptLink({ page, key, verdict }, before = "", pressed = "") {
  const link = document.createElement("a");
  link.href = page;
  link.title = pressed ? `${key}, or the key ${pressed.toUpperCase()}` : key;
  link.textContent = `${before}${key} (${verdict})`;
  return link;
}

function fillAttempts(nav, attempts) {
  const words = (text) => Object.assign(document.createElement("span"), { textContent: text });
  const { ofModel, equal, own } = attempts;
  const place = ofModel.indexOf(own), models = [...attempts.every].sort((a, b) => a.model - b.model);
  const [earlier, later] = [ofModel[place - 1], ofModel[place + 1]];
  const keys = { // to the attempts of other models, too
    k: earlier ?? models.findLast((one) => one.model < own.model),
    j: later ?? models.find((one) => one.model > own.model),
  };
  addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
    const is_typing = target.closest?.("input, select, textarea") || ctrlKey || metaKey || altKey;
    if (!is_typing && keys[key]) location.href = keys[key].page;
  });
  if (ofModel.length > 1) {
    const pages = attempts.whole ? "" : ", of those with pages";
    nav.append(words(`Attempt ${place + 1} of ${ofModel.length.toLocaleString("en")} of this ${attempts.author}${pages}:`));
  }
  if (earlier) nav.append(attemptLink(earlier, "← ", "k"));
  if (later) nav.append(attemptLink(later, "→ ", "j"));
  if (equal.length) {
    const more = equal.length - MOST_EQUAL;
    nav.append(words(`Equal programs${more > 0 ? `, the first ${MOST_EQUAL} of ${equal.length.toLocaleString("en")}` : ""}:`));
    nav.append(...equal.slice(0, MOST_EQUAL).map((one) => attemptLink(one)));
  }
  nav.hidden = !nav.hasChildNodes();
}

const ownAttempts = document.querySelector("nav[data-page]");
if (ownAttempts && typeof ATTEMPTS !== "undefined") {
  const attempts = new Attempts(ATTEMPTS, ownAttempts.dataset.page);
  if (attempts.own) fillAttempts(ownAttempts, attempts);
}
