// The entry point that libFuzzer calls with each input, for the target named by DUGOUT_FUZZ_TARGET. Built
// by .ci/libfuzzer.

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

/// Runs the target on an input. A finding ends the process, so that libFuzzer reports it and keeps the
/// input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do throws(FuzzFinding) {
    _ = try target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  } catch {
    fatalError("\(error)")
  }
  return 0
}

/// Writes valid inputs, from which libFuzzer starts.
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
