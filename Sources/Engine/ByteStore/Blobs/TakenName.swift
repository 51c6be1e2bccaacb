// Store file names that are taken: the entry of that name is a directory, a link, a pipe, a socket or a
// device.
//
// The store cannot create its file under such a name and must not delete the entry. An open for writing
// fails, a check reports the entry, and a salvage moves the entry into quarantine. A read-only open ignores
// the entry.

package struct TakenName: Equatable {
  /// The name in the store's directory.
  package var name: String
  package var kind: EntryKind
  /// The kind of entry that the store needs there.
  package var needed: EntryKind

  /// Returns the taken names among `names`, in the order of `names`. If `fileSystem` is given, a link is
  /// followed to find out whether it leads to the directory that the store needs.
  package static func all(
    among names: [String], in directory: any OpenDirectory, following fileSystem: (any FileSystem)? = nil
  ) throws(ByteStoreError) -> [TakenName] {
    var taken: [TakenName] = []
    for name in names {
      if name == BlobName.folder {
        guard let kind = try kind(of: name, in: directory), kind != .directory else { continue }
        // A link is accepted here because the folder may be on another device.
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
