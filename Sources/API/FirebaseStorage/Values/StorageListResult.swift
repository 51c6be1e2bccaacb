// A page of a folder's contents.

public import Foundation

/// The objects and folders directly in a folder, or one page of them.
open class StorageListResult: NSObject, @unchecked Sendable {
  // The conformance is unchecked only because the class is open. Its properties never change.

  /// The folders, sorted by the bytes of their names.
  public let prefixes: [StorageReference]
  /// The objects, sorted by the bytes of their names.
  public let items: [StorageReference]
  /// The token of the next page; nil on the last page.
  public let pageToken: String?

  init(prefixes: [StorageReference], items: [StorageReference], pageToken: String?) {
    self.prefixes = prefixes
    self.items = items
    self.pageToken = pageToken
  }
}
