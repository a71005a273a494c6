"""The synchronous client: `aio` without `async` and `await`. Only `blocking` is written by hand."""
