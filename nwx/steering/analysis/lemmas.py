"""Words of a text folded and lemmatised, and terms found by their letters."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ahocorasick


CLOSED_WORDS = {
    "en": """a about above after again against all also am an and any are as at be because been
        before being below between both but by can could did do does doing down during each few
        for from further had has have having he her here hers herself him himself his how i if in
        into is it its itself just may me might more most must my myself no nor not now of off on
        once only or other our ours ourselves out over own same shall she should so some such than
        that the their theirs them themselves then there these they this those through to too
        under until up upon us very was we were what when where which while who whom whose why
        will with within without would you your yours yourself s t d ll re ve m""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim
        bin bis bist da damit dann das dass daß dein deine dem den denn der des dessen deshalb die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines
        er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter
        ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes
        jetzt kann kein keine keinem keinen keiner können könnte machen man mehr mein meine mich
        mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
        seinen seiner seit sich sie sind so soll sollte sondern sonst über um und uns unser unsere
        unter vom von vor war waren warst was weg weil weiter welche welchem welchen welcher
        wenn wer werde werden wie wieder will wir wird wirst wo wollen wollte während würde würden
        zu zum zur zwar zwischen""",
    "fr": """à ai alors au aucun aussi autre aux avait avant avec avoir car ce cela ces cet cette
        ceux chez comme comment d dans de depuis des deux dont donc du elle elles en encore entre
        es est et étaient était être eu eux fait faire furent fut il ils j je jusque l la là le
        les leur leurs lui ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas
        pendant peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se
        selon ses si sien son sont sous sur t ta tandis te tes toi ton tous tout toute toutes très
        trop tu un une vers vos votre vous y""",
    "es": """a al algo ante antes aquel aquella aquí así aun aunque cada como con contra cual
        cuando de del desde donde dos e el él ella ellas ellos en entre era eran es esa esas ese
        eso esos está están esta estas este esto estos fue fueron ha habia había han hasta hay la
        las le les lo los más me mi mientras muy nada ni no nos nosotros nuestro o otra otras otro
        otros para pero poco por porque pues que qué quien se sea según ser si sí sido sin sobre
        son su sus también tan tanto te tiene tienen toda todas todo todos tras tu un una unas uno
        unos y ya yo""",
    "it": """a ad ai al alla alle allo altre altri altro anche ancora avere aveva c che chi ci
        come con contro cui da dai dal dalla dalle de degli dei del della delle dello di dopo dove
        due e è ed era erano essere fra fu gli ha hanno i il in io l la le lei li lo loro lui ma me
        mi mia mio molto ne nei nel nella nelle no noi non nostro o ogni per perché più poi prima
        quale quando quanto quella quelle quelli quello questa queste questi questo qui se sei
        senza si sia solo sono sta stata stati stato su sua sue sui sul sulla suo suoi te ti tra
        tu tutti tutto un una uno vi voi""",
    "nl": """aan af al alle als bij dan dat de der deze die dit doch doen door dus een eens en er
        ge geen had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon maar me
        meer men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te
        tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wij wil worden
        wordt zal ze zei zelf zich zij zijn zo zonder zou""",
    "pt": """a ao aos aquela aquele as até com como da das de dela dele depois do dos e é ela elas
        ele eles em entre era essa esse esta está estas este estes eu foi foram há isso isto já lhe
        mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o os ou
        para pela pelas pelo pelos por porque qual quando que quem são se seja sem ser seu seus só
        sobre sua suas também te tem têm tinha todos tu um uma você""",
    "pl": """a aby ale bardzo bez bo by był była było były być ci co czy dla do gdy gdzie go i ich
        im inne jak jako je jego jej jest jeszcze jeśli już każdy kiedy który która które ku lub ma
        mi mnie może na nad nas nie niż o od on ona one oni oraz po pod przed przez przy są się
        tak także tam te tego tej ten to tu tych tylko tym u w we więc wszystko z za ze że""",
    "sv": """alla att av blev bli de dem den denna det detta dig din dock du där efter ej eller en
        er ett från för ha hade han hans har hennes hon honom hur här i icke in inte jag kan kunde
        man med mellan men mig min mot mycket ni nu när någon något några och om oss på samma sedan
        sig sin sina sitta själv skulle som så till under upp ut utan vad var vara varit vi vid
        vilken är över""",
    "da": """af alle at blev da de dem den denne der deres det dette dig din dog du efter eller en
        end er et for fra få ham han hans har havde hende her hos hun hvad hvis hvor i ikke ind jeg
        jer kan kunne man mange med meget men mig min mod ned noget nogle nu når og også om op os
        over på selv sig sin skal skulle som så til ud under var ved vi vil ville være været""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всё вы где да даже
        для до его ее её если есть еще ещё же за здесь и из или им их к как ко когда который кто
        ли либо мне может мы на над нам нас не него нее ней нет ни них но ну о об однако он она
        они оно от очень по под при с со так также такой там те тем то того тоже той только том ты
        у уже хотя чего чей чем что чтобы эта эти это этот я""",
}
"""The closed classes by language."""


_MANY = 48  # distinct letters to replace, from which one look at each character is faster
# Scripts whose marks are accents; in others they are vowels or make another letter.
_ACCENTED = ((0xC0, 0x250), (0x370, 0x530), (0x622, 0x6D4), (0x1E00, 0x2000), (0xFF01, 0xFF5F))
_OTHERS = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ħ": "h", "ŧ": "t", "ς": "σ", "’": "'"}
_PAIRS = {"ß": "ss", "æ": "ae", "œ": "oe", "ĳ": "ij", "ﬁ": "fi", "ﬂ": "fl"}
_PAIR = re.compile(f"[{''.join(_PAIRS)}]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as `fold_text` makes it; `widened` are the places of letters that became two."""

    text: str
    widened: tuple[int, ...] = ()

    def place(self, index: int) -> int:
        """Return the place in the original of the character at `index`."""
        return index - bisect_right(self.widened, index) if self.widened else index


def fold_text(text: str) -> str:
    """Return a text in lower case, its accents left out: `Élysée` is `elysee`, `Straße` `strasse`.

    `text` is in the normal form NFC.
    """
    return folded_text(text).text


def folded_text(text: str) -> FoldedText:
    """Return a text as `fold_text` does, and what of it is where in the original."""
    lowered = text.replace("İ", "I").lower()
    if lowered.isascii():
        return FoldedText(lowered)
    widened = (match.start() + nth + 1 for nth, match in enumerate(_PAIR.finditer(lowered)))
    return FoldedText(_replaced(lowered), tuple(widened))


def _replaced(text: str) -> str:
    table = _table()
    letters = table.keys() & {ord(letter) for letter in set(text)}
    if len(letters) > _MANY:
        return text.translate(table)
    for letter in letters:
        text = text.replace(chr(letter), table[letter])
    return text


@cache
def _table() -> dict[int, str]:
    """Return what becomes of lower-case letters beyond ASCII."""
    table = {ord(letter): other for letter, other in (_OTHERS | _PAIRS).items()}
    for first, last in _ACCENTED:
        for code in range(first, last):
            base = unicodedata.normalize("NFKD", chr(code))[0].lower()
            base = _OTHERS.get(base, base)
            if code not in table and base != chr(code) and base.isalnum() and len(base) == 1:
                table[code] = base
    return table


_LONGEST_WORD = 40  # characters, beyond which no dictionary has a word
_MOST_KNOWN = 100_000  # words of a language whose lemmas are kept

# Thai, Lao, Burmese, Khmer, Chinese, Japanese: words are written without spaces.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
)
"""The scripts without spaces between words, as ranges of a regular expression."""

# Vowels and other marks within words that are no letters to Python.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u200c\u200d"
)
_SIMPLE = re.compile(r"([^\W_]+)")
_WORD = re.compile(rf"((?:[^\W_{UNSPACED}]|[{_MARKS}])+|[{UNSPACED}])")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_OTHER_SCRIPTS = re.compile(f"[{UNSPACED}{_MARKS}]")


def has_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script without spaces between words."""
    return _UNSPACED.search(text) is not None


def word_pattern(text: str) -> re.Pattern[str]:
    """Return what finds the words of a text; each character is one in scripts without spaces."""
    return _SIMPLE if text.isascii() or not _OTHER_SCRIPTS.search(text) else _WORD


class Lemmas:
    """The lemmas of the words of one language, and the closed classes among them.

    `of` returns the lemma of a word, folded; the word itself where none is known.
    """

    def __init__(self, language: str) -> None:
        self.of: Callable[[str], str] = _Known(_lemmatizer(language)).__getitem__
        words = CLOSED_WORDS.get(language, "").split()
        self.closed = frozenset((*map(fold_text, words), *map(self.of, words)))


class _Known(dict[str, str]):
    """Lemmas by word, looked up once; a dictionary is asked five times as fast as a function."""

    def __init__(self, lemma: Callable[[str], str]) -> None:
        super().__init__()
        self._lemma = lemma

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        is_long = len(word) > _LONGEST_WORD
        found = fold_text(word[:_LONGEST_WORD] if is_long else self._lemma(word))
        if not is_long:
            self[word] = found
        return found


@cache
def lemmas_of(language: str) -> Lemmas:
    """Return the lemmas of a language; words themselves where there is no dictionary for it."""
    return Lemmas(language)


def _lemmatizer(language: str) -> Callable[[str], str]:
    # Imported here: the dictionaries take a while to load.
    from simplemma import lemmatize
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    if language not in SUPPORTED_LANGUAGES:
        return str
    return lambda word: lemmatize(word, language)


MOST_MATCHES = 20_000
"""In one text; what follows is not looked at."""

_LONGEST_NAME = 200  # characters


class LetterMatcher:
    """Names with what they stand for, all found in one pass by Aho and Corasick's automaton.

    The first of several that a name stands for counts. In scripts without
    spaces between words a name is found within others too.
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._automaton = _automaton(names)

    def matches(self, text: str) -> list[tuple[int, int, int]]:
        """Return what each name stands for, where it begins and where it ends, in order.

        Of names that overlap the first counts, of those of one place the longest.
        """
        if self._automaton is None:
            return []
        folded = folded_text(text.replace("\n", " "))
        candidates = []
        for last, (number, length) in self._automaton.iter(folded.text):
            first = last + 1 - length
            if _is_edge(folded.text, first, first - 1) and _is_edge(folded.text, last, last + 1):
                candidates.append((first, -length, number))
                if len(candidates) >= MOST_MATCHES:
                    break
        return [
            (number, folded.place(first), folded.place(end - 1) + 1)
            for number, first, end in _apart(sorted(candidates))
        ]


def _automaton(names: Iterable[tuple[str, int]]) -> "ahocorasick.Automaton | None":
    # Imported here, as all of analysis is: other commands do without.
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for name, number in names:
        plain = unicodedata.normalize("NFC", name[:_LONGEST_NAME])
        letters = fold_text(" ".join(plain.split()))
        if letters and letters not in automaton:
            automaton.add_word(letters, (number, len(letters)))
    if not len(automaton):
        return None
    automaton.make_automaton()
    return automaton


def _apart(candidates: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the matches that do not overlap with an earlier one: what, first, end."""
    end = 0
    for first, negative, number in candidates:
        if first >= end:
            end = first - negative
            yield number, first, end


def _is_edge(text: str, inside: int, outside: int) -> bool:
    """Return whether there is a word boundary between two characters."""
    if not 0 <= outside < len(text):
        return True
    pair = text[inside], text[outside]
    return not (pair[0].isalnum() and pair[1].isalnum()) or has_unspaced("".join(pair))
