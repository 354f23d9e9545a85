"""Parts of a page that run in the browser: plain HTML, CSS and JavaScript, all shipped."""
