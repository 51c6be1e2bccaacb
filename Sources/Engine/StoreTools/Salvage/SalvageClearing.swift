// Setting aside what has the name of a file of the store, and is none.

import ByteStore

/// Entries that were in the way: a directory, a link, a pipe, a socket or a device, each in the place of a file.
struct SalvageClearing {
  /// Under the names that they have now, which have this number.
  private(set) var setAside: [String] = []
  /// Nil if there was nothing to do.
  private(set) var number: UInt64?

  /// `names` are those in the directory. What is renamed here is no part of the store, so that a crash on the way leaves
  /// less to do, and nothing else.
  init(
    _ names: [String], _ directory: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) {
    let taken = try TakenName.all(among: names, in: directory, following: platform.fileSystem)
    let hasContents = names.contains(BlobName.folder) && !taken.contains { $0.name == BlobName.folder }
    let contents = hasContents ? try Self.takenContents(directory, platform) : nil
    guard !taken.isEmpty || contents?.names.isEmpty == false else { return }
    let number = SalvageSwitch.lastSetAside(names + (contents?.all ?? [])) + 1
    self.number = number
    setAside = try Self.rename(taken.map(\.name), in: directory, number)
    guard let contents else { return }
    setAside += try Self.rename(contents.names, in: contents.directory, number)
      .map { "\(BlobName.folder)/\($0)" }
  }

  private struct Contents {
    var directory: any OpenDirectory
    var all: [String]
    /// Those with a content's name that are no files.
    var names: [String] = []
  }

  private static func takenContents(
    _ store: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) -> Contents? {
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory("\(store.path)/\(BlobName.folder)")
    } catch {
      // A link that leads nowhere.
      guard error.isMissingFile || error.isNoDirectory else { throw .system(error) }
      return nil
    }
    return try system { () throws(SystemFailure) in
      var contents = Contents(directory: directory, all: try directory.names().sorted())
      for name in contents.all where BlobName(name) != nil {
        if let kind = try directory.kind(of: name), kind != .file { contents.names.append(name) }
      }
      return contents
    }
  }

  private static func rename(
    _ names: [String], in directory: any OpenDirectory, _ number: UInt64
  ) throws(ByteStoreError) -> [String] {
    guard !names.isEmpty else { return [] }
    return try system { () throws(SystemFailure) in
      let pairs = names.sorted().map { ($0, StoreFile.setAside($0, number)) }
      for (name, newName) in pairs { try directory.rename(name, to: newName) }
      try directory.sync()
      return pairs.map(\.1)
    }
  }
}

extension SalvageReport {
  /// The report for a store that was healthy but for names that something else had.
  func cleared(_ clearing: SalvageClearing, _ damage: [Damage]) -> SalvageReport {
    var report = self
    report.outcome = .cleared
    report.damage = damage
    report.setAside = clearing.setAside
    return report
  }
}
