// A worker for pages that are opened from the disk, where browsers start none: the script runs in a hidden frame.
// The search of the site is the only one that asks for it.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow, page = this.frame.contentDocument;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve());
      this.ready = this.load(address, page);
    }
    load(address, page = this.frame.contentDocument) {
      return new Promise((resolve, reject) => {
        const script = page.createElement("script");
        Object.assign(script, { src: address, onload: resolve, onerror: () => reject(new Error(address)) });
        page.head.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
