"""The upkeep of a workspace: what keeps it quick, small, whole, and free of what must not be there.

compact      carrying                    the batches of many adds become one
collect                                  files that nothing needs go
withdraw     targets, stating            hide and restore
erase        expire, policy              forget for good, at once or when the time has come
verify       repair                      check everything, and put back what can be had
upgrade      advice                      the newest format; what is worth doing now
"""
