// The studio: the page that `ossature studio` serves.

import "./style.css";
import "./studio/studio.css";
import { App } from "./studio/app";

declare global {
  interface Window {
    /** For tests and the console. */
    ossatureStudio?: App;
  }
}

window.ossatureStudio = new App();
