// Field masks: sets of paths that do not overlap.

import DocumentStore
import Testing

@Suite struct FieldMaskTests {
  @Test func pathsAreSortedAndUnique() {
    let mask = FieldMask([field("b"), field("a", "c"), field("b"), field("a", "b"), field("\u{E9}")])
    #expect(mask.paths == [field("a", "b"), field("a", "c"), field("b"), field("\u{E9}")])
    #expect(!mask.isEmpty)
    #expect(FieldMask([]).isEmpty)
    #expect(mask == FieldMask(mask.paths.reversed()))
  }

  @Test func pathsBelowOthersAreDropped() {
    let mask = FieldMask([field("a", "b", "c"), field("a"), field("ab"), field("a", "b"), field("a\0", "b")])
    #expect(mask.paths == [field("a"), field("a\0", "b"), field("ab")])
  }

  @Test func aMaskCoversItsPathsAndEverythingBelow() {
    let mask = FieldMask([field("a"), field("b", "c"), field("b", "e")])
    let covered = [
      field("a"), field("a", "x"), field("a", "x", "y"), field("b", "c"), field("b", "e", "f"),
    ]
    #expect(covered.filter { !mask.covers($0) } == [])
    let others = [
      field("b"), field("b", "d"), field("b", "cc"), field("A"), field("aa"), field("c"),
    ]
    #expect(others.filter { mask.covers($0) } == [])
    #expect(!FieldMask([]).covers(field("a")))
  }

  @Test func aUnionCoversBothMasks() {
    let union = FieldMask([field("a", "b"), field("c")]).union(FieldMask([field("a"), field("c", "d")]))
    #expect(union == FieldMask([field("a"), field("c")]))
  }

  @Test func leavesAreAllValuesExceptNonemptyMaps() {
    let fields = StoredMap([
      ("a", .integer(1)), ("array", .array([.map(StoredMap([("b", .null)]))])),
      ("empty", .map(StoredMap())),
      ("m", .map(StoredMap([("empty", .map(StoredMap())), ("x", .map(StoredMap([("y.z", .null)])))]))),
      ("v", .vector([])),
    ])
    #expect(
      FieldMask(leavesOf: fields).paths == [
        field("a"), field("array"), field("empty"), field("m", "empty"), field("m", "x", "y.z"), field("v"),
      ])
    #expect(FieldMask(leavesOf: StoredMap()).isEmpty)
  }
}
