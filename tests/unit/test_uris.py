"""URLs in the form in which they leave (decision 44)."""

import pytest

from waypost.core.uris import MAX_DESTINATION, MAX_LOCATION, ascii_host, encoded, exceeds, to_uri


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("https://bücher.example/straße?q=ü#ß", "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC#%C3%9F"),
        ("HTTPS://BÜCHER.example:8080", "HTTPS://xn--bcher-kva.example:8080"),
        ("https://bücher.example?ü", "https://xn--bcher-kva.example?%C3%BC"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("https://例え。example/", "https://xn--r8jz45g.example/"),
        ("https://ana:pässe@bücher.example/", "https://ana:p%C3%A4sse@xn--bcher-kva.example/"),
        ("https://🏹.to/x", "https://xn--kn8h.to/x"),
        ("https://❤️.example/🦊", "https://xn--qei.example/%F0%9F%A6%8A"),
        ("https://b%C3%BCcher.example/%C3%BC", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://[2606:4700::1111]:8443/ü", "https://[2606:4700::1111]:8443/%C3%BC"),
        ("https://example.com/'\"<>{}|^` \r\n", "https://example.com/'%22%3C%3E%7B%7D%7C%5E%60%20%0D%0A"),
        ("https://exa\r\nmple.com/", "https://exa%0D%0Ample.com/"),
        ("mailto:ana@bücher.example?subject=ü", "mailto:ana@xn--bcher-kva.example?subject=%C3%BC"),
        ("mailto:a@b.example,ü@bücher.example", "mailto:a@b.example,%C3%BC@xn--bcher-kva.example"),
        ("mailto:?subject=ü", "mailto:?subject=%C3%BC"),
        ("tel:+49 1", "tel:+49%201"),
        ("app://bücher/ü", "app://b%C3%BCcher/%C3%BC"),
        ("/straße?ü", "/stra%C3%9Fe?%C3%BC"),
    ],
)
def test_host_leaves_in_ascii_form_and_all_else_percent_encoded(url: str, uri: str) -> None:
    assert to_uri(url) == uri
    assert to_uri(uri) == uri


@pytest.mark.parametrize(
    "uri",
    [
        *("https://example.com", "http://EXAMPLE.com:8080/A%20b?c=%2B&d=%26&a[]=1+2#e#f", "HTTPS://example.com/"),
        *(
            "https://example.com/100%25/%AB%ab",
            "https://xn--bcher-kva.example/",
            "https://example.com:/",
            "https://a_b./~ana",
        ),
        *("mailto:ana@example.com?subject=x%20y", "tel:+49-30", "whatsapp://send?text=x", "/alias?q=1", ""),
    ],
)
def test_uri_leaves_as_it_came(uri: str) -> None:
    assert to_uri(uri) == uri


@pytest.mark.parametrize(
    ("name", "host"),
    [
        *(("🏹.example", "xn--kn8h.example"), ("👍🏽.example", "xn--on8h5e.example"), ("√.example", "xn--19g.example")),
        *(("i♥ü.example", "xn--i-eha448z.example"), ("🏹.bücher.example.", "xn--kn8h.xn--bcher-kva.example")),
        *(("exa\u2044mple.example", None), ("🏹\u2215.example", None), ("-🏹.example", None), ("ab--🏹.example", None)),
        *(("\u0301🏹.example", None), ("👨\u200d👩.example", None), ("🏹^.example", None), ("مثال🏹.example", None)),
        *((f"{'🏹' * 64}.example", None), (f"{'ü.' * 200}example", None), ("\u200b", None)),
    ],
)
def test_host_can_have_symbols_that_do_not_look_like_delimiters(name: str, host: str | None) -> None:
    assert ascii_host(name) == host


def test_length_is_that_of_the_uri() -> None:
    start = "https://bücher.example/"
    longest = start + "ü" * ((MAX_DESTINATION - len(to_uri(start))) // 6)
    assert not exceeds(longest, MAX_DESTINATION)
    assert exceeds(f"{longest}ü", MAX_DESTINATION)
    assert not exceeds("https://example.com/" + "a" * (MAX_LOCATION - 20), MAX_LOCATION)
    assert encoded(b"q=\xff") == "q=%FF"


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("https://example.com/100%", "https://example.com/100%25"),
        ("https://example.com/a%20b/100%?q=%zz&r=%4", "https://example.com/a%20b/100%25?q=%25zz&r=%254"),
        ("https://example.com/50%ü", "https://example.com/50%25%C3%BC"),
        ("mailto:ana@bücher.example?cc=bo@bücher.example,c@example.com&subject=ü@ü",
         "mailto:ana@xn--bcher-kva.example?cc=bo@xn--bcher-kva.example,c@example.com&subject=%C3%BC@%C3%BC"),
        ("mailto:ana%40b%C3%BCcher.example?To=ü@example.com",
         "mailto:ana%40xn--bcher-kva.example?To=%C3%BC@example.com"),
    ],
)  # fmt: skip
def test_destination_with_stray_percent_or_recipients_leaves_as_uri(url: str, uri: str) -> None:
    assert to_uri(url) == uri
    assert to_uri(uri) == uri
