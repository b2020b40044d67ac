"""Python data sources and the kit that tries them."""
