// The part of a row that callgrind counts.
//
// Callgrind finds `countedPart` and `countedRow` by their names, which are in its options
// (Benchmarks/Sources/benchmarks/Instructions/CallgrindTask.swift).

import InstructionCounts

/// The work to count. It is no argument of `countedPart`, because the compiler would make copies of that
/// function with other names.
///
/// Why `nonisolated(unsafe)` is correct: only `count` and `countedPart` use this variable, and both run only
/// on the main thread (Instructions.swift).
nonisolated(unsafe) private var work: (() -> Void)?

/// Runs the work. When this function returns, callgrind writes the counts since the call of `countedRow`.
@inline(never)
private func countedPart() {
  work?()
  // The last action is no call. Otherwise it could be a jump, and this function would end before it.
  work = nil
}

/// Callgrind writes the counts of everything before, and starts anew, when this function is called.
@inline(never)
private func countedRow(_ row: InstructionRow, _ operations: Int) {
  countedPart()
  print("\(row.name) \(operations)")
}

/// Counts the instructions of `body`, which performs an operation `operations` times.
func count(_ row: InstructionRow, _ operations: Int, _ body: () throws -> Void) throws {
  var result = Result<Void, any Error>.success(())
  withoutActuallyEscaping(body) { body in
    work = { result = Result { try body() } }
    countedRow(row, operations)
  }
  try result.get()
}

/// Counts the second run of `body`, which reads and returns a checksum. The first run loads all pages that
/// the second one needs, and initialises everything that the program initialises lazily.
func countSecondRun(_ row: InstructionRow, _ operations: Int, _ body: () throws -> Int) throws {
  let expected = try body()
  var sum = 0
  try count(row, operations) { sum = try body() }
  guard sum == expected else {
    throw Failure("\(row.name) has the checksum \(sum) after \(expected) in the first run")
  }
}
