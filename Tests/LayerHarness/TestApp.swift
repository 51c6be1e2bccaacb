// The default app, for tests of layers that find their collections through the default app.

import FirebaseFirestore
import FirebaseStorage
package import Foundation

/// The default app with an empty database and an empty storage, for a single test.
package final class TestApp {
  package let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("dugout-test-\(UUID().uuidString)")
  private static let queueKey = DispatchSpecificKey<Bool>()

  /// Starts the app. If `isBroken`, no store can be opened.
  package init(isBroken: Bool = false) {
    // A regular file at the folder's path prevents the store from being created.
    if isBroken { try? Data("x".utf8).write(to: folder) }
    start()
  }

  deinit {
    FirebaseApp.app()?.delete { _ in }
    try? FileManager.default.removeItem(at: folder)
  }

  private func start() {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    let queue = DispatchQueue(label: "dugout.test.callbacks")
    queue.setSpecific(key: Self.queueKey, value: true)
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    Firestore.firestore().settings = settings
    Storage.storage().callbackQueue = queue
  }

  /// Closes the app and opens it again, as a new process would.
  package func restart() async {
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    start()
  }

  /// Runs `body` on the callback queue, so that `body` sees the effects of earlier callbacks.
  package func onCallbackQueue<Value>(_ body: () -> Value) -> Value {
    Firestore.firestore().settings.dispatchQueue.sync(execute: body)
  }

  package static var isCallbackQueue: Bool { DispatchQueue.getSpecific(key: queueKey) == true }
}
