"""A run as one HTML file, and as Markdown."""
