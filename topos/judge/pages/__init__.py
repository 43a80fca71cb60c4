"""Pages: grades and tables as HTML files that need no other file."""
