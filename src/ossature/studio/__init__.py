"""Look and edit in the browser: a local server, and one session of edits on an untouched take."""
