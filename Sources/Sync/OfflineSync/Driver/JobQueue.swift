// The queue of a scheduler with virtual time: jobs in the order in which they are due.

/// Jobs as a binary heap: no job is due before its parent. Jobs that are due at the same time keep the order
/// in which they were added, except that late jobs come after all others.
package struct JobQueue {
  package typealias Body = @Sendable () -> Void

  private struct Job {
    let time: Int64
    let isLate: Bool
    let number: Int
    let body: Body

    func isBefore(_ other: Job) -> Bool {
      if time != other.time { return time < other.time }
      return isLate != other.isLate ? other.isLate : number < other.number
    }
  }

  private var jobs: [Job] = []
  /// The total number of jobs that were ever added.
  package private(set) var addedCount = 0

  package init() {}

  /// The time at which the next job is due; nil if there is none.
  package var nextTime: Int64? { jobs.first?.time }

  package mutating func add(at time: Int64, isLate: Bool = false, _ body: @escaping Body) {
    addedCount += 1
    jobs.append(Job(time: time, isLate: isLate, number: addedCount, body: body))
    siftUp()
  }

  /// Removes the next job and returns it, if it is due at this time.
  package mutating func removeNext(dueAt time: Int64) -> (time: Int64, body: Body)? {
    guard let first = jobs.first, first.time <= time else { return nil }
    removeFirst()
    return (first.time, first.body)
  }

  package mutating func removeAll() { jobs = [] }

  private mutating func siftUp() {
    var child = jobs.count - 1
    while child > 0, jobs[child].isBefore(jobs[(child - 1) / 2]) {
      jobs.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func removeFirst() {
    jobs.swapAt(0, jobs.count - 1)
    jobs.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < jobs.count && jobs[child].isBefore(jobs[least]) {
        least = child
      }
      if least == parent { return }
      jobs.swapAt(parent, least)
      parent = least
    }
  }
}
