"""A simulator live in the browser: to watch, to stop, to push."""
