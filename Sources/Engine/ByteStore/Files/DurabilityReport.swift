// How durable a sync is on a given file system (docs/reliability.md, C1).

/// The file system of a directory, and how far its syncs reach.
package struct DurabilityReport: Hashable, Sendable {
  package enum Medium: String, CaseIterable, Sendable {
    /// A local file system on a device.
    case device
    /// A file system in memory: it survives the process but not the machine.
    case memory
    /// A layered or unknown file system: FUSE, an overlay, a shared folder of the host.
    case unknown
    /// A file system on another machine. A writer refuses it.
    case network
  }

  package enum Sync: String, Sendable {
    case fdatasync
    case fullFlush = "F_FULLFSYNC"
    /// Darwin's `fsync`, used if the file system does not support a full flush. It leaves bytes in the
    /// device's cache.
    case fsync
  }

  /// The system's name for the file system, or its number.
  package var fileSystem: String
  package var medium: Medium
  package var sync: Sync

  package init(fileSystem: String, medium: Medium, sync: Sync) {
    self.fileSystem = fileSystem
    self.medium = medium
    self.sync = sync
  }

  package enum Verdict: String, Sendable {
    case durable
    case notDurable = "not durable"
    case unknown
  }

  /// Whether synced bytes survive a power loss, provided that the device honours flushes.
  package var verdict: Verdict {
    switch medium {
    case .device: sync == .fsync ? .notDurable : .durable
    case .memory: .notDurable
    case .unknown, .network: .unknown
    }
  }
}

extension DurabilityReport: CustomStringConvertible {
  package var description: String {
    switch (medium, sync) {
    case (.device, .fsync):
      "\(fileSystem), \(sync.rawValue): a power loss may lose the data in the device's cache"
    case (.device, _): "\(fileSystem), \(sync.rawValue): synced data survives a power loss"
    case (.memory, _): "\(fileSystem), in memory: a power loss or a restart loses everything"
    case (.unknown, _): "\(fileSystem), \(sync.rawValue): durability depends on the layer below"
    case (.network, _): "\(fileSystem), on another machine: nothing is guaranteed"
    }
  }
}

// MARK: Linux

extension DurabilityReport {
  /// Maps the file system type number that `fstatfs` returns to a report.
  package static func linux(type: UInt32) -> DurabilityReport {
    let known = linuxTypes[type]
    let name = known?.name ?? "file system 0x" + String(type, radix: 16)
    return DurabilityReport(fileSystem: name, medium: known?.medium ?? .unknown, sync: .fdatasync)
  }

  /// The numbers of statfs(2) and linux/magic.h.
  private static let linuxTypes: [UInt32: (name: String, medium: Medium)] = [
    0x0000_EF53: ("ext4", .device), 0x5846_5342: ("xfs", .device), 0x9123_683E: ("btrfs", .device),
    0xF2F5_2010: ("f2fs", .device), 0x2FC1_2FC1: ("zfs", .device), 0xCA45_1A4E: ("bcachefs", .device),
    0x3153_464A: ("jfs", .device), 0x5265_4973: ("reiserfs", .device), 0x0000_3434: ("nilfs2", .device),
    0x2405_1905: ("ubifs", .device), 0x0000_72B6: ("jffs2", .device), 0x0000_4D44: ("vfat", .device),
    0x2011_BAB0: ("exfat", .device), 0x7366_746E: ("ntfs3", .device),
    0x0102_1994: ("tmpfs", .memory), 0x8584_58F6: ("ramfs", .memory), 0x9584_58F6: ("hugetlbfs", .memory),
    // The underlying file system can be any of the others, and an overlay may be mounted with syncs disabled.
    0x6573_5546: ("fuse", .unknown), 0x794C_7630: ("overlay", .unknown), 0xF15F: ("ecryptfs", .unknown),
    // Folders that the host shares with this virtual machine.
    0x0102_1997: ("9p", .unknown), 0x786F_4256: ("vboxsf", .unknown),
    0x0000_6969: ("nfs", .network), 0x0000_517B: ("smb", .network), 0xFE53_4D42: ("smb2", .network),
    0xFF53_4D42: ("cifs", .network), 0x5346_414F: ("afs", .network), 0x6B41_4653: ("kafs", .network),
    0x7375_7245: ("coda", .network), 0x0000_564C: ("ncpfs", .network), 0x00C3_6400: ("ceph", .network),
    0x0BD0_0BD0: ("lustre", .network), 0x4750_4653: ("gpfs", .network), 0x1983_0326: ("beegfs", .network),
  ]
}

// MARK: Darwin

extension DurabilityReport {
  /// Maps the result of `fstatfs` to a report. `hasFullFlush` is true if a full flush of the directory
  /// succeeded.
  package static func darwin(typeName: String, isLocal: Bool, hasFullFlush: Bool) -> DurabilityReport {
    DurabilityReport(
      fileSystem: typeName, medium: darwinMedium(typeName, isLocal),
      sync: hasFullFlush ? .fullFlush : .fsync)
  }

  private static func darwinMedium(_ typeName: String, _ isLocal: Bool) -> Medium {
    guard isLocal else { return .network }
    return switch typeName {
    case "apfs", "hfs", "exfat", "msdos": .device
    case "tmpfs": .memory
    default: .unknown
    }
  }
}
