// Uploads one large file through the storage API and measures memory.

import FirebaseStorage
import Foundation

enum Upload: Campaign {
  static let name = "upload"
  static let summary = "uploads a large file and reads it back, and watches the memory that the process takes"
  static let amount = (option: "--mebibytes", standard: Optional(512))

  private static let residentBytesMax = 64 << 20

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let mebibytes = options.amount ?? 5 << 10
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-upload-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appendingPathComponent("source.bin")
    try writeSparse(source, mebibytes, seed: options.seed)
    FirebaseApp.configure(
      name: "upload", options: FirebaseOptions(directory: folder.appendingPathComponent("data")))
    guard let app = FirebaseApp.app(name: "upload") else { throw CocoaError(.featureUnsupported) }
    let peak = PeakMemory()
    let start = DispatchTime.now().uptimeNanoseconds
    let reference = Storage.storage(app: app).reference().child("large")
    let metadata = try await reference.putFileAsync(from: source)
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let copy = folder.appendingPathComponent("copy.bin")
    _ = try await reference.writeAsync(toFile: copy)
    let resident = peak.stop()
    await app.delete()
    var problems: [String] = []
    if metadata.size != Int64(mebibytes) << 20 { problems.append("the object has \(metadata.size) bytes") }
    if !isSame(source, copy) { problems.append("the downloaded bytes differ from the upload") }
    if resident > residentBytesMax { problems.append("\(resident >> 20) MiB were resident") }
    var result = CampaignResult(run: 1, failed: problems.isEmpty ? 0 : 1)
    result.details = [
      ("mebibytes", mebibytes), ("residentMebibytes", resident >> 20),
      ("mebibytesPerSecond", Int(Double(mebibytes) / seconds)),
    ]
    result.firstFailure = problems.first
    return result
  }

  /// Writes a sparse file, which has one incompressible page in each mebibyte and is otherwise a hole.
  private static func writeSparse(_ url: URL, _ mebibytes: Int, seed: UInt64) throws {
    _ = FileManager.default.createFile(atPath: url.path, contents: nil)
    let file = try FileHandle(forWritingTo: url)
    defer { try? file.close() }
    var state = seed | 1
    for place in 0..<mebibytes {
      var page = Data(capacity: 4096)
      for _ in 0..<512 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        withUnsafeBytes(of: state) { page.append(contentsOf: $0) }
      }
      try file.seek(toOffset: UInt64(place) << 20)
      try file.write(contentsOf: page)
    }
    try file.truncate(atOffset: UInt64(mebibytes) << 20)
  }

  private static func isSame(_ left: URL, _ right: URL) -> Bool {
    guard let left = try? FileHandle(forReadingFrom: left), let right = try? FileHandle(forReadingFrom: right)
    else {
      return false
    }
    while true {
      guard let a = try? left.read(upToCount: 1 << 20), let b = try? right.read(upToCount: 1 << 20) else {
        return (try? left.read(upToCount: 1)) == nil && (try? right.read(upToCount: 1)) == nil
      }
      guard a == b else { return false }
      if a.isEmpty { return true }
    }
  }
}

/// The peak of resident memory, sampled a hundred times a second.
private final class PeakMemory: Sendable {
  private let queue = DispatchQueue(label: "dugout.campaign.memory")
  private let peak = Peak()

  private final class Peak: @unchecked Sendable {
    // Accessed only on the queue.
    var bytes = 0
    var isOver = false
  }

  init() { look() }

  private func look() {
    queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
      peak.bytes = max(peak.bytes, ProcessMeasures.residentBytes)
      if !peak.isOver { look() }
    }
  }

  func stop() -> Int {
    queue.sync {
      peak.isOver = true
      return peak.bytes
    }
  }
}
