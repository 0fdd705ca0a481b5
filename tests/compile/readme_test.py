#!/usr/bin/env python3
"""What README.md shows is what the tree holds: readme_test.py ROOT

What it shows of embedding and of replicating is, line by line, the part of the example between its
marks (the install test compiles and runs both), the commands exist, and links lead somewhere.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(sys.argv[1])
MARKS = re.compile(r'// README begins\n(.*?)[ ]*// README ends\n', re.S)


def main():
    failures = []
    readme = (ROOT / 'README.md').read_text()
    blocks = [block.strip('\n') for block in re.findall(r'```cpp\n(.*?)```', readme, re.S)]
    for example in ('examples/embed.cc', 'examples/replicate.cc'):
        shown = MARKS.search((ROOT / example).read_text())
        wanted = textwrap.dedent(shown.group(1)).strip('\n')
        if wanted not in blocks:
            failures.append(f'README.md does not show this part of {example}:\n{wanted}')
    for command in ('tools/quickstart', 'tests/run'):
        if f'{command}' not in readme:
            failures.append(f'README.md does not name {command}')
        if not (ROOT / command).is_file():
            failures.append(f'{command} is not there')
    for page in [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md')),
                 *sorted((ROOT / 'tests').glob('*.md'))]:
        for link in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', page.read_text()):
            if '://' not in link and not (page.parent / link).exists():
                failures.append(f'{page.relative_to(ROOT)} links to {link}, which is not there')
    print('\n'.join(failures) or 'README.md agrees with the tree')
    return 1 if failures else 0


sys.exit(main())
