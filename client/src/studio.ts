// The studio: the page that `osteon studio` serves.

import { element } from "./dom";
import "./style.css";
import "./studio/studio.css";
import { App } from "./studio/app";

declare global {
  interface Window {
    /** For tests and the console. */
    osteonStudio?: App;
  }
}

try {
  window.osteonStudio = new App();
} catch (error) {
  const why = "The studio cannot draw here: this browser has no WebGL, or it is switched off.";
  document.body.replaceChildren(element("p", why, "no-stage"));
  console.warn(error);
}
