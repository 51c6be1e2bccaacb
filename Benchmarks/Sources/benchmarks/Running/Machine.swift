// The machine of a run.

import Foundation

struct Machine: Sendable {
  /// The facts by name. `RunFacts.machineOrder` has the order of the names.
  private(set) var facts: [String: String] = [:]

  init(_ directory: String) {
    let cpu = Self.value("model name", in: "/proc/cpuinfo") ?? "unknown"
    facts["Processor"] = "\(cpu), \(ProcessInfo.processInfo.activeProcessorCount) cores"
    facts["Memory"] = "\(ProcessInfo.processInfo.physicalMemory >> 30) GB"
    facts["System"] = Self.system
    facts["Disk"] = Self.disk(under: directory)
    facts["Load before the run"] = Self.load
    facts["Dugout"] = Checkout.commit
    facts["Swift"] = Checkout.swift
    #if SQLITE
    facts["SQLite"] = SQLiteDatabase.version
    #endif
    #if LMDB
    facts["LMDB"] = LMDBStore.version
    #endif
    for (name, version) in Self.libraries { facts[name] = version }
  }

  static var isOptimised: Bool {
    #if DEBUG
    false
    #else
    true
    #endif
  }

  /// The versions of the peers whose interface does not return one, from the names of the library files.
  private static var libraries: [(name: String, text: String)] {
    let maps = (try? Self.systemFile("/proc/self/maps")) ?? ""
    let paths = Set(maps.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
    let files = [("RocksDB", "librocksdb.so"), ("LevelDB", "libleveldb.so")]
    return files.compactMap { name, file in
      paths.first { $0.contains("/\(file)") }.map { path in
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().lastPathComponent
        let version = file.firstRange(of: ".so.").map { String(file[$0.upperBound...]) }
        return (name, version ?? file)
      }
    }
  }

  /// Reads a file of /proc. The length of such a file is not known in advance, and each read returns only a
  /// part.
  static func systemFile(_ path: String) throws -> String {
    guard let file = FileHandle(forReadingAtPath: path) else { throw BenchmarkFailure("\(path) is not here") }
    var data = Data()
    while let part = try file.read(upToCount: 1 << 16), !part.isEmpty { data += part }
    return String(decoding: data, as: UTF8.self)
  }

  private static var load: String {
    guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8) else { return "unknown" }
    return text.split(separator: " ").prefix(3).joined(separator: " ")
  }

  private static var system: String {
    var names = utsname()
    uname(&names)
    func text<Value>(_ value: Value) -> String {
      withUnsafeBytes(of: value) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
  }

  /// Returns the mount that contains the directory.
  private static func disk(under directory: String) -> String {
    let path = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    let mounts = (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8)) ?? ""
    var best: [String]?
    for line in mounts.split(separator: "\n") {
      let parts = line.split(separator: " ").map(String.init)
      guard parts.count > 3 else { continue }
      let holds = parts[1] == "/" || path == parts[1] || path.hasPrefix(parts[1] + "/")
      if holds, parts[1].count >= best?[1].count ?? 0 { best = parts }
    }
    guard let best else { return "unknown" }
    return "\(best[0]), \(best[2])"
  }

  private static func value(_ name: String, in file: String) -> String? {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
    return text.split(separator: "\n").first { $0.hasPrefix(name) }?
      .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
