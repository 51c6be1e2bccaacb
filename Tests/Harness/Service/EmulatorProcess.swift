// Starts Firestore's emulator for a comparison.

import FirestoreService
import Foundation

/// An emulator that is running: one that the environment names, or a process of its own on the loopback
/// interface.
package final class EmulatorProcess: @unchecked Sendable {
  // The conformance is unchecked, because nothing is assigned after initialization, and `stop` is called by
  // the owner alone.

  package let address: String
  private let process: Process?

  private static let archives = [
    "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar",
    "/opt/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar",
  ]
  private static let secondsMax = 60.0

  private init(_ address: String, _ process: Process?) {
    self.address = address
    self.process = process
  }

  /// Returns an emulator, or the reason why there is none. The environment can name its address as
  /// `FIRESTORE_EMULATOR_HOST`, or its Java archive as `FIRESTORE_EMULATOR_JAR`.
  package static func start() async -> Result<EmulatorProcess, Absence> {
    let environment = ProcessInfo.processInfo.environment
    if let host = environment["FIRESTORE_EMULATOR_HOST"] { return .success(EmulatorProcess(host, nil)) }
    let archives = environment["FIRESTORE_EMULATOR_JAR"].map { [$0] } ?? archives
    guard let archive = archives.first(where: FileManager.default.fileExists) else {
      return .failure(
        Absence(
          "FIRESTORE_EMULATOR_HOST names no emulator of Firestore, and its Java archive is not installed"))
    }
    guard let java = executable("java", environment["PATH"] ?? "") else {
      return .failure(Absence("Firestore's emulator needs Java, which is not installed"))
    }
    guard let port = freePort() else { return .failure(Absence("No port of the loopback interface is free")) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: java)
    process.arguments = [
      "-Xmx800m", "-Duser.language=en", "-cp", archive,
      "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host", "127.0.0.1", "--port",
      "\(port)",
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { return .failure(Absence("Java does not start: \(error)")) }
    let emulator = EmulatorProcess("127.0.0.1:\(port)", process)
    guard await emulator.isReady() else {
      emulator.stop()
      return .failure(Absence("Firestore's emulator does not answer after \(Int(secondsMax)) s"))
    }
    return .success(emulator)
  }

  /// The reason why there is no emulator.
  package struct Absence: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
  }

  /// A port that was free a snapshot ago.
  private static func freePort() -> UInt16? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
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
    return status == 0 ? UInt16(bigEndian: address.sin_port) : nil
  }

  private static func executable(_ name: String, _ path: String) -> String? {
    path.split(separator: ":").map { "\($0)/\(name)" }
      .first(where: FileManager.default.isExecutableFile)
  }

  /// Asks until the emulator answers. There is no other sign that it is ready.
  private func isReady() async -> Bool {
    let end = Date().addingTimeInterval(Self.secondsMax)
    let peer = EmulatorPeer(address)
    while Date() < end, process?.isRunning ?? true {
      let reply = await peer.reply(to: .init(method: "GET", target: "/"))
      if reply.status == 200 { return true }
      try? await Task.sleep(for: .milliseconds(200))
    }
    return false
  }

  /// Ends the process, if this object has started it.
  package func stop() {
    guard let process, process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }
}
