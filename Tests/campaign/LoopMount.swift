// A file system of its own in a file, which can be shut down as a power loss would do it.

#if os(Linux)
import Foundation

struct LoopMount {
  enum Kind: String, CaseIterable {
    case ext4, xfs

    /// The smallest that both take; the file is sparse.
    var bytes: UInt64 {
      switch self {
      case .ext4: 64 << 20
      case .xfs: 320 << 20
      }
    }

    var makeArguments: [String] {
      switch self {
      case .ext4: ["mkfs.ext4", "-q", "-F"]
      case .xfs: ["mkfs.xfs", "-q", "-f"]
      }
    }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let kind: Kind
  let image: String
  let path: String

  /// What files gave up goes back to whatever holds the image.
  private let discards: Bool

  /// Makes the file system and mounts it; throws if the machine or the user's rights do not allow that.
  init(_ kind: Kind, in folder: URL, discards: Bool = false) throws {
    self.kind = kind
    self.discards = discards
    image = folder.appendingPathComponent("\(kind.rawValue).image").path
    path = folder.appendingPathComponent(kind.rawValue).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard FileManager.default.createFile(atPath: image, contents: nil),
      truncate(image, off_t(kind.bytes)) == 0
    else { throw Failure(description: "no file of \(kind.bytes) bytes can be made") }
    try Self.run(kind.makeArguments + [image])
    try mount()
  }

  func mount() throws {
    try Self.run(["mount", "-o", discards ? "loop,discard" : "loop", "-t", kind.rawValue, image, path])
  }

  /// What is not on the image yet is lost.
  func unmount() throws {
    // Whoever was killed a moment ago may still be on its way out.
    for attempt in 0... {
      do { return try Self.run(["umount", path]) } catch {
        guard attempt < 100 else { throw error }
        usleep(20_000)
      }
    }
  }

  /// From now on nothing reaches the image, neither data nor what the journal holds back.
  func shutDown() throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { throw Failure(description: "\(path) cannot be opened: error \(errno)") }
    defer { close(descriptor) }
    // The request of all file systems that can do this, and its mode without a flush of the journal.
    let request: UInt = 0x8004_587D
    var mode: UInt32 = 2
    guard ioctl(descriptor, request, &mode) == 0 else {
      throw Failure(description: "\(kind.rawValue) cannot be shut down: error \(errno)")
    }
  }

  private static func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(words.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
  }
}
#endif
