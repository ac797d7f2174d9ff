"""Errors of the language as a user reads them, and what each error code of the tool means.

parsing                                    parse a user's text, with errors explained
explain, lexical, constraints,             the message of each SyntaxFailure
unexpected_token, notation
recovery                                   further syntax errors of the same text
unknown_names, foreign_names               names and attributes that do not exist
runtime, backward                          exceptions of a running program, with their place
flag_values                                help for values of flags that cannot be read
render                                     SyntaxFault, Diagnostic and how one is printed
codes                                      the table behind ``gradcli why CODE``
"""
