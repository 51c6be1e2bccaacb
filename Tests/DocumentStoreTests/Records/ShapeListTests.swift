import Testing

@testable import DocumentStore

@Suite struct ShapeListTests {
  private func shape(_ id: Int) -> Shape { Shape(id: id, names: ["field\(id)"]) }

  @Test func findsEveryShapeByItsID() {
    var list = ShapeList()
    for id in 0..<200 { list.add(shape(id)) }
    #expect(list.count == 200)
    #expect(list.map { $0?.id } == Array(0..<200))
  }

  @Test func idsThatWereLeftOutHaveNoShapeUntilTheyAreAdded() {
    var list = ShapeList()
    list.add(shape(130))
    #expect(list.count == 131)
    #expect(list.firstIndex { $0 != nil } == 130)
    list.add(shape(63))
    list.add(shape(64))
    #expect(list.count == 131)
    #expect(list.compactMap { $0?.id } == [63, 64, 130])
  }

  @Test func copiesKeepTheirShapes() {
    var list = ShapeList()
    for id in 0..<65 where id != 3 { list.add(shape(id)) }
    let copy = list
    list.add(shape(3))
    list.add(shape(65))
    #expect(copy.count == 65)
    #expect(copy[3] == nil)
    #expect(list[3]?.id == 3)
    #expect(list[65]?.id == 65)
  }
}
