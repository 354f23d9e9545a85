"""What the Makefile calls: setting up, finding a browser, taking the README's pictures."""
