"""What a declaration says beside its rule, and what is derived of it.

batching     how an operator works on a batch, for vmap
formula      the derivative of a composite operator, read off its formula
infix        the signs of operators, and the methods that Python calls for them
cures        why a result is not finite, and what to do
node_names   what PyTorch calls an operator's node
"""
