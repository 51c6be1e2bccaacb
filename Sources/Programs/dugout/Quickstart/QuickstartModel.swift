// The documents of the tour, and the configuration of both of its processes.

import Ballcap
import FirebaseFirestore
import Foundation

struct QuickstartUser: Codable, Modelable {
  static var name: String { "users" }

  var name = ""
  var age = 0
  var tags: [String] = []
}

enum QuickstartApp {
  static func configure(_ folder: URL) {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    // A command-line program runs no main loop, so callbacks need another queue.
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.quickstart")
    Firestore.firestore().settings = settings
  }
}

/// The process that is killed.
enum QuickstartWriter {
  static func run(in path: String) async throws {
    QuickstartApp.configure(URL(fileURLWithPath: path))
    let ada = Document<QuickstartUser>(
      id: "ada", from: QuickstartUser(name: "Ada", age: 36, tags: ["mathematics"]))
    ada.save { error in
      // Nothing is flushed or closed, and no code after this line runs.
      Terminal.print(error.map { "failed: \($0)" } ?? "users/ada is saved")
      kill(getpid(), SIGKILL)
    }
    try await Task.sleep(for: .seconds(60))
  }
}
