"""Finds what the sources recommend: literals with an option, a command, or something to leave out.

A literal is a run of string literals with nothing but blanks and comments between, as the compiler
joins them. Help texts are left out: they describe, and no situation brings them.
"""

import functools
import re
from pathlib import Path

ROOMS = ("tools", "engine", "lib", "storage")
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?P<text>(?:\\.|[^"\\\n])*)"'
    r"|(?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')"
    r"|(?P<blank>\s+)|(?P<code>.)", re.S)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
COMMAND = re.compile(r"`[^`]+`|\bcistern (?:[a-z]+|--[a-z-]+)")
# Options that a variable names, and commands of others.
BY_NAME = re.compile(r"\bgoes with\b|: add |: give both |: name its file by |\bchmod [0-7]+\b"
                     r"|\bchmod u\+|\bls -ld |\bulimit -|\bnodetool ")
ADVICE = re.compile(f"{OPTION.pattern}|{COMMAND.pattern}|{BY_NAME.pattern}"
                    r"|\bleave [^;,.]*\bout\b")
# Calls whose literals are help, and tables of options that have it.
HELP = re.compile(r"\b(?:add_option|add_flag|AddTruth|add_truth|each|add_subcommand|footer"
                  r"|set_version_flag|AddStoreCommand)\s*\([^;]*$"
                  r"|\bkOptions\[\][^;]*$|\bkSettings\[\][^;]*$")
ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\", "\\'": "'"}


def joined_literals(text):
    """Yields (line, literal, code before it)."""
    code, start, before, literal = "", 0, "", None
    for token in TOKEN.finditer(text):
        if token["text"] is not None:
            if literal is None:
                literal, start, before = "", token.start(), code
            literal += re.sub(r"\\[nt\"'\\]", lambda e: ESCAPES[e.group(0)], token["text"])
            continue
        is_blank = token["blank"] is not None or token.group(0).startswith(("//", "/*"))
        if is_blank:
            code += " "
            continue
        if literal is not None:
            yield text.count("\n", 0, start) + 1, literal, before
            literal = None
        code += token.group(0) if token["code"] else "''"


def names_its_option_alone(literal):
    """"--step '{}' is no span": it begins with the option that is wrong, and names no other."""
    rest = re.sub(rf"^(?:\{{\}}: )?{OPTION.pattern}(?=[:= ]|$)", "", literal)
    return rest != literal and not ADVICE.search(rest)


@functools.cache
def find_advice(root):
    """[(place, literal)] of all sources below `root`."""
    found = []
    for room in ROOMS:
        for path in sorted(Path(root, room).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            for line, literal, before in joined_literals(path.read_text()):
                is_help = HELP.search(before[-3000:])
                if is_help or not ADVICE.search(literal) or names_its_option_alone(literal):
                    continue
                if OPTION.fullmatch(literal):  # handed on as the name of the option
                    continue
                found.append((f"{path.relative_to(root)}:{line}", literal))
    return found
