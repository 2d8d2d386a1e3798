"""Copies of a workspace: bringing one into another, packing one into a file.

sync         the run: statements, files, manifests, the commit, tags
difference   what the destination lacks; sides, what each of the two has
cleansing    batches arrive without what was erased
location     a directory, a prefix of a store, a packed file
last_sync    what this machine remembers, so that nothing to do costs little
packing      pack and unpack
"""
