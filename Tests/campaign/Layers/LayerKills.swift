// Processes that write through the layer and are killed at any moment: what they acknowledged is there, of what was
// under way all or nothing, and links and counts agree.

import FirebaseFirestore
import Foundation
import Harness
import Pring

/// The process that is killed: steps that its seed decides, one after the other, and a line for each that is durable.
enum LayerKillWorker {
  static let word = "layer-kill-worker"

  static func main(_ words: [String]) async -> Never {
    guard words.count == 2, let seed = UInt64(words[1]) else { exit(2) }
    do {
      let firestore = open(URL(fileURLWithPath: words[0]))
      if try await LayerRoom.get("0") == nil { try await LayerClient.makeRooms(firestore) }
      let client = try await LayerClient(firestore)
      say("ready")
      for step in steps(seed) {
        guard try await client.perform(step) else { continue }
        say("done")
      }
    } catch {
      complain("\(error)")
      exit(1)
    }
    exit(0)
  }

  /// Without removals from the shelf, which depend on what is there.
  static func steps(_ seed: UInt64) -> [LayerStep] {
    var random = SeededRandom(seed: seed)
    return (0..<1000).map { _ in LayerStep.random(&random, client: 0) }.filter {
      if case .unshelve = $0 { false } else { true }
    }
  }

  static func open(_ folder: URL) -> Firestore {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.layers.callbacks")
    Firestore.firestore().settings = settings
    return Firestore.firestore()
  }
}

struct LayerKills {
  private(set) var rounds = 0
  private(set) var stepsDone = 0
  private(set) var stepsUnderWayFound = 0
  private(set) var failure: String?
  private var model = LayerModel()
  private var random: SeededRandom
  private let seed: UInt64
  private let folder: URL

  init(seed: UInt64, in folder: URL) {
    self.seed = seed
    self.folder = folder
    random = SeededRandom(seed: SeededRandom.seed(seed, 3))
  }

  /// Kills one process, and looks at what it left.
  mutating func round() async throws {
    let seed = SeededRandom.seed(seed, 4, UInt64(rounds))
    let steps = LayerKillWorker.steps(seed)
    let done = try kill(seed)
    rounds += 1
    stepsDone += done
    for step in steps.prefix(done) { model.apply(step) }
    var next = model
    if done < steps.count { next.apply(steps[done]) }
    let found = try await read()
    if found == model { return }
    guard found == next else {
      failure = "round \(rounds - 1): after \(done) steps, " + (found.difference(from: model) ?? "")
      return
    }
    stepsUnderWayFound += 1
    model = next
  }

  /// Returns how many steps it had acknowledged.
  private mutating func kill(_ seed: UInt64) throws -> Int {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [LayerKillWorker.word, folder.path, "\(seed)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var said = Data()
    let wanted = 1 + random.below(30)
    while said.count(where: { $0 == UInt8(ascii: "\n") }) < wanted {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { break }
      said += part
    }
    usleep(UInt32(random.below(3000)))
    Foundation.kill(process.processIdentifier, SIGKILL)
    said += output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else {
      throw LayerFailure(description: "the process ended with status \(process.terminationStatus) by itself")
    }
    return max(0, said.count { $0 == UInt8(ascii: "\n") } - 1)
  }

  private func read() async throws -> LayerModel {
    _ = LayerKillWorker.open(folder)
    let found = try await LayerClient.read()
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    return found
  }
}
