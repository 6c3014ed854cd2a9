// The studio: the page that `ossature studio` serves.

import "./style.css";
import "./studio/studio.css";
import { App } from "./studio/app";

new App();
