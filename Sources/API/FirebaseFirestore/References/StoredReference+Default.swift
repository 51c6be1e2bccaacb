// References as apps write them: for tools beside an app, whose references have to be equal to its own.

package import DocumentStore
private import FirebaseCore

extension StoredReference {
  /// As an app writes it whose options name no project, and as `Firestore.open(at:)` does. Values are compared with their
  /// project and database: `StoredReference(projectID: "", databaseID: "", …)` is equal to none that an app has written.
  package init(inDefaultDatabase path: DocumentPath) {
    self.init(projectID: Self.defaultProject, databaseID: Firestore.defaultDatabase, path: path)
  }

  private static let defaultProject = FirebaseApp.unregistered(name: "default").projectID
}
