// Composite filters: simplification and alternatives.

import DocumentStore
import Testing

@Suite struct FilterTreeTests {
  private let a = FilterTree.field("a", .equal, 1)
  private let b = FilterTree.field("b", .greaterThan, 2)
  private let c = FilterTree.field("c", .equal, 3)

  @Test func singleFilterCompositesCollapseAndEmptyOnesVanish() {
    #expect(FilterTree.all([]).simplified == nil)
    #expect(FilterTree.any([.all([]), .any([.any([])])]).simplified == nil)
    #expect(FilterTree.any([.all([a])]).simplified == a)
    #expect(FilterTree.any([.all([]), a]).simplified == a)
    #expect(FilterTree.all([.any([a, .all([b])]), .any([])]).simplified == .any([a, b]))
    #expect(FilterTree.all([a, .all([b, c])]).simplified == .all([a, .all([b, c])]))
  }

  @Test func orderExcludesDocumentsWithoutTheFieldEvenUnderOr() throws {
    let documents = [document("1", ("a", 1)), document("2", ("b", 3)), document("3", ("a", 1), ("b", 0))]
    let query = try StructuredQuery.ofC.filtered(by: .any([a, b]))
    #expect(query.ids(documents) == ["3", "2"])
  }

  @Test func andDistributesOverOr() {
    let tree = FilterTree.all([.any([a, b]), c, .any([a, .all([b, c])])])
    #expect(tree.alternativesCount == 4)
    #expect(
      tree.alternatives.map { $0.map(\.field.description).joined() } == ["aca", "acbc", "bca", "bcbc"])
  }

  @Test func eachValueOfAListIsAnAlternative() {
    let list = FilterTree.field("a", .isIn, [1, .null, .double(.nan), 2])
    #expect(list.alternativesCount == 4)
    #expect(list.alternatives == [[FieldFilter("a", .equal, 1)], [FieldFilter("a", .equal, 2)]])
    let elements = FilterTree.field("a", .arrayContainsAny, [1, .null])
    #expect(elements.alternatives == [[FieldFilter("a", .arrayContains, 1)]])
    let others = FilterTree.field("a", .notIn, [1, 2])
    #expect(others.alternativesCount == 1)
    #expect(others.alternatives == [[FieldFilter("a", .notIn, [1, 2])]])
    #expect(FilterTree.field("a", .isIn, [.null]).alternatives == [])
  }

  @Test func theNumberOfAlternativesDoesNotOverflow() {
    let ten = FilterTree.field("a", .isIn, .array((0..<10).map { .integer($0) }))
    let many = FilterTree.all(Array(repeating: ten, count: 40))
    #expect(many.alternativesCount == .max)
    #expect(FilterTree.any([many, many]).alternativesCount == .max)
  }
}
