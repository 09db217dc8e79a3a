"""The commands of the command line, a file a group; `cli` puts them together."""
