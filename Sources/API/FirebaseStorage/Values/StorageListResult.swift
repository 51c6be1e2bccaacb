// A page of a list.

public import Foundation

/// What is directly in a folder, or a part of it.
open class StorageListResult: NSObject, @unchecked Sendable {
  // Unchecked only because the class is open: it never changes.

  /// Folders, in the order of their names' bytes.
  public let prefixes: [StorageReference]
  /// Objects, in the order of their names' bytes.
  public let items: [StorageReference]
  /// For the next page; nil on the last one.
  public let pageToken: String?

  init(prefixes: [StorageReference], items: [StorageReference], pageToken: String?) {
    self.prefixes = prefixes
    self.items = items
    self.pageToken = pageToken
  }
}
