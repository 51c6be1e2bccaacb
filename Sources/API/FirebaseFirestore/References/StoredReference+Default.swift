// References for tools that work on an app's database: they are equal to the references that the app writes.

package import DocumentStore
private import FirebaseCore

extension StoredReference {
  /// Creates a reference that equals those that an app without a project ID writes, and those written through
  /// `Firestore.open(at:)`. Equality includes the project and the database. `StoredReference(projectID: "",
  /// databaseID: "", …)` therefore equals no reference that an app has written.
  package init(inDefaultDatabase path: DocumentPath) {
    self.init(projectID: Self.defaultProject, databaseID: Firestore.defaultDatabase, path: path)
  }

  private static let defaultProject = FirebaseApp.unregistered(name: "default").projectID
}
