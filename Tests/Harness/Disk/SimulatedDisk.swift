// An in-memory disk that loses unsynced bytes and injects faults (docs/reliability.md, T2).
//
// Every call has three steps: record the disk before the call, so that each call is a crash point; consult
// the fault plan; execute the call or fail. The run after a crash uses a new disk that is created from an
// image. The files that the dead process had open are therefore unreachable.

package import ByteStore
import Libc

/// Usable from any thread. The same image, seed and calls always give the same results and traces.
package final class SimulatedDisk: Sendable {
  package struct Options: Sendable {
    package var seed: UInt64 = 0
    package var fault: FaultPlan?
    /// Whether some reads and writes transfer only a part of the bytes even without a fault.
    package var shortensTransfers = false
    /// The file system that is reported for all directories, except those below `mounts`.
    package var durability = DurabilityReport(fileSystem: "simulated", medium: .device, sync: .fdatasync)
    package var mounts: [String: DurabilityReport] = [:]
    package var recordsTrace = false
    /// A range of a file that the device cannot read.
    package var unreadable: Unreadable?
    /// A write that the device stores incorrectly without reporting it.
    package var garbling: Garbling?
    /// The capacity of the disk, in which every named file counts with whole pages. A write that exceeds the
    /// capacity transfers only the part that fits, and fails if nothing fits. On a full disk no file can be
    /// created.
    package var capacity: Int?
    /// Whether to keep the disk before every call.
    package var recordsHistory = false
    /// The maximum number of calls. A caller that exceeds this number is in an endless loop.
    package var operationsMax = 1_000_000

    package init() {}
  }

  package struct Unreadable: Sendable {
    package var path: String
    package var range: Range<Int>

    package init(path: String, range: Range<Int>) {
      self.path = path
      self.range = range
    }

    /// Returns the number of readable bytes at the start of a read; nil if the first byte is unreadable.
    func readableBytes(of count: Int, at start: Int, in path: String) -> Int? {
      guard path == self.path, start < range.upperBound, start + count > range.lowerBound else {
        return count
      }
      return start < range.lowerBound ? range.lowerBound - start : nil
    }
  }

  package struct Garbling: Sendable {
    /// A part of the path of the files to garble.
    package var name: String
    /// The number of the write to garble, counted from 0 among the writes to such files.
    package var number: Int
    /// The number of the flipped bit within that write, modulo its size.
    package var bit: Int

    package init(_ name: String, number: Int, bit: Int) {
      self.name = name
      self.number = number
      self.bit = bit
    }
  }

  /// The disk before one call.
  package struct HistoryEntry: Sendable {
    package var operation: DiskOperation
    package var image: DiskImage
  }

  package struct Counters: Sendable, Equatable {
    package var operations = 0
    package var fileSyncs = 0
    package var directorySyncs = 0
    package var bytesRead = 0
    package var bytesWritten = 0
    package var faults = 0
  }

  /// A call and the fault that struck it.
  package struct FaultPoint: Hashable, Sendable {
    package var operation: DiskOperation
    package var fault: DiskFault
  }

  struct State {
    var image: DiskImage
    var fault: FaultPlan?
    var capacity: Int?
    var random: SeededRandom
    var counters = Counters()
    var trace: [TraceEntry] = []
    var history: [HistoryEntry] = []
    var faultPoints: [FaultPoint] = []
    var garbling: Garbling?
    var beforeNextSync: (@Sendable () -> Void)?
  }

  let options: Options
  private let state: Locked<State>

  package init(_ image: DiskImage = DiskImage(), options: Options = Options()) {
    self.options = options
    state = Locked(
      State(
        image: image, fault: options.fault, capacity: options.capacity,
        random: SeededRandom(seed: options.seed),
        garbling: options.garbling))
  }

  // MARK: Looking and steering

  package var image: DiskImage { state.withLock { $0.image } }
  package var counters: Counters { state.withLock { $0.counters } }
  package var history: [HistoryEntry] { state.withLock { $0.history } }
  package var faultPoints: [FaultPoint] { state.withLock { $0.faultPoints } }
  package var trace: [TraceEntry] { state.withLock { $0.trace } }

  /// The trace, with one line per call.
  package var traceText: String {
    trace.enumerated().map { "\($0.offset) \($0.element)\n" }.joined()
  }

  /// The space that the files occupy.
  package var bytesInUse: Int { state.withLock { $0.image.bytesInUse } }

  /// Whether the write to be garbled has occurred.
  package var hasGarbled: Bool { state.withLock { options.garbling != nil && $0.garbling == nil } }

  /// Replaces the capacity from now on; nil for an unlimited disk.
  package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacity = bytes } }

  /// Replaces the fault plan from now on.
  package func setFault(_ plan: FaultPlan?) { state.withLock { $0.fault = plan } }

  /// Fails the next call that `fault` can strike and, if `isSticky` is true, all later calls that it can
  /// strike.
  package func failNext(_ fault: DiskFault, isSticky: Bool = false) {
    state.withLock { state in
      state.fault = FaultPlan(fault, at: state.counters.operations, isSticky: isSticky)
    }
  }

  /// Whether the fault can still strike.
  package var hasPendingFault: Bool { state.withLock { $0.fault?.isActive ?? false } }

  /// Runs `action` once before the next file sync, on the thread that calls the sync. Passing nil removes an
  /// action that has not run yet. Until an action has run or was removed, the disk retains it and all objects
  /// that it refers to.
  package func beforeNextSync(_ action: (@Sendable () -> Void)?) {
    // The old action is released outside the lock, because it may hold the last reference to a store,
    // whose deinitializer releases a lock on this disk.
    let old = state.withLock { state in
      defer { state.beforeNextSync = action }
      return state.beforeNextSync
    }
    _ = old
  }

  /// Returns the disk as it would be after a crash now.
  package func image(after crash: Crash) -> DiskImage { image.after(crash) }

  // MARK: Calls

  /// Executes one call. `failing` applies the effects that a failed call may still have. `body` executes a
  /// call that does not fail, and is passed whether to transfer only a part of the bytes.
  func perform<Result>(
    _ operation: DiskOperation, _ path: String, _ detail: TraceEntry.Detail = .none,
    failing: (inout State, DiskFault) -> Void = { _, _ in },
    _ body: (inout State, _ isShort: Bool) throws(SystemFailure) -> Result
  ) throws(SystemFailure) -> Result {
    if operation == .syncFile { runActionBeforeSync() }
    return try state.withLock { state throws(SystemFailure) in
      let fault = begin(operation, &state)
      do throws(SystemFailure) {
        if let fault, let code = fault.code {
          failing(&state, fault)
          throw SystemFailure(operation, path, code)
        }
        let isShort = fault == .short || options.shortensTransfers && state.random.oneIn(4)
        let result = try body(&state, isShort)
        record(operation, path, detail, (result as? Int).map { .count($0) } ?? .done, &state)
        return result
      } catch {
        record(operation, path, detail, .failed(code: error.code), &state)
        throw error
      }
    }
  }

  /// Returns how many of `count` bytes at `offset` of a file fit on the disk. If none fit, throws an error,
  /// which counts as a fault.
  func availableBytes(
    for count: Int, at offset: Int, ofFile file: Int, _ path: String, _ state: inout State
  ) throws(SystemFailure) -> Int {
    guard let capacity = state.capacity, count > 0 else { return count }
    let end = state.image.files[file].live.size.roundedUp(toMultipleOf: PagedBytes.pageBytes)
    let free = max(0, capacity - state.image.bytesInUse) / PagedBytes.pageBytes * PagedBytes.pageBytes
    let availableBytes = min(count, end + free - offset)
    guard availableBytes > 0 else {
      state.counters.faults += 1
      throw SystemFailure(.write, path, ENOSPC)
    }
    return availableBytes
  }

  func requireSpaceForFile(_ path: String, _ state: inout State) throws(SystemFailure) {
    guard let capacity = state.capacity,
      state.image.bytesInUse + PagedBytes.pageBytes > capacity
    else { return }
    state.counters.faults += 1
    throw SystemFailure(.create, path, ENOSPC)
  }

  /// Flips a bit of a completed write if this is the write to garble. The caller of the write gets no error.
  func garble(_ path: String, _ range: Range<Int>, ofFile file: Int, _ state: inout State) {
    guard let garbling = state.garbling, path.contains(garbling.name), !range.isEmpty else { return }
    guard garbling.number == 0 else {
      state.garbling?.number -= 1
      return
    }
    state.garbling = nil
    let bit = garbling.bit % (8 * range.count)
    let place = range.lowerBound + bit / 8
    let byte = state.image.files[file].live[place] ^ 1 << UInt8(bit % 8)
    [byte].withUnsafeBytes { state.image.write($0, at: place, in: file) }
  }

  /// Accesses the state of the disk. The access does not count as a disk call and cannot fail.
  func withState<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  private func begin(_ operation: DiskOperation, _ state: inout State) -> DiskFault? {
    let number = state.counters.operations
    precondition(number < options.operationsMax, "\(number) calls: the caller loops")
    if options.recordsHistory {
      state.history.append(HistoryEntry(operation: operation, image: state.image))
    }
    state.counters.operations += 1
    guard state.fault?.strikes(operation, number: number) == true else { return nil }
    state.counters.faults += 1
    guard let fault = state.fault?.fault else { return nil }
    state.faultPoints.append(FaultPoint(operation: operation, fault: fault))
    return fault
  }

  private func record(
    _ operation: DiskOperation, _ path: String, _ detail: TraceEntry.Detail,
    _ outcome: TraceEntry.Outcome, _ state: inout State
  ) {
    guard options.recordsTrace else { return }
    state.trace.append(
      TraceEntry(operation: operation, path: path, detail: detail, outcome: outcome))
  }

  private func runActionBeforeSync() {
    let action = state.withLock { state in
      defer { state.beforeNextSync = nil }
      return state.beforeNextSync
    }
    action?()
  }
}

extension SystemFailure {
  /// Creates a failure that names the call as the real file system does.
  init(_ operation: DiskOperation, _ path: String, _ code: Int32, _ found: EntryKind? = nil) {
    let name =
      switch operation {
      case .makeDirectory: "mkdir"
      case .openDirectory, .open: "open"
      case .list: "readdir"
      case .durability: "fstatfs"
      case .lock: "flock"
      case .lookUp: "lstat"
      case .create: "create"
      case .rename: "rename"
      case .remove: "unlink"
      case .syncDirectory: "fsync"
      case .size: "fstat"
      case .read: "pread"
      case .write: "pwrite"
      case .syncFile: "fdatasync"
      case .close: "close"
      }
    self.init(operation: name, path: path, code: code, found: found == .file ? nil : found)
  }
}
