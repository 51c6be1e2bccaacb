// A bucket for one test: a named app in a folder that is deleted afterwards.

import FirebaseStorage
import Foundation
import Testing

final class TestBucket {
  let folder: URL
  private(set) var app: FirebaseApp

  var storage: Storage { Storage.storage(app: app) }
  var root: StorageReference { storage.reference() }

  init() {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-storage-\(UUID().uuidString)")
    app = Self.configure(folder)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func configure(_ folder: URL) -> FirebaseApp {
    let name = "test-" + folder.lastPathComponent.filter { $0.isLetter || $0.isNumber }
    FirebaseApp.configure(
      name: name, options: FirebaseOptions(directory: folder.appendingPathComponent("data")))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("the app was just made") }
    Storage.storage(app: app).callbackQueue = DispatchQueue(label: "dugout.test.callbacks")
    return app
  }

  /// Closes the app and reopens it in the same folder.
  func restart() async {
    await close()
    app = Self.configure(folder)
  }

  func close() async { await app.delete() }

  /// Creates a file next to the store.
  func file(_ name: String, _ bytes: Data) throws -> URL {
    let url = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try bytes.write(to: url)
    return url
  }

  /// The names of the files in the blobs folder.
  var blobFiles: [String] {
    let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return files.filter { $0.contains("/blobs/") }.map { String($0.split(separator: "/").last ?? "") }
      .sorted()
  }
}

/// Returns the `StorageError` that `body` throws.
func storageError(
  _ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> StorageError {
  do {
    try await body()
  } catch {
    return try #require(error as? StorageError, sourceLocation: sourceLocation)
  }
  throw NothingThrown()
}

struct NothingThrown: Error {}

/// Returns incompressible bytes that depend only on the seed. Each mebibyte differs from the mebibyte before
/// it.
func noise(_ count: Int, seed: UInt64 = 1) -> Data {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var block = Data(capacity: min(count, 1 << 20) + 8)
  while block.count < min(count, 1 << 20) {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    withUnsafeBytes(of: state) { block.append(contentsOf: $0) }
  }
  var data = Data(capacity: count + block.count)
  var number: UInt64 = 0
  while data.count < count {
    number += 1
    withUnsafeBytes(of: number) { bytes in
      if block.count >= 8 { block.replaceSubrange(0..<8, with: bytes) }
    }
    data.append(block)
  }
  return data.prefix(count)
}
