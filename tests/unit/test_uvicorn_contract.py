"""Private attributes of uvicorn that waypost uses. A failure means: adapt the module named in it to the new uvicorn."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn import config
from uvicorn.protocols.http import httptools_impl
from uvicorn.supervisors import multiprocess

CONNECTION, SENDFILE, WORKERS = "http/connection.py", "http/sendfile.py", "server/workers.py"
API_SERVER = "server/api_server.py"


def _assigned(function: Callable[..., Any]) -> set[str]:
    """Return the attributes of `self` that a method assigns."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }


@pytest.mark.parametrize(
    ("owner", "names", "used_by"),
    [
        (
            httptools_impl.HttpToolsProtocol,
            "connection_made connection_lost data_received on_message_begin on_url on_header on_headers_complete "
            "on_message_complete on_response_complete shutdown _start_asgi_task _unset_keepalive_if_required",
            CONNECTION,
        ),
        (multiprocess, "SIGNALS Multiprocess Process", WORKERS),
        (config, "STARTUP_FAILURE", WORKERS),
        (
            multiprocess.Multiprocess,
            "run init_processes keep_subprocess_alive restart_all terminate_all handle_ttin handle_ttou",
            WORKERS,
        ),
        (multiprocess.Process, "start join kill terminate wait_until_ready pid exitcode target server", WORKERS),
        (uvicorn.Server, "startup shutdown", API_SERVER),
        (uvicorn.Config, "bind_socket", WORKERS),
    ],
    ids=str,
)
def test_uvicorn_has_the_names_that_waypost_uses(owner: Any, names: str, used_by: str) -> None:
    missing = [name for name in names.split() if not hasattr(owner, name)]
    assert not missing, f"uvicorn {uvicorn.__version__} lacks {missing} of {owner}, used by {used_by}"


@pytest.mark.parametrize(
    ("owner", "names", "used_by"),
    [
        (
            httptools_impl.HttpToolsProtocol,
            "loop server_state timeout_keep_alive transport flow client headers pipeline cycle",
            CONNECTION,
        ),
        (
            httptools_impl.RequestResponseCycle,
            "disconnected keep_alive response_started response_complete expected_content_length",
            SENDFILE,
        ),
        (multiprocess.Multiprocess, "config sockets processes processes_num should_exit", WORKERS),
        (multiprocess.Process, "config process _server", WORKERS),
        (uvicorn.Server, "config server_state", API_SERVER),
        (uvicorn.Config, "http", API_SERVER),
    ],
    ids=str,
)
def test_uvicorn_sets_the_attributes_that_waypost_uses(owner: Any, names: str, used_by: str) -> None:
    missing = set(names.split()) - _assigned(owner.__init__)
    assert not missing, f"uvicorn {uvicorn.__version__} no longer sets {missing} of {owner}, used by {used_by}"


def test_uvicorn_passes_the_protocol_the_arguments_that_the_fast_path_takes() -> None:
    parameters = list(inspect.signature(httptools_impl.HttpToolsProtocol.__init__).parameters)
    assert parameters[:4] == ["self", "config", "server_state", "app_state"], CONNECTION
