// Runs the hot paths of a store under callgrind, which counts the instructions of each row.
//
//   instructions prepare DIRECTORY    creates the stores that the rows read and update
//   instructions reads DIRECTORY      runs the rows that read
//   instructions writes DIRECTORY     runs the rows that write
//
// Prints one line per row after its counted part: the row's name and the number of its documents, commits or
// queries. `benchmarks --instructions` starts this program and reads the lines and callgrind's counts.
//
// All counted work is synchronous and runs on the main thread.

import Foundation

@main
struct Instructions {
  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("instructions: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ words: [String]) throws {
    guard words.count == 2 else { throw Failure("usage: instructions prepare|reads|writes DIRECTORY") }
    let stores = PreparedStores(URL(fileURLWithPath: words[1]))
    switch words[0] {
    case "prepare": try stores.create()
    case "reads":
      try EngineReads(stores).run()
      try LayerCalls(stores).views()
      try PublicCalls(stores).run()
    case "writes":
      try EngineWrites(stores).run()
      try LayerCalls(stores).watchedCommits()
    default: throw Failure("there is no task \(words[0])")
    }
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
