// The process that is killed: it saves one document and dies in the completion.

import Ballcap
import FirebaseFirestore
import Foundation

enum KillWorker {
  static let word = "kill-worker"

  struct Round: Codable, Modelable {
    static var name: String { "rounds" }

    var text = ""
  }

  /// Returns the document text of a round, from a few bytes to several pages of the log.
  static func text(round: Int, seed: UInt64) -> String {
    let mixed = (UInt64(round) &+ seed) &* 0x9E37_79B9_7F4A_7C15
    return String(repeating: "\(round)-\(mixed) ", count: 1 + Int(mixed >> 56) * 4)
  }

  static func main(_ words: [String]) async -> Never {
    guard words.count == 3, let round = Int(words[1]), let seed = UInt64(words[2]) else { exit(2) }
    FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: words[0])))
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.kill-worker")
    Firestore.firestore().settings = settings
    Document<Round>(id: "\(round)", from: Round(text: text(round: round, seed: seed))).save { error in
      if let error {
        complain("round \(round): \(error)")
        exit(1)
      }
      kill(getpid(), SIGKILL)
    }
    try? await Task.sleep(for: .seconds(60))
    exit(3)
  }
}
