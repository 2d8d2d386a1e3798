"""An S3 server of moto on a free loopback port: `python moto_server.py`.

Prints its port and serves until its standard input ends, so it never outlives the test run that started it.
"""

from __future__ import annotations

import sys
import threading


def serve() -> None:
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
