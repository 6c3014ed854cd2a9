// The studio: the page that `ossature studio` serves.

import { element } from "./dom";
import "./style.css";
import "./studio/studio.css";
import { App } from "./studio/app";

declare global {
  interface Window {
    /** For tests and the console. */
    ossatureStudio?: App;
  }
}

try {
  window.ossatureStudio = new App();
} catch (error) {
  const why = "The studio cannot draw here: this browser has no WebGL, or it is switched off.";
  document.body.replaceChildren(element("p", why, "no-stage"));
  console.warn(error);
}
