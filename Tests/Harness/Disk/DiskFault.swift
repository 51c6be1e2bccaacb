// The faults of disk calls (docs/reliability.md, F3 and F4), and when they strike.

import Libc

/// The kinds of faults. A failed sync loses the bytes that it had to write (F4), unless the sync was
/// interrupted.
package enum DiskFault: String, CaseIterable, Sendable {
  /// The call transfers only a part of the bytes.
  case short
  case interrupted
  case inputOutput
  case noSpace
  case quota
  case fileTooBig
  case tooManyOpenFiles
  case readOnly

  /// The error code of the call; nil for a short transfer.
  var code: Int32? {
    switch self {
    case .short: nil
    case .interrupted: EINTR
    case .inputOutput: EIO
    case .noSpace: ENOSPC
    case .quota: EDQUOT
    case .fileTooBig: EFBIG
    case .tooManyOpenFiles: EMFILE
    case .readOnly: EROFS
    }
  }

  /// Whether a real call of this kind can fail in this way.
  package func strikes(_ operation: DiskOperation) -> Bool {
    switch self {
    case .short: [.read, .write].contains(operation)
    case .interrupted: [.open, .create, .lock, .read, .write, .syncFile, .syncDirectory].contains(operation)
    case .inputOutput: operation != .close
    case .noSpace, .quota:
      [.makeDirectory, .lock, .create, .rename, .write, .syncFile, .syncDirectory].contains(operation)
    case .fileTooBig: operation == .write
    case .tooManyOpenFiles: [.openDirectory, .list, .lock, .create, .open].contains(operation)
    case .readOnly:
      [.makeDirectory, .lock, .create, .open, .rename, .remove, .write, .syncFile, .syncDirectory]
        .contains(operation)
    }
  }
}

/// A fault at a given call, either once or from then on.
package struct FaultPlan: Sendable, CustomStringConvertible {
  package var fault: DiskFault
  /// The number of a call, from 0. The fault strikes the first call at or after this number to which it
  /// applies.
  package var operation: Int
  /// Whether every later call that the fault can strike fails, too. A sticky interruption strikes every
  /// other call, because otherwise a retry loop would never end.
  package var isSticky: Bool
  /// The number of times that the fault has struck.
  package private(set) var count = 0
  private var skipsNext = false

  package init(_ fault: DiskFault, at operation: Int, isSticky: Bool = false) {
    self.fault = fault
    self.operation = operation
    self.isSticky = isSticky
  }

  /// Whether the fault can still strike.
  package var isActive: Bool { isSticky || count == 0 }

  /// Returns whether this call fails. Must be called exactly once for each disk call.
  mutating func strikes(_ operation: DiskOperation, number: Int) -> Bool {
    guard isActive, number >= self.operation, fault.strikes(operation) else { return false }
    if skipsNext {
      skipsNext = false
      return false
    }
    skipsNext = fault == .interrupted
    count += 1
    return true
  }

  package var description: String {
    "\(fault.rawValue) at call \(operation)\(isSticky ? " and from then on" : "")"
  }
}
