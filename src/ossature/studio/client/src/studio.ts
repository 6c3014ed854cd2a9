// The studio: the page that `ossature studio` serves.

import "./style.css";
