// Compares the list of a data source with a list that is sorted after every step.

import FirebaseFirestore
import Testing

@testable import Ballcap

@Suite struct DocumentListTests {
  private let items = Firestore.memory().collection("items")

  private func listed(_ id: Int, _ rank: Int) -> ListedDocument {
    let place = items.document("\(id)")
    return ListedDocument(Document(documentReference: place, from: Item(rank: rank)), at: place)
  }

  @Test(arguments: [1 as UInt64, 2, 3]) func listStaysSortedAfterEachEditAndCanUndoEdits(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    var list = DocumentList<Document<Item>>([], .user { $0[\.rank] < $1[\.rank] })
    var model: [Int: Int] = [:]
    var wrong: [String] = []
    for step in 0..<400 {
      let before = list.elements
      _ = list.takeEdits()
      for _ in 0...rng.roll(4) {
        let (id, rank) = (rng.roll(60), rng.roll(30))
        let reference = items.document("\(id)")
        switch (rng.roll(3), list.contains(reference)) {
        case (0, true):
          list.remove(reference)
          model[id] = nil
        case (_, true):
          list.update(removing: [], setting: [listed(id, rank)])
          model[id] = rank
        case (_, false):
          list.update(removing: [], setting: [listed(id, rank)])
          model[id] = rank
        }
        // The user edits an object on the screen and does not save it.
        if rng.roll(10) == 0, list.count > 0 {
          let element = list[rng.roll(list.count)]
          let rank = rng.roll(30)
          element.data?.rank = rank
          model[Int(element.id)!] = rank
        }
      }
      let elements = list.elements
      let isModel = elements.allSatisfy { model[Int($0.id)!] == $0[\.rank] }
      if elements.count != model.count || !isModel {
        wrong.append("step \(step): \(elements.map { "\($0.id) \($0[\.rank])" }), not \(model)")
      }
      let undone = DocumentList.undo(list.takeEdits(), in: elements)
      if undone.map(ObjectIdentifier.init) != before.map(ObjectIdentifier.init) {
        wrong.append("step \(step): \(undone.map(\.id)), not \(before.map(\.id))")
      }
      for (index, element) in elements.enumerated() {
        if list.index(of: element.documentReference) != index || list[index] !== element {
          wrong.append("step \(step): the index of \(element.id) is not \(index)")
        }
      }
    }
    #expect(wrong == [])
    list.sort()
    #expect(list.elements.map { $0[\.rank] } == model.values.sorted())
  }

  @Test func modelsThatDoNotEqualThemselvesAreStillPlaced() {
    struct Odd: Codable, Modelable { var number = Double.nan }
    var list = DocumentList<Document<Odd>>([], .user { $0.id < $1.id })
    for id in 0..<50 {
      let odd = Document<Odd>(documentReference: items.document("\(id)"), from: Odd())
      list.update(removing: [], setting: [ListedDocument(odd, at: odd.documentReference)])
    }
    #expect(list.elements.keys == (0..<50).map(String.init).sorted())
  }
}
