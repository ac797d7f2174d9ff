"""``gradcli check --against``: a gradient that was worked out by hand, and what is wrong with it.

The given gradient is a formula, numbers or a file. A formula is also tried at points nearby and at
farther ones: what explains the difference at one of them by chance does not do so at all, and where
the given point is tiny, huge or whole, terms vanish there that are wrong. Numbers are the gradient
at the given point alone.
"""
