"""Prints the lengths of files and functions of the C++ and Python sources, the longest first: a mirror, not a gate.

A function is counted from the line of its opening brace to that of its closing one, without blank lines.
"""

import pathlib
import re
import statistics

FUNCTION = re.compile(
    r"^(?!\s*(?:namespace|class|struct|enum|union|extern)\b)( *)\S.*\) (?:const )?(?:noexcept )?(?:override )?\{$"
)


def function_lengths(path: pathlib.Path) -> list[tuple[int, str]]:
    """Length and place of each function of a C++ file."""
    lines = path.read_text().splitlines()
    found = []
    for number, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or re.match(r"\s*(if|for|while|switch|else|\}|do)\b", line):
            continue
        length = depth = 0
        for body in lines[number:]:
            length += bool(body.strip())
            depth += body.count("{") - body.count("}")
            if depth <= 0:
                break
        found.append((length, f"{path}:{number + 1}"))
    return found


def main() -> None:
    root = pathlib.Path(__file__).parent.parent
    sources = [p for folder in ("src", "include", "apps") for p in sorted((root / folder).rglob("*.[ch]pp"))]
    files = sorted(((len(p.read_text().splitlines()), str(p.relative_to(root))) for p in sources), reverse=True)
    functions = sorted((entry for p in sources for entry in function_lengths(p)), reverse=True)
    lengths = [length for length, _ in functions]
    print(f"{len(files)} files: median {statistics.median(n for n, _ in files):.0f} lines, longest {files[0][0]}")
    quantile = sorted(lengths)[int(0.9 * len(lengths))]
    print(
        f"{len(lengths)} functions: median {statistics.median(lengths):.0f} lines, "
        f"90 % below {quantile}, longest {lengths[0]}"
    )
    for length, name in files[:5] + functions[:10]:
        print(f"  {length:5d}  {name}")


if __name__ == "__main__":
    main()
