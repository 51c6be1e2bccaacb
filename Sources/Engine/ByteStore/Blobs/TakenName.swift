// Names of store files that belong to a directory, a link, a pipe, a socket or a device instead.
//
// The store can create no file of such a name and must not delete the entry. Opening the store for
// writing fails, a check reports the entry, and a salvage puts it into quarantine. A reader ignores it.

package struct TakenName: Equatable {
  /// The name in the store's directory.
  package var name: String
  package var kind: EntryKind
  /// The kind of entry that the store needs there.
  package var needed: EntryKind

  /// The taken names among `names`, in their order. If `fileSystem` is given, a link that should lead to
  /// a directory is followed.
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
      guard error.isMissingFile || error.isNotADirectory else { throw .system(error) }
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
