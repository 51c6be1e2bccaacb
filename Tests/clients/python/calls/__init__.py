"""Imports all steps, in the order in which they run."""

from . import documents, writes, transforms, preconditions, transactions  # noqa: F401
from . import queries, aggregations, values, limits, listeners  # noqa: F401
from . import raw_documents, raw_queries, raw_transactions, raw_streams  # noqa: F401
