// Browsers start no worker from a file. There the search of the site runs in a hidden frame instead.
if (location.protocol === "file:") {
  // The search asks for this name, to find its scripts from within a frame.
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #waiting = [];
    #inner = null;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      frame.addEventListener("load", () => this.#start(frame, url), { once: true });
      (document.body || document.documentElement).append(frame);
    }

    #start(frame, url) {
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) => Promise.all(urls.map((one) => load(inner, one)));
      load(inner, url).then(() => {
        this.#inner = inner;
        this.#waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.#inner === null) this.#waiting.push(data);
      else this.#inner.dispatchEvent(new MessageEvent("message", { data }));
    }
  };

  const load = (inner, url) => new Promise((resolve, reject) => {
    const script = inner.document.createElement("script");
    Object.assign(script, { src: url, onload: resolve, onerror: reject });
    inner.document.body.append(script);
  });
}
