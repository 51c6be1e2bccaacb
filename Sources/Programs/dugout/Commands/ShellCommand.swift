// dugout shell DIR: keeps one store open and runs commands on it.

import ByteStore
import DocumentStore
import Foundation

enum ShellCommand: Command {
  static let name = "shell"
  static let summary = "Opens a store and takes commands: history, completion, live queries"
  static let usage = "DIR"
  static let options: [(option: String, meaning: String)] = []
  static let positional = 1...1
  static let notes = [
    "The commands are those of dugout, without the directory and without quotes around queries and fields. \"watch\"",
    "prints a query's answer and every change of it, \"unwatch\" ends that, \"help\" lists the commands, and \"exit\" or",
    "Ctrl-D ends the shell. The Tab key completes commands, options, paths and fields. The arrow keys go through",
    "earlier lines, and Ctrl-R searches them. They are kept in $XDG_STATE_HOME/dugout/history, or in the file that",
    "DUGOUT_HISTORY names; if it is empty, nothing is kept. The store is created if DIR has none.",
    "",
    "Lines can come from a file or a pipe, too. The first one that fails ends the shell then, with its exit code.",
    "",
    "  echo 'query users where age >= 18' | dugout shell data",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let notice = CreationNotice(ofStore: directory)
    defer { notice.printUnlessPrinted() }
    let store = try StoreAccess.translating(directory, creates: true) { () throws(DocumentStoreError) in
      try DocumentStore.open(directory)
    }
    defer { try? store.close() }
    notice.printUnlessPrinted()
    if RawTerminal.isAvailable {
      try await runInteractively(store, directory)
    } else {
      try await read(store, directory)
    }
    try StoreAccess.translating { () throws(DocumentStoreError) in try store.close() }
  }

  /// Interactive: reports an error and reads the next line.
  private static func runInteractively(_ store: DocumentStore, _ directory: String) async throws {
    let console = ShellConsole()
    let session = ShellSession(store, directory) { console.announce($0) }
    defer { session.end() }
    let completer = ShellCompleter(store: store)
    var history = ShellHistory(path: ShellHistory.path(ProcessInfo.processInfo.environment))
    Terminal.print(
      "\(Wording.count(store.count, "document")) in \(directory). \"help\" lists the commands, Ctrl-D ends.")
    while let line = console.line("dugout> ", history: history.lines, completing: completer.completion) {
      history.add(line.trimmingCharacters(in: .whitespaces))
      do {
        if try await session.run(line) == .ends { return }
      } catch let failure as CommandFailure {
        if !failure.message.isEmpty { Terminal.printToStandardError(failure.message) }
      }
    }
  }

  /// Runs the lines of a pipe or a file.
  private static func read(_ store: DocumentStore, _ directory: String) async throws {
    let session = ShellSession(store, directory) { Terminal.print($0) }
    defer { session.end() }
    var input = ShellInput(STDIN_FILENO)
    var number = 0
    while true {
      number += 1
      do {
        guard let line = try input.next() else { return }
        if try await session.run(line) == .ends { return }
      } catch let failure as CommandFailure {
        let message =
          failure.message.isEmpty ? "the command ended with code \(failure.code.rawValue)." : failure.message
        throw CommandFailure(code: failure.code, message: "line \(number): \(message)")
      }
    }
  }
}
