"""The packed file: a whole bundle in one file, which is a bundle itself.

archive      the one form of the file, and writing it
members      which files of a workspace go into it
pack         from a snapshot to a packed file, and back to a directory
rewriting    a change of a packed workspace: made beside it, put in its place as a whole
exclusive    one writer at a time
"""
