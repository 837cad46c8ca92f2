"""The options of commands that serve: where to listen, how many answer, who has accounts."""

import click

LISTEN_HOST = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
LISTEN_PORT = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
SERVER_WORKERS = click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    help="Processes that answer.  [default: the processors, up to 4]",
)
SERVER_THREADS = click.option(
    "--threads",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Requests that each process answers at the same time.",
)
USERS_FILE_OPTION = click.option(
    "--users-file",
    default="",
    metavar="FILE",
    help="File of the accounts.  [NWX_USERS_FILE; users.db in the folder of the archive]",
)
