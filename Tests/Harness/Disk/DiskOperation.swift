// The calls that a simulated disk serves. Crash points, faults and traces refer to these calls.

package enum DiskOperation: String, CaseIterable, Sendable {
  case makeDirectory, openDirectory, list, durability, lock
  case lookUp, create, open, rename, remove, syncDirectory
  case size, read, write, syncFile, close
}

/// One call and its outcome.
package struct TraceEntry: Sendable, CustomStringConvertible {
  package var operation: DiskOperation
  package var path: String
  /// The arguments of the call: an offset and a count, or another name.
  package var detail: Detail
  package var outcome: Outcome

  package enum Detail: Sendable {
    case none
    case range(offset: Int, count: Int)
    case name(String)
  }

  package enum Outcome: Sendable {
    case done
    case count(Int)
    case failed(code: Int32)
  }

  package var description: String {
    let details =
      switch detail {
      case .none: ""
      case .range(let offset, let count): " \(offset)+\(count)"
      case .name(let name): " \(name)"
      }
    let end =
      switch outcome {
      case .done: ""
      case .count(let count): " = \(count)"
      case .failed(let code): " failed, error \(code)"
      }
    return "\(operation.rawValue) \(path)\(details)\(end)"
  }
}
