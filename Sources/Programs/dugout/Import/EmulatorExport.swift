// A folder with the exports of Firebase's emulators, as `firebase emulators:start --import` reads it.
//
//   firebase-export-metadata.json     {"firestore": {"path": …, "metadata_file": …}, "auth": {…}, …}
//   firestore_export                  the export of Firestore, at the path in the metadata
//
// A new export is written beside the earlier one. The metadata is replaced in one step, and only then the
// earlier export is removed. The exports of other emulators stay.

import DocumentStore
import Foundation

struct EmulatorExport {
  static let metadataName = "firebase-export-metadata.json"
  /// An export has one of these names, and the next one the other.
  private static let names = ["firestore_export", "firestore_export_2"]

  let folder: String
  private let metadata: JSON

  /// Reads the metadata of a folder that is missing or empty, or that has exports.
  init(_ path: String) throws {
    folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    var status = stat()
    guard lstat(folder, &status) == 0 else {
      metadata = .object([])
      return
    }
    let file = "\(folder)/\(Self.metadataName)"
    guard let data = FileManager.default.contents(atPath: file) else {
      let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
      guard status.st_mode & S_IFMT == S_IFDIR, names?.isEmpty == true else {
        throw CommandFailure(
          code: .usage,
          message: "\(folder) exists, and is not an export of Firebase's emulators, which has the file "
            + "\(Self.metadataName). Name a new folder.")
      }
      metadata = .object([])
      return
    }
    guard let object = Self.object(data) else {
      throw CommandFailure(code: .badData, message: "\(file) is not an object of JSON.")
    }
    metadata = object
  }

  /// The folder with the export of Firestore, below a folder with exports of several emulators. Nil for other
  /// folders, and if there is none.
  static func firestoreFolder(in path: String) -> String? {
    let folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard let data = FileManager.default.contents(atPath: "\(folder)/\(metadataName)"),
      let name = object(data).flatMap(firestoreName)
    else { return nil }
    return "\(folder)/\(name)"
  }

  /// The name in the metadata, unless it leads out of the folder.
  private static func firestoreName(in metadata: JSON) -> String? {
    guard let name = metadata["firestore"]?["path"]?.text, !name.hasPrefix("/"),
      !name.split(separator: "/").contains("..")
    else { return nil }
    return name
  }

  private static func object(_ data: Data) -> JSON? {
    guard let object = try? JSONReader.read(data), object.members != nil else { return nil }
    return object
  }

  /// Replaces the export of Firestore by the documents of a store.
  func replace(by store: DocumentStore, project: String) throws -> DocumentExport.Outcome {
    let earlier = Self.firestoreName(in: metadata)
    let name = Self.names.first { $0 != earlier } ?? Self.names[0]
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw ExportFile.failure(folder) }
    try removeExport(name)
    let outcome = try ProgressLine.during { line in
      try DocumentExport(store, nil, line: line).write(
        to: FirestoreFolder("\(folder)/\(name)", project: project))
    }
    var metadata = metadata
    if metadata["version"] == nil { metadata["version"] = .string(Version.number) }
    metadata["firestore"] = [
      "version": Version.number, "path": name, "metadata_file": "\(name)/\(name).overall_export_metadata",
    ]
    try write(metadata)
    if let earlier, earlier != name { try? removeExport(earlier) }
    return outcome
  }

  private func write(_ metadata: JSON) throws {
    let file = "\(folder)/\(Self.metadataName)"
    let part = ExportFile.newPart(of: file)
    do { try Data((metadata.description + "\n").utf8).write(to: URL(fileURLWithPath: part)) } catch {
      unlink(part)
      throw error
    }
    try ExportFolder.sync(part)
    guard rename(part, file) == 0 else { throw ExportFile.failure(file) }
    try ExportFolder.sync(folder)
  }

  /// Removes an export that the metadata does not name, if it has nothing but an export's files.
  private func removeExport(_ name: String) throws {
    let path = "\(folder)/\(name)"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return }
    guard names.allSatisfy({ $0 == "all_namespaces" || $0.hasSuffix(".overall_export_metadata") }) else {
      throw CommandFailure(
        code: .unavailable, message: "\(path) has other files than an export. Move it away, and export again."
      )
    }
    try FileManager.default.removeItem(atPath: path)
  }
}
