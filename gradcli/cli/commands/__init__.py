"""The commands, a file each; a file is imported when its command is asked for."""
