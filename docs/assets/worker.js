// Browsers start no worker for a page that was opened as a file: what the worker would run runs in a frame then, so that search
// works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    onmessage = null;

    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = (this.inside = frame.contentWindow);
      const answers = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.postMessage = answers;
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, next) => before.then(() => load(inside, next)), Promise.resolve());
      load(inside, address).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
}

function load(inside, address) {
  return new Promise((done, failed) => {
    const script = inside.document.createElement("script");
    script.src = address;
    script.onload = done;
    script.onerror = failed;
    inside.document.body.append(script);
  });
}
