"""Tracing: steps and derivative rules run on symbols."""
