// The verdict on the curve of a run with many listeners, and the rules of a listener of numbered changes.

import DocumentStore
import FirestoreWire
import Harness
import ServerHarness
import Testing

#if Server
@Suite struct ListenerVerdictTests {
  /// Half an hour with a sample each ten seconds.
  private func samples(_ change: (inout ListenerSample) -> Void) -> [ListenerSample] {
    (1...180).map { number in
      var sample = ListenerSample()
      sample.seconds = Double(number) * 10
      sample.anonymousKilobytes = 200_000 + number % 7 * 200
      sample.descriptors = 2040 + number % 3
      change(&sample)
      return sample
    }
  }

  private func failures(_ change: (inout ListenerSample) -> Void) -> [String] {
    ListenerVerdict(samples(change), descriptorSlack: 40).failures
  }

  @Test func aFlatCurvePasses() {
    let verdict = ListenerVerdict(samples { _ in }, descriptorSlack: 40)
    #expect(verdict.failures == [])
    #expect(verdict.hasJudgedMemory)
    #expect(verdict.descriptorRange == 2)
    #expect(abs(verdict.growthKilobytesPerTenMinutes) < 100)
  }

  @Test func aSlowLeakIsFound() {
    // Nine megabytes in half an hour.
    #expect(failures { $0.anonymousKilobytes += Int($0.seconds * 8) }.count == 1)
    #expect(failures { $0.anonymousKilobytes += Int($0.seconds * 2) } == [])
  }

  @Test func aPeakIsFound() {
    let found = failures { if $0.seconds == 1000 { $0.anonymousKilobytes += 40_000 } }
    #expect(found.count == 1)
    #expect(found.first?.contains("varies") == true)
  }

  @Test func growthOfTheWarmUpAndOfTheMemtableIsNoLeak() {
    #expect(failures { if $0.seconds < 300 { $0.anonymousKilobytes -= 100_000 } } == [])
    let grows = failures {
      $0.memtableKilobytes = Int($0.seconds * 20)
      $0.anonymousKilobytes += $0.memtableKilobytes
    }
    #expect(grows == [])
  }

  @Test func leakedDescriptorsAreFound() {
    #expect(failures { $0.descriptors += Int($0.seconds / 30) }.count == 1)
  }

  @Test func aShortRunSaysNothingAboutMemory() {
    let few = Array(samples { $0.anonymousKilobytes += Int($0.seconds * 1000) }.prefix(12))
    let verdict = ListenerVerdict(few, descriptorSlack: 40)
    #expect(!verdict.hasJudgedMemory)
    #expect(verdict.failures == [])
  }
}

@Suite struct SequenceWatchTests {
  private static let documents = 4

  private func target(
    _ type: Wire.TargetChange.TargetChangeType, ids: [Int32] = [2], token: [UInt8] = [], time: Int64? = nil
  ) -> Wire.ListenResponse {
    var change = Wire.TargetChange()
    change.targetChangeType = type
    change.targetIds = ids
    change.resumeToken = token
    change.readTime = time.flatMap { StoredTimestamp(seconds: $0, nanoseconds: 0) }.map { Wire.Timestamp($0) }
    var response = Wire.ListenResponse()
    response.responseType = .targetChange(change)
    return response
  }

  private func change(_ number: Int, in place: Int? = nil) -> Wire.ListenResponse {
    var document = Wire.Document()
    document.name = "projects/p/databases/d/documents/c/\(place ?? number % Self.documents)"
    document.fields = StoredMap([("n", .integer(Int64(number))), ("at", .integer(Int64(number) * 10))])
    var change = Wire.DocumentChange()
    change.document = document
    change.targetIds = [2]
    var response = Wire.ListenResponse()
    response.responseType = .documentChange(change)
    return response
  }

  private func snapshot(_ token: UInt8) -> Wire.ListenResponse {
    target(.noChange, ids: [], token: [token], time: Int64(token))
  }

  /// A listener that shows the changes 5 to 8.
  private func watch() throws -> SequenceWatch {
    var watch = SequenceWatch(documents: Self.documents)
    watch.begin()
    for response in [target(.add)] + [7, 5, 8, 6].map({ change($0) }) + [target(.current), snapshot(1)] {
      _ = try watch.take(response)
    }
    #expect(watch.last == 8)
    return watch
  }

  @Test func changesWithoutAGapAreASnapshot() throws {
    var watch = try watch()
    #expect(try watch.take(change(9)) == .change(sentAt: 90))
    #expect(try watch.take(change(10)) == .change(sentAt: 100))
    #expect(watch.last == 8)
    #expect(try watch.take(snapshot(2)) == .snapshot)
    #expect(watch.last == 10)
    #expect(watch.token == [2])
  }

  @Test func aResumedStreamBringsWhatHadNoSnapshot() throws {
    var watch = try watch()
    _ = try watch.take(change(9))
    watch.begin()
    #expect(watch.token == [1])
    for response in [target(.add), change(9), target(.current), snapshot(2)] { _ = try watch.take(response) }
    #expect(watch.last == 9)
  }

  @Test func gapsAndRepeatsAreViolations() throws {
    let watch = try watch()
    for responses in [
      [change(10), snapshot(2)], [change(9), change(9)], [change(8)], [change(9, in: 3)], [target(.reset)],
      [target(.remove)], [target(.add)],
    ] {
      #expect(throws: Violation.self) {
        var watch = watch
        for response in responses { _ = try watch.take(response) }
      }
    }
    #expect(throws: Violation.self) {
      var watch = SequenceWatch(documents: Self.documents)
      watch.begin()
      for response in [target(.add), change(5), change(8), change(7), target(.current), snapshot(1)] {
        _ = try watch.take(response)
      }
    }
  }
}
#endif
