"""File sources: listing, scanning, what is wrong with a file, and cleaning up."""
