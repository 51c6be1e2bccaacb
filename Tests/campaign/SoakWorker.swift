// The process that a soak kills: it runs the load and prints its acknowledged commits.

import ByteStore
import Foundation

enum SoakWorker {
  static let word = "soak-worker"

  static func main(_ words: [String]) -> Never {
    guard words.count == 3, let scriptSeed = UInt64(words[1]), let seed = UInt64(words[2]) else { exit(2) }
    do {
      let store = try ByteStore.open(words[0], options: Soak.options)
      let load = SoakLoad(store, SoakScript(seed: scriptSeed), seed: seed) { printLine("\($0) \($1)") }
      // The worker is killed long before this time.
      let end = ContinuousClock.now + .seconds(120)
      let outcome = load.run { ContinuousClock.now > end }
      if let failure = outcome.failure { printLine("failure \(failure)") }
    } catch {
      printLine("failure \(error)")
    }
    exit(0)
  }
}
