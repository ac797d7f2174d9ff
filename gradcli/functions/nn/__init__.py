"""The functions of ``gradcli.nn.functional``, a file for each family."""
