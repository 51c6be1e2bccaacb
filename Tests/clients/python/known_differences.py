"""Differences from Google's emulator that are known, each with its reason.

`pattern` names steps without their kind, followed by the path within the result; `*` stands for any text. If `ours` is
given, our value must match this regular expression, so that an excuse does not hide a fault of ours. The same for
`theirs`. What is absent on one side is `<absent>`.
"""

import json
import re


class Known:
    def __init__(self, pattern, reason, ours=None, theirs=None):
        self.pattern = pattern
        self.reason = reason
        self.ours = ours
        self.theirs = theirs

    def explains(self, name, ours, theirs):
        import comparison

        return comparison.matches(self.pattern, name) and all(
            expression is None or re.fullmatch(expression, text(value), re.DOTALL)
            for expression, value in [(self.ours, ours), (self.theirs, theirs)])


def text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


OWN_TERMS = "the emulator names documents in its own terms"
NEAREST = "searches for the nearest vectors are not supported yet"
FAILS = "the emulator fails"
OTHER_DATABASES = "the emulator serves all databases in one request"

KNOWN = [
    # Texts.
    Known("*/message", OWN_TERMS, r"Document already exists: \S+", r"entity already exists: .*"),
    Known("*/message", OWN_TERMS, r"No document to (update|delete): \S+", r"no entity to update: .*"),
    Known("*/message", "our text says more", r"The requested 'read_time' is too old: .+", r"The requested 'read_time' is too old\."),
    Known("limits/documents that are refused/reserved*/message", "one text for all reserved names", r"field name __x__ is reserved\."),
    Known("raw/CreateDocument/without a collection/message", "the name is checked as a whole", r'Document name .* lacks a collection id at index \d+\.'),
    Known("raw/Write that fails/no database/message", "the name is checked as a whole", r'Document name .*|Database name "" lacks "projects" at index 0\.'),
    # Not supported yet.
    Known("queries/vectors/*", NEAREST, r"<absent>|UNIMPLEMENTED|Searches for the nearest vectors are not supported\."),
    # Faults and gaps of the emulator.
    Known("queries/plans/*", "the emulator answers without a plan", r"<absent>|\[1, 1\]",
          r"<absent>|QueryExplainError|explain_metrics not available .*"),
    Known("raw/ListDocuments/ordered pages/*", FAILS, None, r"<absent>|UNKNOWN|"),
    Known("raw/RunAggregationQuery/six/*", FAILS, None, r"<absent>|UNKNOWN|"),
    Known("raw/Listen with targets that are refused/neither/*", FAILS, r"<absent>|3|stays|A target must have a query or documents\."),
    Known("raw/Listen with targets that are refused/neither target/*", FAILS, r"INVALID_ARGUMENT|The request neither adds nor removes a target\."),
    Known("raw/Listen with targets that are refused/no database/*", FAILS, r'INVALID_ARGUMENT|Database name "" lacks "projects" at index 0\.'),
    Known("raw/Listen with targets that are refused/offset/*", FAILS, r"<absent>|3|stays|offset is negative"),
    Known("raw/Listen once/end/*", "the emulator ignores `once`", r"<absent>|0", r"<absent>|DEADLINE_EXCEEDED|.*Deadline.*"),
    Known("raw/BatchGetDocuments/another database/*", OTHER_DATABASES, r"<absent>|INVALID_ARGUMENT|The request was for database .*"),
    Known("raw/Commit/other database/*", OTHER_DATABASES, r"<absent>|INVALID_ARGUMENT|The request was for database .*"),
    Known("raw/Write that fails/unknown database/*", "the emulator does not check the name", r'<absent>|INVALID_ARGUMENT|Database name "projects/p" lacks .*'),
    Known("transforms/that are refused/list in a list/*", "the emulator stores what a set would not", r"<absent>|INVALID_ARGUMENT|Nested arrays are not supported .*"),
    Known("transforms/that are refused/unchanged/fields/n", "the emulator stores what a set would not", r"1", r"\[\[1\]\]"),
    # Choices.
    Known("transforms/server timestamp/milliseconds", "the time of the commit, in microseconds", r"false", r"true"),
    Known("preconditions/of raw writes/time in the future/*", "any other time is a precondition that is not met",
          r"FAILED_PRECONDITION|the stored version \(<time>\) does not match the required base version \(<time>\)"),
    Known("raw/Write/end", "the emulator answers the empty request that ends the stream", r"0", r"1"),
]
