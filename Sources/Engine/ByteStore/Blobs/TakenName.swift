// Names of a store that something else has: a directory, a link, a pipe, a socket or a device.
//
// A file cannot get such a name, and what is there is not the store's to remove. A writer that opens the store refuses to go
// on, a check reports it, and a salvage sets it aside. For one that only reads it stands in no way.

package struct TakenName: Equatable {
  /// In the store's directory.
  package var name: String
  package var kind: EntryKind
  /// The file that a store has under that name.
  package var needed: EntryKind

  /// Those among `names`, in their order. With a file system, links are followed that should lead to a directory.
  package static func all(
    among names: [String], in directory: any OpenDirectory, following fileSystem: (any FileSystem)? = nil
  ) throws(ByteStoreError) -> [TakenName] {
    var taken: [TakenName] = []
    for name in names {
      if name == BlobName.folder {
        guard let kind = try kind(of: name, in: directory), kind != .directory else { continue }
        // A link may lead to a folder on another device.
        if kind == .link, try leadsToDirectory("\(directory.path)/\(name)", fileSystem) { continue }
        taken.append(TakenName(name: name, kind: kind, needed: .directory))
      } else if StoreFile.isStoreName(name) {
        guard let kind = try kind(of: name, in: directory), kind != .file else { continue }
        taken.append(TakenName(name: name, kind: kind, needed: .file))
      }
    }
    return taken
  }

  private static func leadsToDirectory(
    _ path: String, _ fileSystem: (any FileSystem)?
  ) throws(ByteStoreError) -> Bool {
    guard let fileSystem else { return true }
    do throws(SystemFailure) { _ = try fileSystem.openDirectory(path) } catch {
      guard error.isMissingFile || error.isNoDirectory else { throw .system(error) }
      return false
    }
    return true
  }

  private static func kind(
    of name: String, in directory: any OpenDirectory
  ) throws(ByteStoreError) -> EntryKind? {
    do throws(SystemFailure) { return try directory.kind(of: name) } catch { throw .system(error) }
  }

  package func error(in directory: any OpenDirectory) -> ByteStoreError {
    .nameTaken(path: "\(directory.path)/\(name)", by: kind, needed: needed)
  }

  package func damage(in directory: any OpenDirectory) -> Damage {
    Damage(
      file: "\(directory.path)/\(name)", offset: 0, expected: "\(needed) of the store, or nothing",
      found: "\(kind)")
  }
}
