"""The store: the only input and output of the format. One small port, and one module per kind of place.

    port       Store, Entry, proves_put_if_absent     what every place promises
    local      LocalStore                             a directory of this machine
    memory     MemoryStore                            a dictionary of this process
    remote     RemoteStore, FsspecStore               what is reached by requests; every fsspec URL
    s3         S3Store                                s3://
    retries    pause, repetition                      which requests are repeated, and when
    refusals   typed_refusal                          from a server's answer to our typed errors
    packed     PackedStore                            a packed file, read only
    overlay    OverlayStore                           changes on top of a store that is only read
    opening    open_store                             from a path or URL to its store
    failures   typed_failures                         from OSError to our typed errors

Importing this package loads none of fsspec, s3fs, pyarrow and asyncio.
"""

from tychora_format.store.local import LocalStore
from tychora_format.store.memory import MemoryStore
from tychora_format.store.opening import open_store
from tychora_format.store.port import Entry, Store, checked_path, proves_put_if_absent

__all__ = [
    "Entry",
    "LocalStore",
    "MemoryStore",
    "Store",
    "checked_path",
    "open_store",
    "proves_put_if_absent",
]
