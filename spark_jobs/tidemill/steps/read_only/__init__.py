"""Steps that only look: check, plan, preview, requalify, state, schema inference."""
