// Where the store of a database is.
//
//   path := directory "/" project "/" store
//   store := "_default"                for "(default)"
//          | database
//
// Ids have only lower-case letters, digits and hyphens, so two ids never differ in case alone, and none leads
// out of the directory. The underscore is in no id.

internal import FirestoreWire

extension CheckedDatabase {
  private static let standardStore = "_default"

  /// The path of the store, in the directory of a server.
  func path(in directory: String) -> String { "\(projectPath(in: directory))/\(storeName)" }

  func projectPath(in directory: String) -> String { "\(directory)/\(name.projectID)" }

  var storeName: String {
    name.databaseID == DatabaseGrammar.standardDatabase ? Self.standardStore : name.databaseID
  }

  /// Whether an entry of a project's directory has the name of a store.
  static func isStoreName(_ name: String) -> Bool {
    name == standardStore || DatabaseGrammar.isEmulatorID(name)
  }
}
