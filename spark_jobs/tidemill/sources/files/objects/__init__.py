"""Files that are delivered to an object store, and copied to where Spark reads them."""
