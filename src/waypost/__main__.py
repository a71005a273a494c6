"""Entry point of the `waypost` command."""

import signal
import sys

from waypost.core import module_loading, process_signals


def main() -> None:
    """Run the command. The service ignores SIGHUP from the first moment, also while its modules are imported."""
    if sys.argv[1:2] in (["serve"], ["demo"]):
        process_signals.ignore()
    if sys.argv[1:2] == ["serve"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C during the start ends it without a traceback
    module_loading.load("waypost.cli.main").main()


if __name__ == "__main__":
    main()
