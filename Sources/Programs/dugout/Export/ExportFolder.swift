// A new folder that gets its name when it is complete.
//
// Until then it has a temporary name beside the target. The folder is removed whatever ends the export, a
// signal or an error. If the process is killed, the next export to the target removes it. As for the
// temporary files of `ExportFile`, a lock on the folder shows whether it is in use.

import DocumentStore
import Foundation

final class ExportFolder {
  /// The folder's path at the end.
  let target: String
  private let part: String
  private let descriptor: Int32
  private var isFinished = false
  /// The folders inside, which are synced at the end.
  private var folders: [String] = []

  init(_ path: String) throws(DocumentStoreError) {
    target = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    var status = stat()
    if lstat(target, &status) == 0 {
      let names = try? FileManager.default.contentsOfDirectory(atPath: target)
      guard status.st_mode & S_IFMT == S_IFDIR, names?.isEmpty == true else {
        throw .invalidArgument("\(target) already exists. Name a new folder for the export.")
      }
    }
    Self.removeParts(of: target)
    part = ExportFile.newPart(of: target)
    guard mkdir(part, 0o777) == 0 else { throw ExportFile.failure(path) }
    descriptor = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ExportFile.failure(path) }
    // On a file system without locks, the folder of a killed export stays.
    _ = flock(descriptor, LOCK_EX | LOCK_NB)
  }

  deinit {
    if !isFinished { try? FileManager.default.removeItem(atPath: part) }
    close(descriptor)
  }

  /// The present path of a file in the folder.
  func path(of file: String) -> String { "\(part)/\(file)" }

  func makeFolder(_ name: String) throws(DocumentStoreError) {
    var path = part
    for name in name.split(separator: "/") {
      path += "/\(name)"
      guard mkdir(path, 0o777) == 0 else { throw ExportFile.failure(path) }
      folders.append(path)
    }
  }

  func write(_ bytes: [UInt8], to file: String) throws(DocumentStoreError) {
    do { try Data(bytes).write(to: URL(fileURLWithPath: path(of: file))) } catch {
      var evidence = StorageEvidence(message: "\(target) could not be written: \(error.localizedDescription)")
      evidence.file = target
      throw .failed(evidence)
    }
    try Self.sync(path(of: file))
  }

  static func sync(_ path: String) throws(DocumentStoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ExportFile.failure(path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw ExportFile.failure(path) }
  }

  /// Gives the folder its name, which replaces an empty folder.
  func finish() throws(DocumentStoreError) {
    for folder in folders { try Self.sync(folder) }
    guard fsync(descriptor) == 0, rename(part, target) == 0 else { throw ExportFile.failure(target) }
    isFinished = true
  }

  /// Removes the folders of exports that were killed.
  private static func removeParts(of target: String) {
    for path in ExportFile.parts(of: target) {
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}
