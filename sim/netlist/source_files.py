"""Sources of a user's hardware: the files themselves, what they include, and lists of files.

Files keep their paths, since two folders may each have a file of one name, and an include is
looked for beside the file that includes it. They are named from the deepest folder that holds all
of them, so that a design's name in a cache does not depend on where it lies.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist.fusesoc import CORE, read_core

__all__ = ["OPTIONS", "VERILOG", "VHDL", "Options", "gather", "is_name", "options_in", "quoted",
           "write"]

VERILOG = (".v", ".sv")
"""Endings of the files that are compiled as Verilog; others are included or read by these."""
VHDL = (".vhd", ".vhdl")
OPTIONS = ".f"
"""The ending of a list of files and options, as simulators take it with ``-f``."""
_NAME = re.compile(r"(?!/)(?:(?:^|/)(?!\.\.?(?:/|$))[\w.+-]+)+", re.ASCII)
_MACRO = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/|(?:^|(?<=\s))(?://|#)[^\n]*',
                      re.DOTALL | re.MULTILINE)
_REMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_DEFINES = re.compile(
    r"\b(?:module|package|interface|primitive)\s+(?:automatic\s+|static\s+)?(\w+)")
_BETWEEN = re.compile(r"`(?:ifn?def|elsif)\s+\w+|`(?:else|endif)\b"
                      r"|\b(?:begin|end\w*|fork|join\w*)\s*:\s*\w+")
"""What may stand before a statement or within it, and names no module: directives and labels."""
_USES = re.compile(
    r"(?<![\w$.`\\])([A-Za-z_]\w*)(?=\s*(?:::|\#"  # of a package, or with parameters
    r"|\s(?!(?:and|assert|case[xz]?|for|foreach|if|iff|inside|n?or|repeat|while|xn?or|nand)\b)"
    r"(?:\\\S+\s|[A-Za-z_][\w$]*)\s*(?:\[[^][]*\]\s*)*\())")
"""A name in the place of an instance's module, or before ``::``."""
_REFERS = re.compile(r'`include\s*["<]([^">\n]+)[">]|\$readmem[bh]\s*\(\s*"([^"\n]+)"')
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
# what other tools' lists say of how to run, and nothing about the hardware
_IGNORED = re.compile(r"-(?:sv|sverilog|full64|sv09|sv12)|\+v2k|\+libext\+.*|[-+]timescale=.*")


@dataclass
class Options:
    """What a list of files says besides their names.

    Attributes
    ----------
    files, lists : list of str
        In their order; those among them that are lists.
    include : list of str
        Folders in which includes are looked for.
    defines : dict of str to str
        Macros and their texts.
    libraries : dict of str to str
        Of files in VHDL that are not of the library ``work``, which they are of.
    modules : list of str
        Folders with a file for each module that no other file defines (``-y``).
    """

    files: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    defines: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)

    def define(self, macro: str, text: object, where: str) -> None:
        """Raises `UserError` for what is no macro, and for another text than before."""
        if not _MACRO.fullmatch(macro) or "\n" in str(text):
            raise UserError(f"{where}: a macro is a name of letters, digits and _ with a text of "
                            f"one line, not {macro!r}")
        if self.defines.setdefault(macro, str(text)) != str(text):
            raise UserError(f"{where}: macro {macro} is {self.defines[macro]!r} and {text!r}")


def is_name(name: str) -> bool:
    """Whether a file may be called so: a path without ``..`` and of plain signs."""
    return _NAME.fullmatch(name) is not None


def quoted(word: str) -> str:
    """A word for a list."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def options_in(files: Mapping[str, str]) -> Options:
    """What the lists among these files say. Raises `UserError`."""
    options = Options()
    for name, text in files.items():
        if name.endswith(OPTIONS):
            _add(options, _words(text, name), name)
    return options


def gather(sources: Sequence[str], called: str, include: Sequence[str] = (),
           defines: Mapping[str, object] | None = None,
           libraries: Mapping[str, Sequence[str]] | None = None) -> dict[str, str]:
    """The texts of sources, of the files that their lists name, and of those that they include.

    Paths are from the current folder or from one on ``sys.path``; those in a list may also be
    from the list's folder. Where folders for includes, macros or libraries are given, a list among
    the result has them, ``called`` so. Raises `UserError`.
    """
    options, given, lists = Options(), [], set()
    of_library: dict[Path, str] = {}
    cores: set[str] = set()
    places: list[Path] = []  # with a file for each module
    needs: list[tuple[str, Path]] = []
    for macro, text in (defines or {}).items():
        options.define(macro, text, "defines")
    folders = [_found(folder, (), "folder for includes", Path.is_dir) for folder in include]

    def take(names: Iterable[str], beside: tuple[Path, ...], what: str,
             listed: Sequence[str] = (), works: Mapping[str, str] | None = None) -> None:
        for name in names:
            path = _found(name, beside, what)
            if path.suffix not in (OPTIONS, CORE) and name not in listed:
                given.append(path)
                if name in (works or {}):
                    of_library[path] = (works or {})[name]
            elif path.resolve() not in lists:
                lists.add(path.resolve())
                said, text = Options(), _read(path)
                if path.suffix == CORE:
                    core, needed, words = read_core(text, path)
                    cores.add(core)
                    needs.extend((other, path) for other in needed)
                else:
                    words = _words(text, str(path))
                _add(said, words, str(path))
                folders.extend(_found(folder, (path.parent,), f"{path}: folder for includes",
                                      Path.is_dir) for folder in said.include)
                places.extend(_found(folder, (path.parent,), f"{path}: library folder", Path.is_dir)
                              for folder in said.modules)
                for macro, text in said.defines.items():
                    options.define(macro, text, str(path))
                take(said.files, (path.parent,), f"{path}: source", said.lists, said.libraries)

    for library, names in (libraries or {}).items():
        take(names, (), "source", works=dict.fromkeys(names, library))
    take(sources, (), "source")
    for core, path in needs:
        if core not in cores:
            raise UserError(f"{path}: it depends on {core}: name that core's file as a source, too")
    folders += [path.parent for path in given if path.suffix not in (*VERILOG, *VHDL)]
    texts = {path: _read(path) for path in given}
    texts = {**_modules(texts, places), **texts}  # packages before what imports them
    pending = list(texts)
    while pending:
        path = pending.pop()
        for place, known_as in _referred(path, texts[path], folders):
            if place not in texts:
                texts[place] = _read(place)
                pending.append(place)
            texts.setdefault(known_as, texts[place])
    return _named(texts, folders, options, of_library, called)


def _found(name: str, beside: tuple[Path, ...], what: str, fits: object = Path.is_file) -> Path:
    """The absolute path of a file or folder, without links resolved."""
    path = next((folder / name for folder in (Path(), *beside, *map(Path, sys.path))
                 if fits(folder / name)), None)  # type: ignore[operator]
    if path is None:
        where = "" if Path(name).is_absolute() else " in the current folder or on sys.path"
        raise UserError(f"there is no {what} {name}{where}")
    return Path(os.path.abspath(path))


def _read(path: Path) -> str:
    try:
        return text_in(path, errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _words(text: str, where: str) -> list[str]:
    """The words of a list, without comments, with variables of the environment put in."""
    def value(match: re.Match[str]) -> str:
        name = next(filter(None, match.groups()))
        if name not in os.environ:
            raise UserError(f"{where}: there is no variable {name} in the environment")
        return os.environ[name]

    words = shlex.shlex(_VARIABLE.sub(value, _COMMENT.sub(lambda match: match[1] or " ", text)),
                        posix=True)
    words.whitespace_split, words.commenters, words.quotes = True, "", '"'  # 8'd1 has none
    try:
        return list(words)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None


def _add(options: Options, words: Sequence[str], where: str) -> None:
    """Take over what the words of a list say. Raises `UserError` for what is not understood."""
    rest, library = iter(words), "work"
    for word in rest:
        if word.startswith("+incdir+"):
            options.include += filter(None, word.split("+")[2:])
        elif word.startswith("+define+"):
            for part in filter(None, word.split("+")[2:]):
                macro, _, text = part.partition("=")
                options.define(macro, text, where)
        elif word == "-work":
            library = next(rest, "")
            if not _MACRO.fullmatch(library):
                raise UserError(f"{where}: -work takes a library's name, not {library!r}")
        elif word[:2] in ("-I", "-D", "-f", "-F", "-v", "-y"):
            text = word[2:] or next(rest, "")
            if word[:2] == "-I":
                options.include.append(text)
            elif word[:2] == "-y":
                options.modules.append(text)
            elif word[:2] == "-D":
                macro, _, text = text.partition("=")
                options.define(macro, text, where)
            else:
                options.files.append(text)
                options.lists += [text] if word[1] in "fF" else []
        elif word.startswith(("-", "+")):
            if not _IGNORED.fullmatch(word):
                raise UserError(f"{where}: {word} is not understood; a list has files, +incdir+, "
                                "+define+, -I, -D, -f, -F, -v, -y and -work")
        else:
            options.files.append(word)
            if library != "work" and word.endswith(VHDL):
                options.libraries[word] = library


def _modules(texts: Mapping[Path, str], places: Sequence[Path]) -> dict[Path, str]:
    """The files of library folders of which these texts have instances, or those of them, and
    which no text defines: the deepest first. Each is called as what it defines, a module or a
    package."""
    library: dict[str, Path] = {}
    for folder in places:
        for path in sorted(folder.iterdir()):
            if path.suffix in VERILOG:
                library.setdefault(path.stem, path)
    known = [_code(text) for path, text in texts.items() if path.suffix in VERILOG]
    defined = {name for text in known for name in _DEFINES.findall(text)}
    found: dict[Path, str] = {}
    while known:
        named = {name for text in known for name in _USES.findall(text)} & library.keys() - defined
        new = {library[name]: _read(library[name]) for name in sorted(named)}
        known, defined, found = [*map(_code, new.values())], defined | named, {**new, **found}
    return found


def _code(text: str) -> str:
    """A source without comments, texts, labels and directives for parts of it."""
    return _BETWEEN.sub(" ", _REMARK.sub(" ", text))


def _referred(path: Path, text: str, folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """The files that a text includes or reads, and under which path yosys finds each: a memory's
    content beside the source only. What is nowhere may be in a branch that is not compiled."""
    for included, content in _REFERS.findall(text):
        for folder in (path.parent, *folders, Path.cwd()):
            place = Path(os.path.abspath(folder / (included or content)))
            if place.is_file():
                yield place, (place if included
                              else Path(os.path.abspath(path.parent / content)))
                break


def _named(texts: Mapping[Path, str], folders: Sequence[Path], options: Options,
           of_library: Mapping[Path, str], called: str) -> dict[str, str]:
    """The texts by their paths from the folder that holds all of them."""
    used = [folder for folder in dict.fromkeys(folders)
            if any(path.is_relative_to(folder) for path in texts)]
    root = Path(os.path.commonpath([*(path.parent for path in texts), *used]))
    files = {}
    for path, text in texts.items():
        name = path.relative_to(root).as_posix()
        if not is_name(name):
            raise UserError(f"a source's path must be letters, digits and any of _ . + - /, "
                            f"not {name!r}")
        files[name] = text
    lines = [f"+incdir+{folder.relative_to(root).as_posix()}" for folder in used if folder != root]
    lines += [f"-D {quoted(f'{macro}={text}' if text else macro)}"
              for macro, text in options.defines.items()]
    lines += [f"-work {library} {path.relative_to(root).as_posix()}"
              for path, library in of_library.items()]
    if lines:
        files[f"{called}{OPTIONS}"] = "\n".join(lines) + "\n"
    return files


def write(files: Mapping[str, str], folder: Path) -> None:
    """The files of these names, into ``folder``."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
