// A database for one test: a named app in a folder that is deleted afterwards.

import FirebaseFirestore
import Foundation

final class TestDatabase {
  let folder: URL
  private(set) var app: FirebaseApp

  var firestore: Firestore { Firestore.firestore(app: app) }

  init(_ folder: URL? = nil) throws {
    self.folder =
      folder
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("dugout-test-\(UUID().uuidString)")
    app = Self.configure(self.folder)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func configure(_ folder: URL) -> FirebaseApp {
    // The name is derived from the folder, because the directory of the store depends on the app's name.
    let name = "test-" + folder.lastPathComponent.filter { $0.isLetter || $0.isNumber }
    FirebaseApp.configure(name: name, options: FirebaseOptions(directory: folder))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("the app was just made") }
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    Firestore.firestore(app: app).settings = settings
    return app
  }

  /// Closes the app and reopens it in the same folder.
  func restart() async {
    await close()
    app = Self.configure(folder)
  }

  func close() async {
    let app = app
    await withCheckedContinuation { done in app.delete { _ in done.resume() } }
  }
}
