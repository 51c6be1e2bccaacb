// W12: the allocated disk blocks of a loaded and compacted store. SQLite and LMDB are compacted into a
// copy (VACUUM INTO, MDB_CP_COMPACT), and the copy is measured. Dugout's recycled log file is not
// counted, because it is space for future commits.

import BenchmarkReports
import Foundation

enum DiskSize: Workload {
  static let name = "W12"
  static let title = "bytes on disk after load and compaction"
  static let runsOnce = true
  static var engines: [any Engine] { Engines.all.map { SizeRound(type: $0) } }
  static let goals = [
    Goal.ratio("bytes on disk after load and compaction", "bytes", 0.75).summarized(as: "bytes on disk")
  ]
}

private struct SizeRound: Engine {
  var type: any DocumentEngine.Type
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let store = try context.stores.directory(of: type)
    let engine = try type.init(store, EngineSetup(cacheBytes: context.options.cacheBytes))
    let isCopied = try engine.compactedCopy(to: directory)
    try engine.close()
    let bytes = try DirectorySize.bytes(in: isCopied ? directory : store) { $0 != "SPARE" }
    return ["bytes": Double(bytes), "bytes_per_document": Double(bytes) / Double(context.options.documents)]
  }
}

enum DirectorySize {
  static func files(in directory: URL) throws -> [URL] {
    guard let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil) else {
      throw BenchmarkFailure("\(directory.path) cannot be listed")
    }
    return files.compactMap { $0 as? URL }
  }

  static func bytes(in directory: URL, _ counts: (String) -> Bool) throws -> Int {
    try files(in: directory).filter { counts($0.lastPathComponent) }.reduce(0) { sum, file in
      var status = stat()
      guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return sum }
      return sum + Int(status.st_blocks) * 512
    }
  }
}
