// Stores of contents: ours, and files as a careful program writes them.

@_spi(Measure) import DocumentStore
import Foundation

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

protocol BlobEngine: Sendable {
  static var name: String { get }
  init(_ directory: URL) throws
  /// Returns once the content is durable under its name.
  func put(_ bytes: [UInt8], _ name: String) throws
  func content(_ name: String) throws -> [UInt8]?
  func close() throws
}

struct DugoutBlobs: BlobEngine {
  static let name = "dugout"
  private let store: DocumentStore
  private let objects: MeasuredObjectStore

  init(_ directory: URL) throws {
    store = try DocumentStore.open(directory.appendingPathComponent("store").path)
    objects = MeasuredObjectStore(store)
  }

  func put(_ bytes: [UInt8], _ name: String) throws { try objects.put(bytes, name) }

  func content(_ name: String) throws -> [UInt8]? { try objects.content(name) }

  func close() throws { try store.close() }
}

/// Written aside, synced, renamed, and the directory synced: a file each, without a digest.
struct FileBlobs: BlobEngine {
  static let name = "files"
  static let settings = """
    A file for each content: written aside, synced with fsync, renamed, and its directory synced; neither a digest nor a \
    checksum. Read whole, with one read.
    """
  private let directory: String

  init(_ directory: URL) throws { self.directory = directory.path }

  func put(_ bytes: [UInt8], _ name: String) throws {
    let path = "\(directory)/\(name)"
    let file = open("\(path).new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BenchmarkFailure("\(path) cannot be made") }
    var done = 0
    while done < bytes.count {
      let taken = bytes.withUnsafeBytes { write(file, $0.baseAddress! + done, $0.count - done) }
      guard taken > 0 else { throw BenchmarkFailure("\(path) cannot be written") }
      done += taken
    }
    guard fsync(file) == 0 else { throw BenchmarkFailure("\(path) cannot be synced") }
    close(file)
    guard rename("\(path).new", path) == 0 else { throw BenchmarkFailure("\(path) cannot be renamed") }
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0, fsync(folder) == 0 else { throw BenchmarkFailure("\(directory) cannot be synced") }
    close(folder)
  }

  func content(_ name: String) throws -> [UInt8]? {
    let file = open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    fstat(file, &status)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
    return got == bytes.count ? bytes : nil
  }

  func close() throws {}

  private func close(_ descriptor: Int32) {
    #if canImport(Darwin)
    _ = Darwin.close(descriptor)
    #else
    _ = Glibc.close(descriptor)
    #endif
  }
}
