"""`make bench`: what we cost beside what people write by hand; ratios from one run."""
