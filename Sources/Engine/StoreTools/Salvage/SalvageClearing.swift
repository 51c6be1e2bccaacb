// Quarantines directory entries of another kind that have the name of a store file.

import ByteStore

/// Quarantines every directory, link, pipe, socket or device in the place of a store file.
struct SalvageClearing {
  /// The new names of the quarantined entries. Each name contains `number`.
  private(set) var quarantined: [String] = []
  /// The number in the quarantine names; nil if no entry had to be renamed.
  private(set) var number: UInt64?

  /// Renames the entries. `names` are the names in the directory. The renamed entries are not part of the
  /// store, so after a crash the next salvage only has fewer entries to rename.
  init(
    _ names: [String], _ directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) {
    let taken = try TakenName.all(among: names, in: directory, following: platform.fileSystem)
    let hasContents = names.contains(BlobName.folder) && !taken.contains { $0.name == BlobName.folder }
    let contents = hasContents ? try Self.takenContents(directory, platform) : nil
    guard !taken.isEmpty || contents?.names.isEmpty == false else { return }
    let number = SalvageSwitch.lastQuarantineNumber(names + (contents?.all ?? [])) + 1
    self.number = number
    quarantined = try Self.rename(taken.map(\.name), in: directory, number: number)
    guard let contents else { return }
    quarantined += try Self.rename(contents.names, in: contents.directory, number: number)
      .map { "\(BlobName.folder)/\($0)" }
  }

  private struct Contents {
    var directory: any OpenDirectory
    var all: [String]
    /// Names of content files that are taken by directory entries of another kind.
    var names: [String] = []
  }

  private static func takenContents(
    _ store: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) -> Contents? {
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory("\(store.path)/\(BlobName.folder)")
    } catch {
      // A dangling link.
      guard error.isMissingFile || error.isNotADirectory else { throw .system(error) }
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
    _ names: [String], in directory: any OpenDirectory, number: UInt64
  ) throws(ByteStoreError) -> [String] {
    guard !names.isEmpty else { return [] }
    return try system { () throws(SystemFailure) in
      let pairs = names.sorted().map { ($0, StoreFile.quarantined($0, number)) }
      for (name, newName) in pairs { try directory.rename(name, to: newName) }
      try directory.sync()
      return pairs.map(\.1)
    }
  }
}

extension SalvageReport {
  /// The report for a healthy store in which only names had to be cleared.
  func cleared(_ clearing: SalvageClearing, _ damage: [Damage]) -> SalvageReport {
    var report = self
    report.outcome = .cleared
    report.damage = damage
    report.quarantined = clearing.quarantined
    return report
  }
}
