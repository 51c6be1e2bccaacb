// A file system in an image file. A shutdown of this file system has the effect of a power loss.

#if os(Linux)
import Foundation

struct LoopMount {
  enum Kind: String, CaseIterable {
    case ext4, xfs

    /// The size of the image, which is the smallest size that the file system accepts. The image is a sparse
    /// file.
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

  /// Whether the file system that contains the image has less space than the size of the image. If so, blocks
  /// that are freed in the image are returned to that file system.
  private let mayRunFull: Bool

  /// Creates and mounts the file system. Throws if the machine or the user's permissions do not allow that.
  init(_ kind: Kind, in folder: URL, mayRunFull: Bool = false) throws {
    self.kind = kind
    self.mayRunFull = mayRunFull
    image = folder.appendingPathComponent("\(kind.rawValue).image").path
    path = folder.appendingPathComponent(kind.rawValue).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard FileManager.default.createFile(atPath: image, contents: nil),
      truncate(image, off_t(kind.bytes)) == 0
    else { throw Failure(description: "no file of \(kind.bytes) bytes can be created") }
    // With blocks of one page, all requests to the device are for whole pages, which `limitRequestsToOnePage`
    // requires.
    try Self.run(kind.makeArguments + (mayRunFull ? ["-b", "4096"] : []) + [image])
    if mayRunFull { try allocateMetadata() }
    try mount()
  }

  /// Allocates the blocks in the image for the file system's own metadata. If there were no space when such a
  /// block is written back from the journal, no error would be reported and synced data would be lost.
  private func allocateMetadata() throws {
    let printed = try Self.run(["dumpe2fs", image])
    let words = printed.split(whereSeparator: \.isNewline).map { $0.split(separator: ":", maxSplits: 1) }
    func values(_ name: String) -> [Substring] {
      words.filter { $0.count == 2 && $0[0].trimmingCharacters(in: .whitespaces) == name }.map { $0[1] }
    }
    guard let size = values("Block size").first.flatMap({ Int($0.trimmingCharacters(in: .whitespaces)) })
    else {
      throw Failure(description: "dumpe2fs does not report the block size")
    }
    var free = IndexSet()
    for range in values("Free blocks").flatMap({ $0.split(separator: ",") }) {
      let ends = range.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
      if ends.count == 2, ends[0] <= ends[1] { free.insert(integersIn: ends[0]...ends[1]) }
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: image))
    defer { try? file.close() }
    for block in 0..<Int(kind.bytes) / size where !free.contains(block) {
      try file.seek(toOffset: UInt64(block * size))
      guard let bytes = try file.read(upToCount: size) else { continue }
      try file.seek(toOffset: UInt64(block * size))
      try file.write(contentsOf: bytes)
    }
  }

  func mount() throws {
    try Self.run(["mount", "-o", mayRunFull ? "loop,discard" : "loop", "-t", kind.rawValue, image, path])
    if mayRunFull { try limitRequestsToOnePage() }
  }

  /// Limits each request to the device to a single page, which either fits or fails. If a loop device has
  /// space for only a part of a longer request, it writes that part and reports success, so synced data is
  /// lost.
  private func limitRequestsToOnePage() throws {
    let mounts = try String(contentsOfFile: "/proc/mounts", encoding: .utf8).split(separator: "\n")
    let words = mounts.map { $0.split(separator: " ") }
    let mount = words.last { $0.count > 1 && $0[1] == path }
    guard let device = mount?[0].split(separator: "/").last else {
      throw Failure(description: "\(path) is not among the mounts")
    }
    let limit = URL(fileURLWithPath: "/sys/block/\(device)/queue/max_sectors_kb")
    do { try Data("4".utf8).write(to: limit) } catch {
      throw Failure(description: "the device of \(path) takes no limit of its requests: \(error)")
    }
  }

  /// Unmounts the file system. Data that can no longer be written to the image is lost.
  func unmount() throws {
    // A process that was just killed may still be exiting and may keep the file system busy, so a failure is
    // retried.
    for attempt in 0... {
      do {
        try Self.run(["umount", path])
        return
      } catch {
        guard attempt < 100 else { throw error }
        usleep(20_000)
      }
    }
  }

  /// Stops all writes to the image, including those of the journal.
  func shutDown() throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { throw Failure(description: "\(path) cannot be opened: error \(errno)") }
    defer { close(descriptor) }
    // All file systems that support a shutdown use this ioctl request. The mode is the one that does not
    // flush the journal.
    let request: UInt = 0x8004_587D
    var mode: UInt32 = 2
    guard ioctl(descriptor, request, &mode) == 0 else {
      throw Failure(description: "\(kind.rawValue) cannot be shut down: error \(errno)")
    }
  }

  /// Runs a command and returns its output.
  @discardableResult
  private static func run(_ words: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(words.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
    return String(decoding: printed, as: UTF8.self)
  }
}
#endif
