"""The site around the pages: what is shared, and nothing that a page should say itself."""
