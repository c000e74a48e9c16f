#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who calls and includes whom in lib, drivers and app: circles, and what goes up from one floor to a higher one.

Three graphs. Calls are those that the linker sees: `nm` on the objects that BUILD/compile_commands.json names, weak
references and pointers in tables included. Includes are between rooms: a room is a .c with its .h and *_private.h.
Folders call and include one another as their files do. A circle in any of them is printed with its members and the
shortest way round.

And headers that declare what several .c files define, unless they are public, or private to one object that is cut into
two to four files (*_private.h).

The floors of each library, and whether its findings are errors, stand in floors.ini beside this script. Always an error
is a .c without an object: what was not built was not looked at.
"""

import argparse
import collections
import configparser
import fnmatch
import json
import os
import re
import shlex
import subprocess
import sys

HOUSE = ("lib", "drivers", "app")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\\n])*"', re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"\{[^{}]*\}")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


class Floors:
    """The floors of a library, from the top: {folder below it: number}; and its public headers."""

    def __init__(self, library, section):
        self.library = library
        self.held = section.getboolean("held", fallback=False)
        self.public = [os.path.join(library, name) for name in section.get("public", fallback="").split()]
        # {header: how many files it may declare for}
        entries = [entry.rsplit(":", 1) for entry in section.get("shared", fallback="").split()]
        self.shared = {os.path.join(library, name): int(most) for name, most in entries}
        lines = section.get("floors", fallback=".").split("\n")
        self.numbers = {
            folder: number for number, line in enumerate(lines) for folder in line.split()
        }
        self.used = set()

    def folder_of(self, path):
        """The folder among them that a file of the library is in, or else its own folder, which has no floor."""
        inside = os.path.relpath(os.path.dirname(path), self.library)
        for folder in sorted(self.numbers, key=len, reverse=True):
            if inside == folder or (folder != "." and inside.startswith(folder + "/")):
                self.used.add(folder)
                return folder
        return inside

    def goes_up(self, path, other):
        """Whether other is on a floor above that of path. Without a floor: no."""
        mine, others = (self.numbers.get(self.folder_of(p)) for p in (path, other))
        return mine is not None and others is not None and others < mine


class House:
    """The libraries by their folders, and what was found."""

    def __init__(self, path):
        config = configparser.ConfigParser()
        with open(path, encoding="utf-8") as file:
            config.read_file(file)
        self.libraries = {name: Floors(name, config[name]) for name in config.sections()}
        self.errors = 0

    def library_of(self, path):
        """The folder of the library that a file or folder belongs to; ".": to none of those that are named."""
        names = [n for n in self.libraries if n != "." and (path + "/").startswith(n + "/")]
        return max(names, key=len, default=".")

    def is_own_door(self, path, header):
        """Whether it is a public header of the library that path belongs to."""
        name = self.library_of(path)
        return name in self.libraries and matches(header, self.libraries[name].public)

    def report(self, libraries, text):
        """An error if one of these libraries is held, or a warning."""
        error = any(self.libraries[name].held for name in libraries if name in self.libraries)
        self.errors += error
        print(f"  {'error' if error else 'warning'}: {text}")

    def fail(self, text):
        """An error in any library."""
        self.errors += 1
        print(f"  error: {text}")


def matches(path, patterns):
    """Whether one of these is its name."""
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def room_of(path):
    """A .c, its .h and a header that is private to it and its other halves (*_private.h) are one room."""
    return os.path.splitext(path)[0].removesuffix("_private")


def sources_of(root):
    """The .c and .h files of the house."""
    for top in HOUSE:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def commands_of(build, root):
    """(source, object, folders that are searched for headers) of each command for a source of the house."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        where = command["directory"]
        source = os.path.relpath(os.path.join(where, command["file"]), root)
        if source.split("/")[0] not in HOUSE:
            continue
        words = command.get("arguments") or shlex.split(command["command"])
        searched = [os.path.normpath(os.path.join(where, w[2:])) for w in words if w.startswith("-I")]
        yield source, os.path.join(where, command["output"]), searched


def names_of(objects):
    """{object: (names it defines, names it needs)}. A weak reference is one."""
    found = {path: (set(), set()) for path in objects}
    if not found:
        return found
    text = subprocess.run(["nm", "-g", "-A", "--", *objects], check=True, text=True, stdout=subprocess.PIPE).stdout
    for line in text.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        found[path][kind in "Uwv"].add(name)
    return found


def call_graph(house, sources, commands):
    """{.c: {.c that it calls: names}}, and {name: [.c that define it]}; of a source that is compiled several times, all
    of its objects."""
    objects = collections.defaultdict(set)
    for source, output, _ in commands:
        if os.path.exists(output):
            objects[source].add(output)
    names = names_of(sorted(set().union(*objects.values())))
    graph, owners = {}, collections.defaultdict(list)
    for source in sources:
        if source.endswith(".c"):
            if not any(any(names[o]) for o in objects[source]):
                house.fail(f"{source}: no object in the build")
            graph[source] = collections.defaultdict(set)
            for name in sorted(set().union(*(names[o][0] for o in objects[source]))):
                owners[name].append(source)
    for source, edges in graph.items():
        for name in set().union(*(names[o][1] for o in objects[source])):
            # Programs may have functions of the same name: the own folder's comes first.
            own = [o for o in owners[name] if house.library_of(o) == house.library_of(source)]
            for owner in (own or owners[name])[:1]:
                if owner != source:
                    edges[owner].add(name)
    return graph, owners


def include_graph(house, root, sources, commands):
    """{file: {file that it includes: the words between the quotes}}. A public header is nobody's in its own library."""
    known, searched = set(sources), {}
    for source, _, folders in commands:
        # A header is read as the sources of its folder are, or of the nearest folder above.
        folder = source
        while folder:
            searched.setdefault(folder, folders)
            folder = os.path.dirname(folder)
    graph = {source: collections.defaultdict(set) for source in sources}
    for source in sources:
        with open(os.path.join(root, source), encoding="utf-8") as file:
            text = file.read()
        at = source
        while at and at not in searched:
            at = os.path.dirname(at)
        for quote, name in INCLUDE.findall(text):
            own = [os.path.join(root, os.path.dirname(source))] if quote == '"' else []
            for folder in own + searched.get(at, []):
                path = os.path.relpath(os.path.join(folder, name), root)
                if path in known:
                    if not house.is_own_door(source, path):
                        graph[source][path].add(name)
                    break
    return graph


def joined(graph, key):
    """The graph of what files are in: key(file)."""
    result = collections.defaultdict(lambda: collections.defaultdict(set))
    for source, edges in graph.items():
        result[key(source)].update({})
        for other, names in edges.items():
            if key(other) != key(source):
                result[key(source)][key(other)] |= names
    for node in {other for edges in result.values() for other in edges}:
        result[node].update({})
    return result


def walk(node, edges, seen):
    """Everything that node leads to, itself last; without recursion."""
    todo, order = [(node, iter(sorted(edges[node])))], []
    seen.add(node)
    while todo:
        here, rest = todo[-1]
        following = next((n for n in rest if n not in seen), None)
        if following is None:
            todo.pop()
            order.append(here)
        else:
            seen.add(following)
            todo.append((following, iter(sorted(edges[following]))))
    return order


def circles_of(graph):
    """Its strongly connected components of more than one node, the largest first (Kosaraju)."""
    reverse = {node: set() for node in graph}
    for node, edges in graph.items():
        for other in edges:
            reverse[other].add(node)
    order, seen = [], set()
    for node in sorted(graph):
        if node not in seen:
            order += walk(node, graph, seen)
    seen.clear()
    found = [walk(node, reverse, seen) for node in reversed(order) if node not in seen]
    return sorted((sorted(c) for c in found if len(c) > 1), key=len, reverse=True)


def shortest_round(graph, circle):
    """The shortest way from a member back to it."""
    best = None
    for start in circle:
        before, todo = {}, collections.deque([start])
        while todo and start not in before:
            here = todo.popleft()
            for other in sorted(graph[here]):
                if other in circle and other not in before:
                    before[other] = here
                    todo.append(other)
        way = [start]
        while len(way) == 1 or way[-1] != start:
            way.append(before[way[-1]])
        if best is None or len(way) < len(best):
            best = way[::-1]
    return best


def print_circles(house, graph, what):
    """Each circle of a graph, and how many there are."""
    found = circles_of(graph)
    for circle in found:
        libraries = sorted({house.library_of(node) for node in circle})
        inside = libraries[0] + "/" if len(libraries) == 1 and libraries[0] != "." else ""
        short = {node: node.removeprefix(inside) for node in circle}
        where = f" of {libraries[0]}" if inside else ""
        house.report(libraries, f"a circle of {len(circle)} {what}{where}: " + " ".join(short[n] for n in circle))
        way = shortest_round(graph, circle)
        print("    e.g. " + short[way[0]] + "".join(
            f" -> {short[other]} ({sorted(graph[node][other])[0]})" for node, other in zip(way, way[1:])))
    return len(found)


def print_climbs(house, graph, verb):
    """Each edge that goes up, inside of a library or from one to another."""
    found = 0
    for source, edges in sorted(graph.items()):
        for other, names in sorted(edges.items()):
            ends = {house.library_of(source), house.library_of(other)}
            library = house.libraries.get(ends.pop() if len(ends) == 1 else ".")
            if library is not None and library.goes_up(source, other):
                found += 1
                house.report({library.library, house.library_of(source)},
                             f"{source} {verb} up, to {other}: " + " ".join(sorted(names)))
    return found


def declared_for(text, header, owners, house):
    """The .c files of a header's library that define what it declares outside of all braces."""
    text = re.sub(r"\bextern\s*\{", " ", NOT_CODE.sub(" ", text))  # extern "C"
    while BLOCK.search(text):
        text = BLOCK.sub(" ", text)
    names = set(re.findall(r"\w+", re.sub(r"\b(struct|enum|union)\s+\w+", " ", text)))
    library = house.library_of(header)
    return {owner for name in names for owner in owners.get(name, ()) if house.library_of(owner) == library}


def print_headers(house, root, sources, owners):
    """Headers that declare for several files: apart from public ones, and those that the list has for a reason, up to
    the number that it gives them. An entry of the list that allows more than there is is reported, too."""
    found = 0
    for library in house.libraries.values():
        for header in sorted(set(library.shared) - set(sources)):
            house.report({library.library}, f"{header}: floors.ini has it, and it is not there")
    for header in sources:
        library = house.libraries.get(house.library_of(header))
        if not header.endswith(".h") or library is None:
            continue
        if matches(header, library.public):
            continue
        with open(os.path.join(root, header), encoding="utf-8") as file:
            files = declared_for(file.read(), header, owners, house)
        most = library.shared.get(header, 4 if header.endswith("_private.h") else 1)
        if header in library.shared and len(files) < most:
            house.report({library.library}, f"{header} declares for {len(files)} files only: floors.ini allows {most}")
        if len(files) > most:
            found += 1
            short = sorted(os.path.relpath(f, library.library) for f in files)
            house.report({library.library}, f"{header} declares for {len(files)} files: " + " ".join(short))
    return found


def print_folders(house, sources):
    """Folders that have no floor, and floors that have no folder."""
    strange = set()
    for source in sources:
        library = house.library_of(source)
        for name in {".", library} & set(house.libraries):
            folder = house.libraries[name].folder_of(source)
            if folder not in house.libraries[name].numbers:
                strange.add((name, folder))
    for name, folder in sorted(strange):
        house.report({name}, f"{name}: folder {folder} has no floor")
    for name, library in sorted(house.libraries.items()):
        empty = [folder for folder in library.numbers if folder not in library.used]
        if empty:
            house.report({name}, f"{name}: floors without a folder: " + " ".join(empty))


def main():
    """Print what is found; 1: some of it is an error."""
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Exit code: 0 no errors (there may be warnings), 1 errors, 2 usage.")
    parser.add_argument("build", metavar="BUILD", help="a folder that meson and ninja have built in")
    parser.add_argument("--root", default=os.path.dirname(here), help="of the sources (this script's)")
    parser.add_argument("--floors", default=os.path.join(here, "floors.ini"), help="another list (floors.ini)")
    args = parser.parse_args()
    root = os.path.abspath(args.root)
    try:
        house = House(args.floors)
        commands = list(commands_of(args.build, root))
    except (OSError, ValueError, configparser.Error) as error:
        parser.error(str(error))
    sources = list(sources_of(root))
    calls, owners = call_graph(house, sources, commands)
    includes = include_graph(house, root, sources, commands)
    folders = joined(calls, os.path.dirname)
    for folder, edges in joined(includes, os.path.dirname).items():
        for other, names in edges.items():
            folders[folder][other] |= names
            folders[other].update({})
    print_folders(house, sources)
    circles = [print_circles(house, calls, "objects"),
               print_circles(house, joined(includes, room_of), "rooms by #include"),
               print_circles(house, folders, "folders")]
    climbs = print_climbs(house, calls, "calls") + print_climbs(house, includes, "includes")
    headers = print_headers(house, root, sources, owners)
    edges = [sum(map(len, graph.values())) for graph in (calls, includes)]
    print(f"  {len(calls)} objects, {edges[0]} calls, {edges[1]} includes; circles: {circles[0]} of objects, "
          f"{circles[1]} of rooms, {circles[2]} of folders; {climbs} edges go up; "
          f"{headers} headers declare for several files")
    return 1 if house.errors else 0


if __name__ == "__main__":
    sys.exit(main())
