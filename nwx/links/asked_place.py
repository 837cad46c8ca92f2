"""What a question about links is about: a URL or a host."""

from dataclasses import dataclass

from nwx.errors import ErrorText, UrlError, UsageError
from nwx.values.link_places import host_of_urlkey
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url

_SCHEME = "://"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A URL with its urlkey, or a host without one."""

    text: str
    urlkey: str
    host: str

    @property
    def is_host(self) -> bool:
        """Tell whether all URLs of a host are meant."""
        return not self.urlkey


def asked_place(text: str) -> AskedPlace:
    """Return what a text names: a URL where it has a scheme or a path, else a host.

    Raises UsageError on what is neither.
    """
    is_url = _SCHEME in text or "/" in text
    try:
        url = clean_url(text if _SCHEME in text else f"http://{text}")
        key = urlkey(url)
    except UrlError as error:
        raise UsageError(
            ErrorText("%(text)s is neither a URL nor a host", text=repr(text[:80]))
        ) from error
    host = host_of_urlkey(key)
    if not host or (not is_url and "." not in host and host != "localhost"):
        raise UsageError(
            ErrorText(
                "%(text)s is neither a URL nor a host; write http://… or HOST", text=repr(text[:80])
            )
        )
    return AskedPlace(text, key if is_url else "", host)
