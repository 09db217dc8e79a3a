"""What a user writes stays text wherever it goes: terminal, messages, documents, source code, figures, files."""

import pickle
import re
import shutil
import subprocess
import unicodedata

import pytest
from markdown_it import MarkdownIt

import flexarm as fa
from flexarm import escape
from flexarm.closed_forms.equations import equations

OVERRIDE, CLEAR, HALF = "\N{RIGHT-TO-LEFT OVERRIDE}", "\x1b[2J", "\udcff"
HOSTILE = (
    f"a\nb\r\tc{CLEAR}",
    f"{OVERRIDE}txt.exe{HALF}\x00\x85\u2028",
    "[red]x[/] [link=http://x]y[/link] :smiley: [/]",
    "<script>alert(1)</script> <!-- &amp; --> <b",
    "<!-- a",
    "<script src=x ",
    "| a | `b` ``` *c* __d__ ~~e~~ [f](g) ![h](i) # j {{k}} {: .l}",
    "- item",
    "12. item",
    "=== \\[ x \\] \\( y \\) \\begin{equation} \\end{document} \\input{/etc/passwd}",
    "$a$ $$b$$ $ \\$ \\\\ \\",
    "50% #1 a_b ^c ~d {e} \"f\" 'g' `h` ?` !` -- <<",
    "*/ /* // ??/",
    "%{ %} #{ #} ... \"\"\" ''' \\N{DIGIT ONE} \\",
    "äÄçñőșșḿ Łódź œuvre µ° αβγ 臂 \N{ROBOT FACE} e\u0301\u0302 ﷽",
    "_hidden",
    " ",
    "x" * 300,
)


# -- one line ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_can_be_printed_and_says_the_same(text):
    line = escape.line(text)
    assert line.isprintable() and escape.line(line) == line
    line.encode()  # no half of a surrogate pair
    kept = [c for c in text if c.isprintable()]
    assert [c for c in line if c in kept][: len(kept)] == kept or CLEAR in text or OVERRIDE in text
    assert escape.lines(f"{text}\n{text}").count("\n") == 2 * text.count("\n") + 1


def test_a_line_names_what_it_leaves_out():
    assert escape.line(f"a\nb{CLEAR}c\td") == r"a b\x1b[2Jc d"
    assert escape.line(f"{OVERRIDE}{HALF}\x00") == r"\u202e\udcff\x00"
    assert escape.line("Motor µ é 臂 [red]") == "Motor µ é 臂 [red]"


def test_messages_of_errors_are_one_line_wherever_they_are_shown():
    for error in (
        fa.FlexarmError(f"a\nb{CLEAR}"),
        fa.DescriptionError(f"a\nb{CLEAR}"),
        fa.SimulationError(f"a\nb{CLEAR}", None),
    ):
        assert str(error) == str(pickle.loads(pickle.dumps(error))) == r"a b\x1b[2J"
    inside = fa.DescriptionError("is odd", f"link {OVERRIDE}", "mass").inside(f"a{CLEAR}.toml", "Arm")
    assert str(inside) == r"a\x1b[2J.toml: link \u202e: mass is odd"


def test_a_key_of_a_file_is_escaped_in_the_message(tmp_path):
    (tmp_path / "arm.toml").write_text('name = "a"\n"\\u001b[31mkey\\u202e" = 1\n')
    with pytest.raises(fa.DescriptionError) as error:
        fa.load(tmp_path / "arm.toml")
    assert str(error.value).isprintable() and r"\x1b[31mkey\u202e" in str(error.value)
    odd = tmp_path / f"a\n{CLEAR}"
    with pytest.raises(fa.DescriptionError) as error:
        fa.load(odd)
    assert str(error.value).isprintable()


def test_a_comment_ends_with_its_line():
    """Neither a backslash nor its trigraph, which C before 2023 knows, takes the next line into it."""
    assert escape.comment("a\nb ??/ \\ ??/\\ ") == "a b"
    assert escape.comment("a \\ b") == "a \\ b" and escape.comment("??/") == ""


# -- documents ---------------------------------------------------------------------------------------------------------


def shown_by_markdown(text):
    """What a reader of Markdown sees of it, and what it was taken for; HTML allowed, as in most readers."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    return "".join(t.content for t in inline if t.type == "text"), {t.type for t in [*tokens, *inline]}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["{}", "## {}", "| a | b |\n| --- | --- |\n| x | {} |"])
def test_markdown_shows_what_was_written(text, place):
    expected = re.sub(" +", " ", escape.line(text)).strip()
    found, kinds = shown_by_markdown(place.format(escape.markdown(text)))
    assert found.endswith(expected)
    allowed = {"inline", "text"} | {f"{x}_{y}" for y in ("open", "close") for x in ("paragraph", "heading")}
    if "|" in place:
        allowed |= {f"{x}_{y}" for y in ("open", "close") for x in ("table", "thead", "tbody", "tr", "th", "td")}
    assert kinds <= allowed
    assert escape.markdown(text).count("$") == escape.markdown(text).count(r"\$")


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_is_made_of_what_every_tex_knows(text):
    made = escape.latex(text)
    assert made.isascii()
    commands = {*re.findall(r"\\([A-Za-z]+)", made)}
    letters = "textbackslash textasciitilde textasciicircum textless textgreater textbar texttt ensuremath i j"
    assert commands <= {*letters.split(), *"ss ae oe o l L mu circ cdot pm alpha beta gamma c H u v r".split()}
    bare = re.sub(r"\\.", "", made)
    assert bare.count("{") == bare.count("}") and not set("$%#&_~") & set(bare)


def test_latex_keeps_what_it_can_show():
    assert escape.latex("é Ł ß") == r"\'{e} \L{} \ss{}"
    assert escape.latex("e\u0301 ï ç") == r"\'{e} \"{\i} \c{c}"
    assert (
        escape.latex("µ \N{GREEK SMALL LETTER ALPHA} β 臂")
        == r"\ensuremath{\mu} \ensuremath{\alpha} \ensuremath{\beta} \texttt{U+81C2}"
    )
    for accent, command in escape.ACCENTS.items():
        letter = next(c for c in "aeoszy" if len(unicodedata.normalize("NFC", c + accent)) == 1)
        assert escape.latex(letter + accent) == rf"\{command}{{{letter}}}"


def hostile_arm(text):
    """An arm that has it wherever it may be: names are short, can be printed and have no spaces and dots."""
    title = escape.line(text)[:60] if text.strip() else "x"
    text = escape.attribute(text)
    label = re.sub(r"[.\s]", "", title)
    joint = fa.Revolute(axis=(0, 0, 1))
    beam = fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}, shapes="clamped-loaded")
    links = (fa.Link(name=label, joint=joint, body=beam), fa.Link(name=f"{label}2", body=fa.Rigid(length=1, mass=1)))
    return fa.Arm(name=title, description=text, links=links)


@pytest.mark.parametrize("text", HOSTILE)
def test_documents_have_no_markup_of_a_users(text):
    found = equations(hostile_arm(text))
    markdown, latex = found.markdown(), found.latex()
    assert not re.search(r"<(?!-)[a-z!]", markdown)
    plain = equations(hostile_arm("x"))
    assert markdown.count("\n") == plain.markdown().count("\n") - (0 if text.strip() else 2)
    for sign in ("\\begin", "\\end", "\\input", "\\section", "$"):
        assert len(re.findall(r"(?<!\\)" + re.escape(sign), latex)) == plain.latex().count(sign), sign
    assert latex.isascii()


PDFLATEX = shutil.which("pdflatex")


@pytest.mark.skipif(PDFLATEX is None, reason="no pdflatex")
def test_every_hostile_document_compiles(tmp_path):
    """All of them as one arm's links, with the longest line of them as its description."""
    body = fa.Rigid(length=1.0, mass=1.0)
    labels = [re.sub(r"[.\s]", "", escape.line(text))[:60] or "x" for text in HOSTILE]
    links = [fa.Link(name=f"{label}{i}", body=body) for i, label in enumerate(labels)]
    for k, some in enumerate((links[:3], links[3:6], links[6:9], links[9:12], links[12:])):
        arm = fa.Arm(name="hostile", description=escape.attribute("\n\n".join(HOSTILE)), links=tuple(some))
        (tmp_path / f"{k}.tex").write_text(equations(arm).latex(["B"]), encoding="ascii")
        subprocess.run(
            [PDFLATEX, "-interaction=nonstopmode", f"{k}.tex"], cwd=tmp_path, capture_output=True, check=False
        )
        log = (tmp_path / f"{k}.log").read_text(encoding="utf-8", errors="replace")
        assert (tmp_path / f"{k}.pdf").exists() and re.findall(r"^! .*", log, re.MULTILINE) == []
