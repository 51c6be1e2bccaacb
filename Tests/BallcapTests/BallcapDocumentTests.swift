// Ballcap's document over the real store, across restarts.

import Ballcap
import FirebaseFirestore
import Foundation
import Testing

struct User: Codable, Modelable {
  static var name: String { "users" }

  var name = ""
  var age = 0
  var tags: [String] = []
}

struct Plain: Codable, Modelable {
  var value = -4.0
  var list = ["a"]
}

// Ballcap names collections through the default app, of which a process has one.
@Suite(.serialized) final class BallcapDocumentTests {
  private let folder = Foundation.FileManager.default.temporaryDirectory
    .appendingPathComponent("dugout-test-\(UUID().uuidString)")

  init() { start() }

  deinit {
    FirebaseApp.app()?.delete { _ in }
    try? Foundation.FileManager.default.removeItem(at: folder)
  }

  private func start() {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    Firestore.firestore().settings = settings
  }

  private func restart() async {
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    start()
  }

  private func save(_ document: Document<User>) async -> (any Error)? {
    await withCheckedContinuation { done in document.save { done.resume(returning: $0) } }
  }

  private struct Found: @unchecked Sendable {
    var document: Document<User>?
    var error: (any Error)?
  }

  private func get(_ id: String) async -> Found {
    await withCheckedContinuation { done in
      Document<User>.get(id: id) { done.resume(returning: Found(document: $0, error: $1)) }
    }
  }

  @Test func aSavedDocumentIsTheSameAfterARestart() async throws {
    let ada = Document<User>(id: "ada", from: User(name: "Ada", age: 36, tags: ["mathematics"]))
    #expect(await save(ada) == nil)
    await restart()
    let found = await get("ada")
    #expect(found.error == nil)
    #expect(found.document?.data == ada.data)
    #expect(found.document?.path == "users/ada")
  }

  @Test func savingSetsBothTimesToTheCommit() async throws {
    #expect(await save(Document<User>(id: "ada")) == nil)
    let found = try #require(await get("ada").document)
    #expect(found.createdAt == found.updatedAt)
    #expect(abs(found.createdAt.dateValue().timeIntervalSinceNow) < 60)
    #expect(found.snapshot?.data()?["createdAt"] is Timestamp)
  }

  @Test func anAbsentDocumentIsNeitherObjectNorError() async throws {
    let found = await get("nobody")
    #expect(found.document == nil)
    #expect(found.error == nil)
  }

  @Test func aDocumentThatDoesNotDecodeIsAnError() async throws {
    try await Firestore.firestore().document("users/odd").setData(["name": 7])
    let found = await get("odd")
    #expect(found.document == nil)
    #expect(found.error is DecodingError)
  }

  @Test func aDeletedDocumentIsGone() async throws {
    let ada = Document<User>(id: "ada")
    #expect(await save(ada) == nil)
    let error = await withCheckedContinuation { done in ada.delete { done.resume(returning: $0) } }
    #expect(error == nil)
    #expect(await get("ada").document == nil)
  }

  @Test func namesComeFromTheTypeUnlessTheModelSaysOtherwise() {
    struct Local: Codable, Modelable {}
    #expect(Plain.name == "plain")
    #expect(Local.name == "local")
    #expect(Document<User>(id: "x").path == "users/x")
    #expect(Document<Plain>(id: "x").path == "plain/x")
    #expect(Document<User>().id.count == 20)
  }

  @Test func aModelDescribesItself() {
    #expect(Plain().debugDescription == "plain {\n  value: -4.0\n  list: [\"a\"]\n}")
  }

  @Test func propertiesAreReachedByKeyPath() {
    let ada = Document<User>(id: "ada")
    ada[\.age] = 36
    #expect(ada[\.age] == 36)
    #expect(ada.data?.age == 36)
  }
}
