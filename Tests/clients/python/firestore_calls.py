#!/usr/bin/env python3
"""Calls each method of Firestore's protocol with Google's Python client, and prints the results.

  firestore_calls.py --host 127.0.0.1:8080                          prints a JSON line for each step
  firestore_calls.py --host HOST:PORT --compare OTHER_HOST:PORT     compares two servers
  firestore_calls.py --host HOST:PORT --expected emulator.jsonl     compares with stored results
  firestore_calls.py --host HOST:PORT --emulator >emulator.jsonl    stores results of the emulator

A comparison prints the differences, and exits with 1 if one of them is not in known_differences.py. The emulator is
the second server, or the one whose results are stored.

Needs `google-cloud-firestore`. README.md describes the options.
"""

import argparse
import asyncio
import faulthandler
import fnmatch
import logging
import sys
import time

import calls  # noqa: F401
import comparison
from connections import Server
from recording import Recorder, read_lines
from steps import ASYNC, STEPS, Scope

# A step that takes longer ends the program, with the stack of each thread.
STEP_SECONDS_MAX = 180


def run(server, options, is_emulator=False, show=None):
    """Runs the chosen steps, and returns their results by name. The emulator is not asked what is known to be right."""
    recorder = Recorder(server, show)
    blocking = server.client()

    async def steps():
        asynchronous = server.async_client()
        for step in chosen(options):
            if is_emulator and step.expected is not None:
                recorder.add(step.name, step.expected)
                continue
            faulthandler.dump_traceback_later(STEP_SECONDS_MAX, exit=True)
            client = asynchronous if step.kind == ASYNC else blocking
            scope = Scope(server, step.kind, client, recorder, options)
            started = time.monotonic()
            try:
                result = recorder.plain(await step.function(scope))
            except Exception as error:
                result = recorder.error(error)
                if options.verbose:
                    raise
            recorder.add(step.name, result)
            if options.times:
                print(f"{time.monotonic() - started:6.2f} s  {step.name}", file=sys.stderr)
        faulthandler.cancel_dump_traceback_later()

    asyncio.run(steps())
    blocking.close()
    return recorder.results


def chosen(options):
    patterns = options.only or ["*"]
    steps = [
        step for step in STEPS
        if any(fnmatch.fnmatchcase(step.name, pattern) or pattern in step.name for pattern in patterns)]
    if not steps:
        sys.exit("No step has this name: " + ", ".join(patterns))
    return steps


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, metavar="HOST:PORT")
    parser.add_argument("--project", default="demo-calls")
    parser.add_argument("--database", default="(default)")
    parser.add_argument("--secret", help="sent as a bearer token; without it, the server is used as an emulator")
    parser.add_argument("--secret-file", help="a file with the secret")
    parser.add_argument("--ca", metavar="FILE", help="use TLS, and trust the certificates in this file")
    parser.add_argument("--compare", metavar="HOST:PORT", help="another server, always used as an emulator")
    parser.add_argument("--expected", metavar="FILE", help="results of an emulator, as this program prints them")
    parser.add_argument("--emulator", action="store_true", help="--host is Google's emulator: print expected results")
    parser.add_argument("--only", action="append", metavar="NAME", help="a part of the name of steps, or a pattern")
    parser.add_argument("--restart", metavar="COMMAND", help="restarts the server, and returns when it answers again")
    parser.add_argument("--times", action="store_true", help="print the time of each step")
    parser.add_argument("--verbose", action="store_true", help="end at the first unexpected error, with its stack")
    options = parser.parse_args()
    if options.secret_file:
        with open(options.secret_file, encoding="utf-8") as file:
            options.secret = file.read().rstrip("\n")
    return options


def main():
    options = arguments()
    # The library prints the stack of each stream that ends with an error.
    logging.getLogger("google").setLevel(logging.CRITICAL)
    server = Server(options.host, options.project, options.database, options.secret, options.ca)
    if not options.compare and not options.expected:
        run(server, options, is_emulator=options.emulator, show=sys.stdout)
        return 0
    ours = run(server, options, is_emulator=options.emulator)
    if options.compare:
        theirs = run(Server(options.compare, options.project, options.database), options, is_emulator=True)
    else:
        names = {step.name for step in chosen(options)}
        theirs = {name: result for name, result in read_lines(options.expected).items() if name in names}
    return comparison.report(ours, theirs, is_whole=not (options.only or options.emulator))


if __name__ == "__main__":
    sys.exit(main())
