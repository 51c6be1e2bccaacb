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
          _ = list.replace(with: listed(id, rank))
          model[id] = rank
        case (_, false):
          _ = list.insert(listed(id, rank))
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
      #expect(elements.count == model.count && elements.allSatisfy { model[Int($0.id)!] == $0[\.rank] })
      let undone = DocumentList.undo(list.takeEdits(), in: elements)
      #expect(
        undone.map(ObjectIdentifier.init) == before.map(ObjectIdentifier.init), "seed \(seed), step \(step)")
      for (index, element) in elements.enumerated() {
        #expect(list.index(of: element.documentReference) == index && list[index] === element)
      }
    }
    list.sort()
    #expect(list.elements.map { $0[\.rank] } == model.values.sorted())
  }

  @Test func modelsThatDoNotEqualThemselvesAreStillPlaced() {
    struct Odd: Codable, Modelable { var number = Double.nan }
    var list = DocumentList<Document<Odd>>([], .user { $0.id < $1.id })
    for id in 0..<50 {
      let odd = Document<Odd>(documentReference: items.document("\(id)"), from: Odd())
      _ = list.insert(ListedDocument(odd, at: odd.documentReference))
    }
    #expect(list.elements.keys == (0..<50).map(String.init).sorted())
  }
}
