"""Writers on two hosts, for real: real processes, real signals, and a reader beside them."""
