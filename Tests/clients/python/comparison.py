"""Compares the results of two servers step by step, apart from the known differences."""

import fnmatch
import json

from known_differences import KNOWN

ABSENT = "<absent>"


def differences(ours, theirs, path=""):
    """Yields the path, our value and their value of each difference."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            yield from differences(ours.get(key, ABSENT), theirs.get(key, ABSENT), f"{path}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}/{index}")
    elif text(ours) != text(theirs):
        yield path, ours, theirs


def text(value):
    # 1 and 1.0 are different values of Firestore, and so are 1 and true.
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def report(ours, theirs, is_whole=True):
    """Prints the differences, and returns the exit status. If all steps ran, lists what no server needs any more."""
    unknown, used = 0, {}
    for step in [*ours, *(step for step in theirs if step not in ours)]:
        for path, our, their in differences(ours.get(step, ABSENT), theirs.get(step, ABSENT)):
            name = step.partition("/")[2] + path
            known = next((known for known in KNOWN if known.explains(name, our, their)), None)
            if known:
                used[known] = used.get(known, 0) + 1
                continue
            unknown += 1
            print(f"{step}{path}\n  ours:   {text(our)}\n  theirs: {text(their)}")
    for known, count in used.items():
        print(f"{count} known: {known.pattern}: {known.reason}")
    for known in KNOWN:
        if is_whole and known not in used:
            print(f"not needed: {known.pattern}: {known.reason}")
    print(f"{len(ours)} steps, {sum(used.values())} known differences, {unknown} others")
    return 1 if unknown or not ours else 0


def matches(pattern, name):
    # A pattern is literal, but for "*".
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
