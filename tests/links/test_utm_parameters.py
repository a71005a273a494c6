"""UTM parameters are written into the query of a URL, and nothing else of it changes."""

import pytest

from waypost.urls.url_parts import set_utm_parameters, utm_values_of

_NEWS = {"utm_source": "news & more", "utm_medium": "e-mail", "utm_term": ""}
_ADDED = "utm_source=news%20%26%20more&utm_medium=e-mail"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", f"https://a.example?{_ADDED}"),
        ("https://a.example/?", f"https://a.example/?{_ADDED}"),
        (
            "https://a.example/x?a=%7e&flag#top?utm_source=no",
            f"https://a.example/x?a=%7e&flag&{_ADDED}#top?utm_source=no",
        ),
        (
            "https://a.example/?utm_medium=post&x=1&utm%5Fmedium=b&utm_term=boots",
            "https://a.example/?utm_medium=e-mail&x=1&utm_term=boots&utm_source=news%20%26%20more",
        ),
        (" HTTPS://a.example/#b#c", f"HTTPS://a.example/?{_ADDED}#b#c"),
        ("mailto:ana@example.com?subject=Hi", "mailto:ana@example.com?subject=Hi"),
        ("", ""),
    ],
)
def test_parameters_replace_first_of_their_name_or_are_appended(url: str, expected: str) -> None:
    assert set_utm_parameters(url, _NEWS) == expected
    assert set_utm_parameters(expected, _NEWS) == expected


def test_parameters_of_url_are_read_as_web_analytics_do() -> None:
    url = set_utm_parameters("https://a.example/?utm_source=first&utm_source=second&x=1", {"utm_content": "ä+b"})
    assert utm_values_of(url) == {"utm_source": "first", "utm_content": "ä+b"}
