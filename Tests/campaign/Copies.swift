// Uploads the same content under many names. All copies together must take only the space of one.

import FirebaseStorage
import Foundation

enum Copies: Campaign {
  static let name = "copies"
  static let summary = "uploads one content of 1 MiB under many names, and looks at the space that they take"
  static let amount = (option: "--copies", standard: Optional(10_000))

  private static let atOnce = 64

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let copies = options.amount ?? 100_000
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-copies-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    FirebaseApp.configure(name: "copies", options: FirebaseOptions(directory: folder))
    guard let app = FirebaseApp.app(name: "copies") else { throw CocoaError(.featureUnsupported) }
    let root = Storage.storage(app: app).reference()
    let content = noise(1 << 20, seed: options.seed)
    _ = try await root.child("first").putDataAsync(content)
    let one = spaceOfContents(folder)
    let start = DispatchTime.now().uptimeNanoseconds
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<copies {
        if number >= atOnce { try await group.next() }
        group.addTask { _ = try await root.child("copies/\(number)").putDataAsync(content) }
      }
      try await group.waitForAll()
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let all = spaceOfContents(folder)
    let last = try await root.child("copies/\(copies - 1)").data(maxSize: .max)
    let listed = try await root.child("copies").listAll().items.count
    await app.delete()
    var problems: [String] = []
    if all != one { problems.append("\(copies) copies take \(all) bytes, and one \(one)") }
    if last != content { problems.append("the last copy differs from the upload") }
    if listed != copies { problems.append("\(listed) of \(copies) copies are listed") }
    var result = CampaignResult(run: copies, failed: problems.count)
    result.details = [
      ("bytesOfOne", one), ("bytesOfAll", all), ("uploadsPerSecond", Int(Double(copies) / seconds)),
    ]
    result.firstFailure = problems.first
    return result
  }

  /// Generates incompressible data.
  private static func noise(_ count: Int, seed: UInt64) -> Data {
    var state = seed | 1
    var bytes = Data(capacity: count)
    while bytes.count < count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      withUnsafeBytes(of: state.byteSwapped) { bytes.append(contentsOf: $0.prefix(4)) }
    }
    return bytes
  }

  /// Returns the total size of the files in which the contents are stored.
  private static func spaceOfContents(_ folder: URL) -> Int {
    let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return files.filter { $0.contains("/blobs/") }.reduce(0) { total, name in
      let attributes = try? FileManager.default.attributesOfItem(
        atPath: folder.appendingPathComponent(name).path)
      return total + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
    }
  }
}
