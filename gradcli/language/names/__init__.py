"""What a program can reach: names, namespaces, attributes; how arguments are checked."""
