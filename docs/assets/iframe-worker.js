// Browsers start no worker for a page that was opened as a file. The search is one: here it runs in
// a hidden frame instead. Served by HTTP, nothing of this happens.

if (location.protocol === "file:") {
  // The worker of Material looks for this name.
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      // What the worker calls goes out; its script is ready when it was loaded.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = () => resolve(inside);
        script.onerror = () => reject(new Error(`no ${url}`));
        inside.document.head.append(script);
      });
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
