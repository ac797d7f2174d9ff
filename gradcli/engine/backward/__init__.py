"""The backward pass: what asks for gradients, the walk, hooks, anomaly mode."""
