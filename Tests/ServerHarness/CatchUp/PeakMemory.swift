// The peak of the resident memory of this process. Only Linux has it.

#if Server
import Foundation

package enum PeakMemory {
  /// Begins a new peak.
  package static func reset() {
    try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
  }

  package static var bytes: Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let words = line?.split(separator: " ") ?? []
    return words.count > 1 ? (Int(words[words.count - 2]) ?? 0) << 10 : 0
  }
}
#endif
