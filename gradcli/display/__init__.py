"""What people and other programs look at: text, records and pictures of values and graphs.

    values         numbers and arrays in plain text    graphs        graphs as text, dot and JSON
    records        strict JSON, CSV and NPY            tensorboard   a graph as an event file
    explanations   the chain rule step by step         plot          curves as text
    findings       where a NaN comes from, and its cure
    verdict        whether a gradient is right, with expression and agreements
    answers        closed forms at values, as records and warnings

It gives texts and bytes; the command line writes them out.
"""
