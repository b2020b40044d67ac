"""The record of what each batch and each generation read and wrote."""
