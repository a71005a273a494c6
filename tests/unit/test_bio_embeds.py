"""Players of other services: which URLs have one."""

import pytest

from waypost.items.bios.embeds import find_player


@pytest.mark.parametrize(
    ("url", "player"),
    [
        (
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?autoplay=1",
        ),
        (
            "https://m.youtube.com/watch?list=PL1&v=dQw4w9WgXcQ&t=3",
            "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?autoplay=1",
        ),
        ("https://youtu.be/dQw4w9WgXcQ?si=x", "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?autoplay=1"),
        ("https://youtube.com/shorts/dQw4w9WgXcQ", "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?autoplay=1"),
        ("https://vimeo.com/22439234", "https://player.vimeo.com/video/22439234?autoplay=1&dnt=1"),
        (
            "https://vimeo.com/22439234/0a1b2c3d4e",
            "https://player.vimeo.com/video/22439234?autoplay=1&dnt=1&h=0a1b2c3d4e",
        ),
        ("https://www.dailymotion.com/video/x8abcde", "https://geo.dailymotion.com/player.html?video=x8abcde"),
        (
            "https://open.spotify.com/intl-de/track/11dFghVXANMlKmJXsNCbNl?si=1",
            "https://open.spotify.com/embed/track/11dFghVXANMlKmJXsNCbNl",
        ),
        (
            "https://music.apple.com/us/album/blue/1440857781?i=1440857795",
            "https://embed.music.apple.com/us/album/blue/1440857781?i=1440857795",
        ),
        (
            "https://soundcloud.com/forss/flickermood",
            "https://w.soundcloud.com/player/?url=https%3A%2F%2Fsoundcloud.com%2Fforss%2Fflickermood&auto_play=true",
        ),
    ],
)
def test_page_of_service_has_player(url: str, player: str) -> None:
    result = find_player(url)
    assert result is not None
    assert result.url == player
    assert result.url.startswith(f"{result.origin}/")


@pytest.mark.parametrize(
    "url",
    [
        "https://www.youtube.com/",
        "https://www.youtube.com.evil.example/watch?v=dQw4w9WgXcQ",
        "https://evil.example/https://youtu.be/dQw4w9WgXcQ",
        "https://youtu.be@evil.example/dQw4w9WgXcQ",
        "https://youtu.be/dQw4w9WgXcQ'\"><script>",
        "https://vimeo.com/about",
        "javascript:youtu.be/dQw4w9WgXcQ",
        "https://soundcloud.com/forss",
        "https://open.spotify.com/user/someone",
    ],
)
def test_other_urls_have_no_player(url: str) -> None:
    assert find_player(url) is None
