// The numbers of accepted batches as ranges, compared with a set.

import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct AcceptedBatchesTests {
  private func batches(_ numbers: [Int64]) -> AcceptedBatches {
    numbers.reduce(into: AcceptedBatches()) { $0.insert(BatchID($1)) }
  }

  @Test(arguments: 0..<50) func rangesAreTheSetOfAllNumbers(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var expected: Set<Int64> = []
    var accepted = AcceptedBatches()
    for _ in 0..<200 {
      let number = Int64(random.below(120))
      expected.insert(number)
      accepted.insert(BatchID(number))
      for number in -1...121 {
        #expect(accepted.contains(BatchID(Int64(number))) == expected.contains(Int64(number)))
      }
      let gaps = zip(accepted.ranges, accepted.ranges.dropFirst()).allSatisfy {
        $0.upperBound + 1 < $1.lowerBound
      }
      #expect(gaps, "the ranges ascend and do not touch")
    }
    #expect(AcceptedBatches(ends: accepted.ends, floor: .min) == accepted)
    let pairs = stride(from: 0, to: accepted.ends.count, by: 2).map { Array(accepted.ends[$0..<$0 + 2]) }
    #expect(AcceptedBatches(ends: pairs.reversed().flatMap(\.self), floor: .min) == accepted)
  }

  @Test func theExtremesOfNumbersAreNumbersToo() {
    let accepted = batches([.max, .min, .max - 1, .min + 1, .max])
    #expect(accepted.ends == [.min, .min + 1, .max - 1, .max])
    #expect(AcceptedBatches(ends: [.min, .max, 0, 0, .max, .max], floor: 3).ends == [.min, .max])
    #expect(AcceptedBatches(ends: [5, 1, 7], floor: 3).ranges.isEmpty)
  }

  @Test func aNumberThatIsDroppedIsNotOpen() {
    let numbers = (0..<Int64(AcceptedBatches.rangesMax) + 10).map { $0 * 2 }
    let accepted = batches(numbers)
    #expect(accepted.ranges.count == AcceptedBatches.rangesMax)
    for number in numbers {
      #expect(accepted.contains(BatchID(number)) || !accepted.isOpen(BatchID(number)))
    }
    #expect(accepted.isOpen(BatchID(21)))
  }
}
