// Kills processes that write through the Pring layer, and verifies their stores (docs/pring.md).

import Foundation
import Harness
import LayerHarness

/// The process that is killed. It executes the steps that its seed determines, and prints a byte for each
/// step that is durable.
enum LayerKillWorker {
  static let word = "layer-kill-worker"
  static let ready = UInt8(ascii: "\n")

  static func main(_ words: [String]) async -> Never {
    guard words.count == 3, let seed = UInt64(words[2]) else { exit(2) }
    let hasRemote = words[1] == "true"
    do {
      try await LayerLife.live(
        in: URL(fileURLWithPath: words[0]), hasRemote: hasRemote,
        LayerLife.turns(seed, hasRemote: hasRemote),
        began: { tell(ready) }, ended: { tell($0.rawValue) })
    } catch {
      complain("\(error)")
      exit(1)
    }
    exit(0)
  }

  private static func tell(_ byte: UInt8) { FileHandle.standardOutput.write(Data([byte])) }
}

/// The processes that use one folder in turn.
struct LayerKills {
  private(set) var rounds = 0
  private(set) var stepsDone = 0
  private(set) var stepsInProgressFound = 0
  private(set) var failure: String?
  private var model = LayerModel()
  private var random: SeededRandom
  private let seed: UInt64
  private let folder: URL
  private let hasRemote: Bool

  init(seed: UInt64, in folder: URL, hasRemote: Bool) {
    self.seed = SeededRandom.seed(seed, 3, hasRemote ? 1 : 0)
    self.folder = folder
    self.hasRemote = hasRemote
    random = SeededRandom(seed: self.seed)
  }

  /// Kills one process and verifies the folder.
  mutating func round() async throws {
    let seed = SeededRandom.seed(seed, UInt64(rounds))
    let turns = LayerLife.turns(seed, hasRemote: hasRemote)
    let outcomes = try kill(seed)
    rounds += 1
    for (turn, outcome) in zip(turns, outcomes) where outcome == .done {
      stepsDone += 1
      model.apply(turn.step)
    }
    var next = model
    if outcomes.count < turns.count { next.apply(turns[outcomes.count].step) }
    let found = try await LayerLife.look(in: folder, hasRemote: hasRemote)
    if found == model { return }
    guard found == next else {
      failure =
        "round \(rounds - 1) \(hasRemote ? "with" : "without") a remote: after \(outcomes.count) steps, "
        + (found.difference(from: model) ?? "")
      return
    }
    stepsInProgressFound += 1
    model = next
  }

  /// Returns the outcomes that the process reported.
  private mutating func kill(_ seed: UInt64) throws -> [LayerLife.Outcome] {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [LayerKillWorker.word, folder.path, "\(hasRemote)", "\(seed)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var printed = Data()
    let wanted = 1 + random.below(30)
    while printed.count < wanted {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { break }
      printed += part
    }
    usleep(UInt32(random.below(3000)))
    Foundation.kill(process.processIdentifier, SIGKILL)
    printed += output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, printed.first == LayerKillWorker.ready else {
      throw LayerFailure(description: "the process ended with status \(process.terminationStatus) by itself")
    }
    return printed.dropFirst().compactMap { LayerLife.Outcome(rawValue: $0) }
  }
}
