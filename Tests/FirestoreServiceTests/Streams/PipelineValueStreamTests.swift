// Values of pipelines in the requests of streams and of batches.

import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct PipelineValueStreamTests {
  private static let reference = #"{"fieldReferenceValue":"x"}"#

  @Test func aTargetThatComparesWithOneIsRemovedAndTheStreamStays() throws {
    let service = try TestService(.json)
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let call = service.begin("Listen", on: queue.service, events)
    for (id, operand) in [(2, Self.reference), (4, #"{"integerValue":"1"}"#)] {
      let filter = #"{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":\#(operand)}}"#
      let query = #"{"from":[{"collectionId":"rooms"}],"where":\#(filter)}"#
      let target =
        #"{"targetId":\#(id),"query":{"parent":"\#(TestService.documents)","structuredQuery":\#(query)}}"#
      call.send(Array(#"{"database":"\#(TestService.database)","addTarget":\#(target)}"#.utf8))
    }
    queue.run()
    var causes: [Int32: String] = [:]
    var current: [Int32] = []
    for event in events.all {
      guard case .message(let bytes) = event else {
        Issue.record("the stream has ended")
        continue
      }
      let response = try service.format.decode(Wire.ListenResponse.self, bytes)
      guard case .targetChange(let change) = response.responseType, let id = change.targetIds.first else {
        continue
      }
      if change.targetChangeType == .remove { causes[id] = change.cause?.message }
      if change.targetChangeType == .current { current.append(id) }
    }
    #expect(causes == [2: #"Value type is not supported: FIELD_REFERENCE_VALUE, in the field "n""#])
    #expect(current == [4])
  }

  @Test func anUpdateIgnoresTheFieldsOutsideItsMask() throws {
    let service = try TestService(.json)
    let name = TestService.name("rooms/a")
    let fields = #"{"a":\#(Self.reference),"n":{"integerValue":"3"}}"#
    let write = #"{"update":{"name":"\#(name)","fields":\#(fields)},"updateMask":{"fieldPaths":["n"]}}"#
    let events = ServiceEvents()
    let call = service.begin("Commit", events)
    call.send(Array(#"{"database":"\#(TestService.database)","writes":[\#(write)]}"#.utf8))
    call.finish()
    _ = try events.answers(in: .json) as [Wire.CommitResponse]
    let stored = try #require(try service.get("rooms/a").first)
    #expect(stored.result?.found?.fields.entries.map(\.name) == ["n"])
  }
}
