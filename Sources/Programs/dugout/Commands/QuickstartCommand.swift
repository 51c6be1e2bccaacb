// dugout quickstart: a tour of the product in a minute.
//
// Two processes open a store one after the other. The first one is killed as soon as its write is
// acknowledged.

import Foundation

enum QuickstartCommand: Command {
  static let name = "quickstart"
  static let summary = "Runs a one-minute tour: crash, recovery, queries, listeners, offline writes"
  static let usage = "[--keep]"
  static let options = [(option: "--keep", meaning: "Keep the store and print its path")]
  static let positional = 0...2
  static let notes = [
    "Everything happens in a new temporary directory, which is removed at the end without --keep. Nothing is sent over a",
    "network: the server that is unreachable for a while is another database in the same process.",
  ]
  static let shellForm = ShellForm.none

  /// The first argument with which the tour starts this program as the writer; a directory follows.
  static let writerWord = "writer"

  static func run(_ arguments: Arguments) async throws {
    if arguments.positional.count == 2, arguments.positional[0] == writerWord {
      try await QuickstartWriter.run(in: arguments.positional[1])
    } else if arguments.positional.isEmpty {
      try await QuickstartTour.run(keepsStore: arguments.has("--keep"))
    } else {
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(Self.self))")
    }
  }
}
