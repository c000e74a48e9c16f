#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the public headers leave unsaid: parameters without @param, members of structs and unions without a comment, calls
whose comment lacks Threads, Blocks or @return, and whatever has no comment at all. Threads and Blocks may stand in the
header's own comment (@file) instead, for all of its calls."""

import argparse
import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\\n])*"|extern\s*"C"\s*\{|[{};]',
                   re.MULTILINE | re.DOTALL)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)(?=\s*(?:$|[;{]))|\b__rte_\w+\b", re.DOTALL)
AGGREGATE = re.compile(r"^(?:typedef\s+)?(?:struct|union)\b\s*(\w*)\s*\{(.*)\}\s*([^}]*)$", re.DOTALL)
CALLABLE = re.compile(r"^([^(]*)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)$|^([^(]*?)\b(\w+)\s*\((.*)\)$", re.DOTALL)


class Declaration:
    """One declaration: its comment, its code without comments, and where both begin."""

    def __init__(self, start, end, comment, code):
        self.start, self.end, self.code = start, end, code
        self.comment = comment  # (start, end, text) or None


def text_of(comment):
    """The words of a comment, without its frame."""
    body = re.sub(r"^/\*+<?|\*+/$", "", comment.strip())
    return "\n".join(re.sub(r"^\s*\*? ?", "", line) for line in body.split("\n")).strip()


def declarations(text, begin=0, end=None):
    """The declarations between two offsets, in order; bodies of structs and functions are left inside of them."""
    found, depth, start, comment = [], 0, None, None
    end = len(text) if end is None else end

    def close(at):
        nonlocal start, comment
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text[start:at], flags=re.DOTALL)
        found.append(Declaration(start, at, comment, code.strip()))
        start = comment = None

    at = begin
    for token in TOKEN.finditer(text, begin, end):
        word = token[0]
        if start is None:
            gap = re.search(r"\S", text[at:token.start()])
            if gap:
                start = at + gap.start()
        at = token.end()
        if word.startswith(("/*", "//")):
            if depth == 0 and word.startswith("/**<") and start is None and found:
                found[-1].comment = found[-1].comment or (token.start(), token.end(), text_of(word))
            elif depth == 0 and start is None and word.startswith("/**"):
                comment = (token.start(), token.end(), text_of(word))
        elif word.lstrip().startswith("#"):
            comment = None if start is None else comment  # it was the macro's
        elif word.startswith('"'):
            pass
        elif word.startswith("extern"):
            start = comment = None  # what is inside is at the top, too
        elif word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
            if depth < 0:
                depth = 0  # of extern "C"
            elif depth == 0 and start is not None and re.search(r"\)\s*$", text[start:text.index("{", start)]):
                close(token.end())
        elif depth == 0 and start is not None:
            close(token.start())
    return found


def names_in(parameters):
    """The names of a parameter list."""
    depth, pieces = 0, [""]
    for letter in parameters:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    for piece in pieces:
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", piece)
        name = pointer or re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", piece)
        if name and name[1] != "void":
            yield name[1]


def call_of(code):
    """(what it returns, name, parameters) of the declaration of a function or of a pointer to one, or None."""
    code = ATTRIBUTE.sub("", code.split("{")[0]).strip()
    match = CALLABLE.match(code)
    if not match or code.startswith("typedef") or (match[2] or match[5]).isupper():
        return None
    returns, name, parameters = match.groups()[:3] if match[2] else match.groups()[3:]
    return re.sub(r"\b(static|inline|extern|const)\b", "", returns).strip(), name, list(names_in(parameters))


def missing_of_call(declaration, of_all):
    """What a function's comment does not say, nor that of all of the header."""
    returns, name, parameters = call_of(declaration.code)
    if declaration.comment is None:
        yield f"{name}(): no comment"
        return
    said = declaration.comment[2]
    for parameter in parameters:
        if not re.search(rf"@param\s+{parameter}[ \t]+[^\s@]", said):
            yield f"{name}(): parameter {parameter}"
    for word in ("Threads:", "Blocks:"):
        if word not in said and word not in of_all:
            yield f"{name}(): {word[:-1]}"
    if returns != "void" and not re.search(r"@return\s+\S", said):
        yield f"{name}(): @return"


def members_of(text, declaration, path):
    """(path, declaration) of each member of a struct or union, those of nested ones included."""
    opening = text.index("{", declaration.start)
    closing = text.rindex("}", opening, declaration.end)
    for member in declarations(text, opening + 1, closing):
        nested = AGGREGATE.match(member.code)
        if nested:
            name = nested[3].strip()
            yield from members_of(text, member, f"{path}.{name}" if name else path)
        else:
            call = call_of(member.code)
            names = [call[1]] if call else [
                re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", piece)[1] for piece in member.code.split(",")]
            for name in names:
                yield f"{path}.{name}", member


def look(path):
    """({what: how many there are}, [(line, what is not said)]) of a header."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    counts = dict.fromkeys(("calls", "parameters", "members"), 0)
    found = []
    of_all = " ".join(comment for comment in re.findall(r"/\*\*.*?\*/", text, re.DOTALL) if "@file" in comment)
    for declaration in declarations(text):
        line = text.count("\n", 0, declaration.start) + 1
        aggregate = AGGREGATE.match(declaration.code)
        if aggregate:
            if declaration.comment is None:
                found.append((line, f"struct {aggregate[1]}: no comment"))
            for name, member in members_of(text, declaration, aggregate[1]):
                counts["members"] += 1
                if member.comment is None or not re.search(r"\w", member.comment[2]):
                    found.append((text.count("\n", 0, member.start) + 1, f"member {name}"))
        elif call_of(declaration.code):
            counts["calls"] += 1
            counts["parameters"] += len(call_of(declaration.code)[2])
            found += [(line, what) for what in missing_of_call(declaration, of_all)]
    return counts, found


def main():
    """Print what is not said, and how many there are of all."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="Exit code: 0 nothing is missing, 1 something is, 2 usage.")
    parser.add_argument("headers", metavar="HEADER", nargs="+", help="a public header")
    args = parser.parse_args()
    total, missing = {}, 0
    for path in args.headers:
        try:
            counts, found = look(path)
        except OSError as error:
            parser.error(str(error))
        for line, what in found:
            print(f"  {path}:{line}: {what}")
        missing += len(found)
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
    print("  " + ", ".join(f"{count} {name}" for name, count in total.items()) + f"; {missing} things are not said")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
