"""The language: text to tokens, to a tree, to Python code that runs within limits.

lexer, parser, reduce_*      text to the tree; ``tables`` is made from the grammar
nodes, node_*                the tree itself; ``printer`` and ``format`` write it back
check, check_*               which names a program binds, and what stands where
lower, lower_*, emit         the checked tree to Python code
run, scope, gate, bounds     running it: what it sees, and what holds it back
names, namespaces, layers    what a program can reach, under which name
values, value_*              what flags carry: ``--x 0,1,2,3``, ``--x @points.csv``
faults, *_faults, *_help     what went wrong in the user's own text, and how to mend it
codes, codes_*               what each error code means
"""
