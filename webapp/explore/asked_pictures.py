"""Charts as pictures: the form and the colours that are asked for, and the answer."""

from dataclasses import dataclass

from flask import Response, request
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.charts import fields
from nwx.charts.fields import Spec
from nwx.charts.pictures import PictureFormat, draw_picture
from nwx.errors import ErrorText, UsageError
from webapp.explore.chart_looks import chart_looks
from webapp.site import parameters

_FORMS: dict[str, tuple[PictureFormat, str]] = {
    "svg": ("svg", "image/svg+xml"),
    "png": ("png", "image/png"),
}


@dataclass(frozen=True, slots=True)
class AskedPicture:
    """A picture as a request wants it; `suffix` is the form as its address names it."""

    suffix: str
    scheme: str
    format: PictureFormat
    mimetype: str

    def of_chart(self, spec: Spec, name: str) -> Response:
        """Return the answer with a chart, in the words and numbers of the page's language."""
        return self.answer(
            draw_picture(spec, chart_looks(self.scheme, background=True), self.format), name
        )

    def answer(self, drawn: bytes, name: str) -> Response:
        """Return the answer with a picture that is drawn, as a file of a name."""
        response = Response(drawn, mimetype=self.mimetype)
        response.headers["Content-Disposition"] = f'inline; filename="{name}.{self.suffix}"'
        return response


def asked_picture(form: str) -> AskedPicture:
    """Return the picture that a request asks for; `form` is the end of its address.

    Raises NotFound for an unknown form, and UsageError for an unknown scheme
    of colours.
    """
    if form not in _FORMS:
        raise NotFound(
            gettext(
                "charts come as %(choices)s, not as %(form)s",
                choices=" and ".join(_FORMS),
                form=repr(form),
            )
        )
    scheme = parameters.text(request.args, "scheme", 10) or fields.SCHEMES[0]
    if scheme not in fields.SCHEMES:
        raise UsageError(
            ErrorText(
                "scheme is %(scheme)s; choose one of %(choices)s",
                scheme=repr(scheme),
                choices=", ".join(fields.SCHEMES),
            )
        )
    return AskedPicture(form, scheme, *_FORMS[form])
