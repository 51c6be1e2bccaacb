// What libFuzzer calls with each input, for the target that DUGOUT_FUZZ_TARGET names. Built by .ci/libfuzzer.

import Foundation
import Harness

private nonisolated(unsafe) var target = chosenTarget()

private func chosenTarget() -> any FuzzTarget {
  let name = ProcessInfo.processInfo.environment["DUGOUT_FUZZ_TARGET"] ?? ""
  guard let type = FuzzCampaign.targets.first(where: { $0.name == name }) else {
    let names = FuzzCampaign.targets.map { $0.name }.joined(separator: ", ")
    FileHandle.standardError.write(Data("DUGOUT_FUZZ_TARGET is to be one of \(names)\n".utf8))
    exit(2)
  }
  return type.init(seed: 1)
}

/// A finding ends the process, which is how libFuzzer learns of it; it keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do throws(FuzzFinding) {
    _ = try target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  } catch {
    fatalError("\(error)")
  }
  return 0
}

/// The inputs that are right, for libFuzzer to start from.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ argumentCount: UnsafeMutablePointer<CInt>?,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
  guard let folder = ProcessInfo.processInfo.environment["DUGOUT_CORPUS"] else { return 0 }
  try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  for (number, seed) in target.seeds.enumerated() {
    try? Data(seed).write(to: URL(fileURLWithPath: "\(folder)/seed-\(number)"))
  }
  return 0
}
